"""Memories in folders of a person's own inside an agent's folder: kept, merged and paged as any other."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from live_ground import LiveGround

from gitmem.core.merge import merge_trees
from gitmem.core.names import agent_folder, archive_path, archived_path, file_address, hot_path
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.tombstone import bury, with_stones
from gitmem.ledger.paging import page
from gitmem.rules.paths import judge_places
from gitmem.rules.rule import RuleContext, side_of

DEEP = "topics/deep.md"


def memory(name: str, body: str = "") -> str:
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{body or f'A {name}.'}\n"


def test_files_of_sub_folders_are_saved_and_laid_out(ground: LiveGround) -> None:
    ground.put("MEMORY.md", "# Notes\n\n- [Deep](topics/deep.md) - sockets\n")
    ground.put(DEEP, memory("deep"))
    ground.put("topics/more/deeper.md", memory("deeper"))
    saved = ground.save()
    assert not saved.problems
    assert ground.stored == {
        # The line that names it stays as it was written; what no line names gets one.
        "MEMORY.md": "# Notes\n\n- [Deep](topics/deep.md) - sockets\n"
        "- [deeper](topics/more/deeper.md) — About deeper\n",
        DEEP: memory("deep"),
        "topics/more/deeper.md": memory("deeper"),
    }
    ground.push({DEEP: memory("deep", "Changed."), "new/n.md": memory("n"), "topics/more/deeper.md": None})
    ground.save()
    assert ground.file(DEEP).read_text() == memory("deep", "Changed.")
    assert ground.file("new/n.md").is_file() and not ground.file("topics/more/deeper.md").exists()
    assert not ground.save().plan.edits


def test_an_edit_there_and_one_elsewhere_are_merged(ground: LiveGround) -> None:
    ground.put(DEEP, memory("deep", "One.\n\nTwo."))
    ground.save()
    ground.push({DEEP: memory("deep", "One, changed.\n\nTwo.")})
    ground.put(DEEP, memory("deep", "One.\n\nTwo.\n\nThree."))
    ground.save()
    assert ground.stored[DEEP] == memory("deep", "One, changed.\n\nTwo.\n\nThree.")
    assert ground.file(DEEP).read_text() == ground.stored[DEEP]


def test_a_deletion_there_is_one_and_takes_its_line_along(ground: LiveGround) -> None:
    ground.put(DEEP, memory("deep"))
    ground.put("a.md", memory("a"))
    ground.save()
    ground.file(DEEP).unlink()
    ground.save()
    assert set(ground.stored) == {"a.md", "MEMORY.md"} and "deep" not in ground.stored["MEMORY.md"]


@pytest.mark.parametrize("how", ["link", "repository", "unreadable", "file"])
def test_a_folder_that_cannot_be_entered_holds_its_files(ground: LiveGround, tmp_path, how: str) -> None:
    """What is behind it is not read, not written over, and not taken for deleted."""
    ground.put(DEEP, memory("deep"))
    ground.put("a.md", memory("a"))
    ground.save()
    folder = ground.file("topics")
    if how == "repository":
        (folder / ".git").mkdir()
    elif how == "unreadable":
        folder.chmod(0)
        if os.access(folder, os.R_OK):
            folder.chmod(0o755)
            pytest.skip("a superuser reads it all the same")
    else:
        (folder / "deep.md").unlink()
        folder.rmdir()
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        (elsewhere / "secret.md").write_text("secret")
        folder.symlink_to(elsewhere) if how == "link" else folder.write_text("mine")
    ground.put("b.md", memory("b"))
    ground.push({DEEP: memory("deep", "Changed.")})
    saved = ground.save()
    assert any(name in saved.problems for name in ("topics", DEEP)), saved.problems
    assert ground.stored[DEEP] == memory("deep", "Changed.") and "b.md" in ground.stored
    assert not any("secret" in text for text in ground.stored.values())
    if how == "link":
        assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["secret.md"]
    folder.chmod(0o755) if how == "unreadable" else None
    assert ground.stored[DEEP] and not ground.save().plan.held.get("a.md")


def test_what_is_not_kept_is_named(ground: LiveGround) -> None:
    for file in (
        "nul/a.md", "archive/a.md", "team/a.md", "topics/MEMORY.md", "logs/a.md", "topics/.hidden.md",
        "topics/notes.txt", "x.md/a.md",
    ):  # fmt: skip
        ground.put(file, "text")
    ground.put("a.md", memory("a"))
    saved = ground.save()
    assert set(saved.problems) == {
        "nul/a.md", "archive/a.md", "team/a.md", "topics/MEMORY.md", "logs/a.md", "x.md",
    }  # fmt: skip
    assert set(ground.stored) == {"MEMORY.md", "a.md"}


def test_the_clients_team_folder_is_another_scopes(ground: LiveGround) -> None:
    """Private memory in a folder of that name would be laid out where the team's memory lies."""
    ground.put("team/a.md", memory("a"))
    saved = ground.save(live=replace(ground.live, home="/repo/.git"))
    assert not saved.problems and not saved.written
    ground.put("b.md", memory("b"))
    ground.save(live=replace(ground.live, home="/repo/.git"))
    ground.push({"team/c.md": memory("c")})
    ground.save(live=replace(ground.live, home="/repo/.git"))
    assert [path.name for path in ground.file("team").iterdir()] == ["a.md"]


