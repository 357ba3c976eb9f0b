"""Memories in folders of a person's own inside an agent's folder: kept, merged and paged as any other."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.core.merge import agent_folder, merge_trees
from gitmem.core.names import archive_path, archived_path, file_address, hot_path
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.tombstone import bury, with_stones
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land
from gitmem.ledger.live_directories import LiveDirectory
from gitmem.ledger.paging import page
from gitmem.ledger.working_copy import Saved
from gitmem.rules.paths import judge_places
from gitmem.rules.rule import RuleContext, side_of

Save = Callable[..., Saved]
ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
DEEP = "topics/deep.md"


def memory(name: str, body: str = "") -> str:
    return f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n{body or f'A {name}.'}\n"


def write(live: LiveDirectory, file: str, text: str) -> None:
    (live.path / file).parent.mkdir(parents=True, exist_ok=True)
    (live.path / file).write_text(text)


def stored(live: LiveDirectory) -> dict[str, str]:
    tip = live.scope.repo.commit(live.scope.repo.ref(live.scope.ref) or "")
    files = read_files(live.scope.repo, tip.tree, live.agent)
    return {path.partition("/")[2]: data.decode() for path, data in files.items()}


def push(live: LiveDirectory, edits: dict[str, str | None]) -> None:
    """A commit that someone else made on the ref."""
    rooted = {
        f"{live.agent}/{name}": None if data is None else data.encode() for name, data in edits.items()
    }
    write = Write(rooted, "Change", Provenance("sync", "human"))
    land(live.scope, lambda tip: write, ANN)


def test_files_of_sub_folders_are_saved_and_laid_out(live: LiveDirectory, run: Save) -> None:
    write(live, "MEMORY.md", "# Notes\n\n- [Deep](topics/deep.md) - sockets\n")
    write(live, DEEP, memory("deep"))
    write(live, "topics/more/deeper.md", memory("deeper"))
    saved = run()
    assert not saved.problems
    assert stored(live) == {
        # The line that names it stays as it was written; what no line names gets one.
        "MEMORY.md": "# Notes\n\n- [Deep](topics/deep.md) - sockets\n"
        "- [deeper](topics/more/deeper.md) — About deeper\n",
        DEEP: memory("deep"),
        "topics/more/deeper.md": memory("deeper"),
    }
    push(live, {DEEP: memory("deep", "Changed."), "new/n.md": memory("n"), "topics/more/deeper.md": None})
    run()
    assert (live.path / DEEP).read_text() == memory("deep", "Changed.")
    assert (live.path / "new/n.md").is_file() and not (live.path / "topics/more/deeper.md").exists()
    assert not run().plan.edits


def test_an_edit_there_and_one_elsewhere_are_merged(live: LiveDirectory, run: Save) -> None:
    write(live, DEEP, memory("deep", "One.\n\nTwo."))
    run()
    push(live, {DEEP: memory("deep", "One, changed.\n\nTwo.")})
    write(live, DEEP, memory("deep", "One.\n\nTwo.\n\nThree."))
    run()
    assert stored(live)[DEEP] == memory("deep", "One, changed.\n\nTwo.\n\nThree.")
    assert (live.path / DEEP).read_text() == stored(live)[DEEP]


def test_a_deletion_there_is_one_and_takes_its_line_along(live: LiveDirectory, run: Save) -> None:
    write(live, DEEP, memory("deep"))
    write(live, "a.md", memory("a"))
    run()
    (live.path / DEEP).unlink()
    run()
    assert set(stored(live)) == {"a.md", "MEMORY.md"} and "deep" not in stored(live)["MEMORY.md"]


@pytest.mark.parametrize("how", ["link", "repository", "unreadable", "file"])
def test_a_folder_that_cannot_be_entered_holds_its_files(
    live: LiveDirectory, run: Save, tmp_path: Path, how: str
) -> None:
    """What is behind it is not read, not written over, and not taken for deleted."""
    write(live, DEEP, memory("deep"))
    write(live, "a.md", memory("a"))
    run()
    folder = live.path / "topics"
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
    write(live, "b.md", memory("b"))
    push(live, {DEEP: memory("deep", "Changed.")})
    saved = run()
    assert any(name in saved.problems for name in ("topics", DEEP)), saved.problems
    assert stored(live)[DEEP] == memory("deep", "Changed.") and "b.md" in stored(live)
    assert not any("secret" in text for text in stored(live).values())
    if how == "link":
        assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["secret.md"]
    folder.chmod(0o755) if how == "unreadable" else None
    assert stored(live)[DEEP] and not run().plan.held.get("a.md")


def test_what_is_not_kept_is_named(live: LiveDirectory, run: Save) -> None:
    for file in (
        "nul/a.md", "archive/a.md", "team/a.md", "topics/MEMORY.md", "logs/a.md", "topics/.hidden.md",
        "topics/notes.txt", "x.md/a.md",
    ):  # fmt: skip
        write(live, file, "text")
    write(live, "a.md", memory("a"))
    saved = run()
    assert set(saved.problems) == {
        "nul/a.md", "archive/a.md", "team/a.md", "topics/MEMORY.md", "logs/a.md", "x.md",
    }  # fmt: skip
    assert set(stored(live)) == {"MEMORY.md", "a.md"}


def test_the_clients_team_folder_is_another_scopes(live: LiveDirectory, run: Save) -> None:
    """Private memory in a folder of that name would be laid out where the team's memory lies."""
    write(live, "team/a.md", memory("a"))
    saved = run(live=replace(live, home="/repo/.git"))
    assert not saved.problems and not saved.written
    write(live, "b.md", memory("b"))
    run(live=replace(live, home="/repo/.git"))
    push(live, {"team/c.md": memory("c")})
    run(live=replace(live, home="/repo/.git"))
    assert [path.name for path in (live.path / "team").iterdir()] == ["a.md"]


def test_they_are_paged_and_come_back(live: LiveDirectory, run: Save) -> None:
    for name in ("topics/a.md", "topics/more/b.md", "z.md"):
        write(live, name, memory(Path(name).stem))
        run()
    # All of one moment: by their path.
    assert page(live.scope, "reviewer", limit=1) is not None
    run()
    assert {name for name in stored(live) if name.startswith("archive/")} == {
        archive_path("topics/a.md"),
        archive_path("topics/more/b.md"),
    }
    assert [path.name for path in live.path.rglob("*.md")] == ["c.md", "MEMORY.md"] or not (
        live.path / "topics/a.md"
    ).exists()
    write(live, "topics/a.md", memory("a", "A a.\n\nMore."))
    run()
    assert "topics/a.md" in stored(live) and archive_path("topics/a.md") not in stored(live)
    assert "topics/a.md" in stored(live)["MEMORY.md"]


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


def test_an_index_that_says_nothing_goes_with_its_folder(live: LiveDirectory, run: Save) -> None:
    """Who deleted all of an agent's memories, and then its folder, does not get the folder back."""
    write(live, "a.md", memory("a"))
    run()
    (live.path / "a.md").unlink()
    run()
    assert stored(live) == {"MEMORY.md": ""}
    (live.path / "MEMORY.md").unlink()
    live.path.rmdir()
    assert not run().plan.held and not live.path.exists() and stored(live) == {}
    assert not run().laid_out


def test_an_index_that_says_something_is_held_with_its_folder(live: LiveDirectory, run: Save) -> None:
    write(live, "MEMORY.md", "- Run the linter first.\n")
    run()
    (live.path / "MEMORY.md").unlink()
    live.path.rmdir()
    assert run().plan.held and (live.path / "MEMORY.md").is_file()


@pytest.mark.parametrize(
    ("folder", "sign"),
    [("node_modules", "left-pad/README.md"), ("tool", "package.json"), ("copied", "LICENSE")],
)
def test_software_inside_an_agents_folder_is_no_memory_of_its(
    live: LiveDirectory, run: Save, folder: str, sign: str
) -> None:
    """Its READMEs were written by somebody else; the person is told what was left out, and nothing goes."""
    write(live, "MEMORY.md", "# Notes\n")
    write(live, f"{folder}/{sign}", "{}\n")
    write(live, f"{folder}/docs/usage.md", memory("usage"))
    write(live, "topics/usage.md", memory("usage"))
    saved = run()
    (problem,) = saved.problems.items()
    assert problem[0] == folder and problem[1].startswith("is software, not memory (")
    assert stored(live).keys() == {"MEMORY.md", "topics/usage.md"}
    assert (live.path / folder / "docs/usage.md").is_file()


def test_memory_of_a_folder_that_software_was_put_into_stays(live: LiveDirectory, run: Save) -> None:
    write(live, "tool/usage.md", memory("usage"))
    run()
    write(live, "tool/package.json", "{}\n")
    assert run().plan.held == {"tool/usage.md": "is software, not memory (package.json)"}
    assert "tool/usage.md" in stored(live)
    (live.path / "tool/package.json").unlink()
    assert not run().plan.edits