def test_they_are_paged_and_come_back(ground: LiveGround) -> None:
    for name in ("topics/a.md", "topics/more/b.md", "z.md"):
        ground.put(name, memory(Path(name).stem))
        ground.save()
    # All of one moment: by their path.
    assert page(ground.live.scope, "reviewer", limit=1) is not None
    ground.save()
    assert {name for name in ground.stored if name.startswith("archive/")} == {
        archive_path("topics/a.md"),
        archive_path("topics/more/b.md"),
    }
    assert [path.name for path in ground.live.path.rglob("*.md")] == ["c.md", "MEMORY.md"] or not (
        ground.file("topics/a.md")
    ).exists()
    ground.put("topics/a.md", memory("a", "A a.\n\nMore."))
    ground.save()
    assert "topics/a.md" in ground.stored and archive_path("topics/a.md") not in ground.stored
    assert "topics/a.md" in ground.stored["MEMORY.md"]


def test_places_are_told_from_one_another() -> None:
    for file in ("a.md", "topics/a.md", "x/y/z.md"):
        there = archived_path(f"main/{file}")
        assert there == f"main/{archive_path(file)}" and hot_path(there) == f"main/{file}"
        assert file_address(archive_path(file)) == file_address(file) == file.removesuffix(".md")
        assert agent_folder(there) == agent_folder(f"main/{file}") == "main"
    # The format on disk: what every earlier version wrote, and what one of a folder adds.
    assert archive_path("c.md") == "archive/c2/c.md"
    assert archive_path("topics/more/b.md") == "archive/6a/topics/more/b.md"
    assert archived_path("main/team/a.md") is None is archived_path("main/archive/aa/a.md")
    assert hot_path("main/archive/00/topics/a.md") is None


def test_what_was_forgotten_stays_gone_there_too() -> None:
    """The tombstones of an agent count in its folders."""
    (claim,) = [one for one in _claims(memory("deep", "One.\n\nTwo.")) if "Two" in one]
    stones = with_stones("", [bury(claim, "5a17" * 4, "2026-11-20", "forgot")])
    path, listed = f"main/{DEEP}", f"main/{TOMBSTONES}"
    base = {path: memory("deep", "One.\n\nTwo.").encode()}
    ours = {path: memory("deep", "One.").encode(), listed: stones.encode()}
    theirs = {path: memory("deep", "One.\n\nTwo.\n\nThree.").encode()}
    merged = merge_trees(base, ours, theirs).files[path].decode()
    assert "Three." in merged and "Two." not in merged


def test_a_check_takes_them_for_memory() -> None:
    def said(path: str) -> list[str]:
        side = side_of({path: memory("a").encode()})
        return [one.rule for one in judge_places(None, side, RuleContext(changed=frozenset({path})))]

    assert not said(f"main/{DEEP}") and not said(f"main/{archive_path(DEEP)}")
    assert said("main/team/a.md") == said("main/topics/notes.txt") == ["foreign"]
    assert said("main/nul/a.md") == ["path", "foreign"]


def _claims(text: str) -> list[str]:
    from gitmem.core.memory import parse

    return [claim.key for claim in parse("a.md", text.encode()).parsed.claims]


def test_an_index_that_says_nothing_goes_with_its_folder(ground: LiveGround) -> None:
    """Who deleted all of an agent's memories, and then its folder, does not get the folder back."""
    ground.put("a.md", memory("a"))
    ground.save()
    ground.file("a.md").unlink()
    ground.save()
    assert ground.stored == {"MEMORY.md": ""}
    ground.file("MEMORY.md").unlink()
    ground.live.path.rmdir()
    assert not ground.save().plan.held and not ground.live.path.exists() and ground.stored == {}
    assert not ground.save().laid_out


def test_an_index_that_says_something_is_held_with_its_folder(ground: LiveGround) -> None:
    ground.put("MEMORY.md", "- Run the linter first.\n")
    ground.save()
    ground.file("MEMORY.md").unlink()
    ground.live.path.rmdir()
    assert ground.save().plan.held and ground.file("MEMORY.md").is_file()


@pytest.mark.parametrize(
    ("folder", "sign"),
    [("node_modules", "left-pad/README.md"), ("tool", "package.json"), ("copied", "LICENSE")],
)
def test_software_inside_an_agents_folder_is_no_memory_of_its(ground, folder: str, sign: str) -> None:
    """Its READMEs were written by somebody else; the person is told what was left out, and nothing goes."""
    ground.put("MEMORY.md", "# Notes\n")
    ground.put(f"{folder}/{sign}", "{}\n")
    ground.put(f"{folder}/docs/usage.md", memory("usage"))
    ground.put("topics/usage.md", memory("usage"))
    saved = ground.save()
    (problem,) = saved.problems.items()
    assert problem[0] == folder and problem[1].startswith("is software, not memory (")
    assert ground.stored.keys() == {"MEMORY.md", "topics/usage.md"}
    assert ground.file(f"{folder}/docs/usage.md").is_file()


def test_memory_of_a_folder_that_software_was_put_into_stays(ground: LiveGround) -> None:
    ground.put("tool/usage.md", memory("usage"))
    ground.save()
    ground.put("tool/package.json", "{}\n")
    assert ground.save().plan.held == {"tool/usage.md": "is software, not memory (package.json)"}
    assert "tool/usage.md" in ground.stored
    ground.file("tool/package.json").unlink()
    assert not ground.save().plan.edits
