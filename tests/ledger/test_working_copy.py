"""Live directories: what agents and people edit reaches the ref, and nothing they wrote is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from live_ground import ANN, LiveGround, memory
from planted_secrets import GITHUB

from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.trees import read_files
from gitmem.ledger import save_plan, working_copy
from gitmem.ledger.layout import live_directories, live_directory, read_record, record_path, write_record
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import look, save
from gitmem.ledger.workspace import Workspace, open_workspace


def test_a_new_file_reaches_the_ref_with_an_index_line_and_once(ground: LiveGround) -> None:
    ground.write("ports")
    assert ground.save().written[0].subject == "Add ports"
    assert ground.stored == ground.shown
    assert ground.shown == {"MEMORY.md": "- [ports](ports.md) — About ports\n", "ports.md": memory("ports")}
    repo, tip = ground.live.scope.repo, ground.tip
    assert read_files(repo, repo.commit(tip).tree)[".gitmem"] == b"format = 1\n"
    assert ground.save().written == () and ground.tip == tip


def test_adopting_changes_nothing_on_disk_and_gives_every_byte_back(ground: LiveGround) -> None:
    odd = {
        "MEMORY.md": b"# Mine\r\n- [gone](nowhere.md)\r\n",
        "a.md": b"\xef\xbb\xbf---\nname: a: b\n---\nx",
        "b.md": b"no frontmatter \xff\xfe",
        "c.md": b"",
    }
    for name, data in odd.items():
        ground.file(name).write_bytes(data)
    saved = ground.save(adopt=True)
    assert saved.laid_out == ()
    assert {p.name: p.read_bytes() for p in ground.live.path.iterdir()} == odd
    repo = ground.live.scope.repo
    commit = repo.commit(saved.written[0].commit)
    read = read_files(repo, commit.tree, "reviewer")
    assert {path.split("/")[1]: data for path, data in read.items()} == odd
    assert parse_trailers(commit.message).op == "adopt"


def test_a_deleted_file_is_deleted_and_loses_its_index_line(ground: LiveGround) -> None:
    ground.write("one", "two")
    ground.save()
    ground.file("one.md").unlink()
    assert ground.save().written[0].subject == "Delete one"
    assert "one.md" not in ground.shown["MEMORY.md"]
    ground.file("two.md").rename(ground.file("second.md"))
    assert ground.save().written[0].subject == "Rename two.md to second.md"


SIX = tuple(f"m{number}" for number in range(6))


@pytest.mark.parametrize(
    "gone", [("MEMORY", *SIX), ("MEMORY", "m0"), SIX[:4]], ids=["all", "index", "many"]
)
def test_what_vanishes_by_accident_is_held_and_laid_out_again(ground, gone: tuple[str, ...]) -> None:
    ground.write(*SIX)
    ground.save()
    before = ground.stored
    for name in gone:
        ground.file(f"{name}.md").unlink()
    if not ground.shown:
        ground.live.path.rmdir()
    saved = ground.save()
    assert saved.written == () and saved.plan.held
    assert ground.stored == before == ground.shown


def test_many_that_were_renamed_at_once_have_not_vanished(ground: LiveGround) -> None:
    ground.write(*SIX)
    ground.save()
    ground.file("topics").mkdir()
    for name in SIX[:5]:
        place = "topics/m0.md" if name == "m0" else f"new-{name}.md"
        ground.file(f"{name}.md").rename(ground.file(place))
    saved = ground.save()
    assert saved.written[0].subject == "Rename 5 memories" and not saved.plan.held
    assert ground.stored.keys() == {
        "MEMORY.md",
        "m5.md",
        "topics/m0.md",
        *(f"new-m{n}.md" for n in range(1, 5)),
    }


def test_many_deletions_count_when_they_were_asked_for(ground: LiveGround) -> None:
    ground.write(*SIX)
    ground.save()
    for name in SIX[:5]:
        ground.file(f"{name}.md").unlink()
    ground.save(delete=True)
    assert sorted(ground.stored) == ["MEMORY.md", "m5.md"]


def test_two_worktrees_edit_one_memory_and_both_claims_stay(ground, git, repo, tmp_path, workspace) -> None:
    ground.begin("ports")
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    live = live_directory(workspace, "project", "reviewer", tmp_path / "other")
    assert live is not None
    other = LiveGround(live, ground.patch, 1_800_000_000.0)
    other.save()
    assert other.shown["ports.md"] == memory("ports")
    ground.add("ports", "From one.")
    other.add("ports", "From the other.")
    other.save()
    ground.save()
    other.save()
    assert {"From one.", "From the other."} <= ground.claims("ports") == other.claims("ports")


def test_a_secret_stays_on_disk_and_out_of_every_object(ground: LiveGround, git, repo: Path) -> None:
    said = f"The token is {GITHUB} for now."
    ground.add("deploy", said)
    saved = ground.save()
    assert ground.shown["deploy.md"] == memory("deploy", said)
    assert [r.path for r in saved.plan.refusals] == ["reviewer/deploy.md"]
    assert GITHUB not in str(saved.plan.refusals)
    names = git("-C", repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    blobs = [line.split()[0] for line in names.splitlines() if line.endswith("blob")]
    everything = "".join(git("-C", repo, "cat-file", "blob", blob) for blob in blobs)
    assert GITHUB not in everything and "The deploy fact." in everything
    ground.add("deploy", said, "One more.")
    ground.save()
    assert GITHUB in ground.shown["deploy.md"]
    assert "One more." in ground.stored["deploy.md"]


def test_links_foreign_and_large_files_are_left_alone(ground: LiveGround, tmp_path: Path) -> None:
    (tmp_path / "passwd").write_text("secret")
    ground.file("link.md").symlink_to(tmp_path / "passwd")
    ground.file("notes.txt").write_text("foreign")
    ground.file("big.md").write_bytes(b"x" * 10_000_000)
    ground.file("MEMORY.md").mkdir()
    ground.write("ok")
    assert set(ground.save().problems) == {"link.md", "big.md", "MEMORY.md"}
    assert "ok.md" in ground.stored
    assert not any("secret" in text for text in ground.stored.values())
    assert ground.file("link.md").is_symlink() and ground.file("MEMORY.md").is_dir()


def test_a_linked_live_directory_is_not_followed(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x.md").write_text(memory("x"))
    (repo / ".claude/agent-memory").mkdir(parents=True)
    (repo / ".claude/agent-memory/reviewer").symlink_to(tmp_path / "elsewhere")
    live = live_directory(workspace, "project", "reviewer")
    assert live is not None
    saved = look(SaveRequest(live, 1_800_000_000, ANN))
    assert saved.plan.edits == {} and "symbolic link" in str(saved.problems)


def test_an_edit_that_meets_a_layout_is_merged(ground: LiveGround) -> None:
    """Someone writes between the look and the replacement: their text is found in the displaced file."""
    ground.begin()
    original, raced = working_copy.replace_file, []

    def racing(path: Path, *rest: object) -> object:
        if path.name == "MEMORY.md" and not raced:
            raced.append(path)
            path.write_text(path.read_text() + "- A line by an agent\n")
        return original(path, *rest)  # type: ignore[arg-type]

    ground.patch.setattr(working_copy, "replace_file", racing)
    ground.write("b")
    ground.save()
    text = ground.shown["MEMORY.md"]
    assert raced and "A line by an agent" in text and "b.md" in text
    assert ground.stored["MEMORY.md"] == text


def test_a_writer_that_read_before_the_layout_does_not_undo_it(ground: LiveGround) -> None:
    """An agent that read the file, and writes it back with its edit, knows nothing of what arrived."""
    ground.write("a")
    now = ground.file("a.md").stat().st_mtime
    ground.save(now=now)
    ground.push({"a.md": memory("a", "Arrived by merge.")})
    ground.save(now=now)
    assert ground.shown["a.md"] == memory("a", "Arrived by merge.")
    ground.add("a", "By the agent.")
    ground.save(now=now + 1)
    assert {"Arrived by merge.", "By the agent."} <= ground.claims()


def test_a_damaged_record_is_like_none(ground: LiveGround) -> None:
    ground.begin()
    (ground.live.scope.state / "live" / f"{ground.live.key}.json").write_text("{")
    ground.add("a", "More.")
    ground.save()
    assert "More." in ground.stored["a.md"]


def test_what_the_code_branch_tracks_is_saved_but_never_written(workspace, repo, git, monkeypatch) -> None:
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(memory("a"))
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-qm", "memory in code")
    (live,) = live_directories(workspace)
    assert live.tracked
    head, stored = git("-C", repo, "rev-parse", "HEAD"), LiveGround(live, monkeypatch)
    assert save(SaveRequest(live, 1_800_000_000, ANN, code_head=head)).laid_out == ()
    assert "a.md" in stored.stored and list(stored.shown) == ["a.md"]
    git("-C", repo, "checkout", "-q", "HEAD~1")
    gone = save(SaveRequest(live, 1_800_000_100, ANN, code_head="other", code_files={}))
    assert gone.written == () and "a.md" in stored.stored


@pytest.mark.parametrize("main", [False, True], ids=["from the main tree", "from a linked one"])
def test_what_another_work_tree_tracks_is_told_by_its_own_index(
    workspace: Workspace, git: Callable[..., str], repo: Path, tmp_path: Path, main: bool
) -> None:
    """The list is kept while an index stays as it is, and each work tree has one."""
    other = tmp_path / "other"
    git("-C", repo, "worktree", "add", "-q", other, "-b", "other")
    here, there = (other, repo) if main else (repo, other)
    opened = open_workspace(workspace.around, here)
    (there / ".claude/agent-memory/reviewer").mkdir(parents=True)
    (there / ".claude/agent-memory/reviewer/a.md").write_text(memory("a"))
    assert [live.tracked for live in live_directories(opened, there)] == [False]
    git("-C", there, "add", ".")
    assert [live.tracked for live in live_directories(opened, there)] == [True]


def test_a_folder_that_nothing_happened_to_is_read_once_and_its_record_left_alone(ground) -> None:
    """Most saves are of this kind: no memory is judged or merged, and nothing is written.

    A file that the last layout moved aside changes nothing, as long as nobody writes to it.
    """
    ground.begin("a", "From afar.")
    ground.save()
    assert [*(ground.live.scope.state / "displaced" / ground.live.key).glob("*/a.md")]
    at = record_path(ground.live.scope.state, ground.live.key)
    before, looks = (at.read_bytes(), at.stat().st_mtime_ns), []
    scan = working_copy.scan
    ground.patch.setattr(working_copy, "scan", lambda live: looks.append(live) or scan(live))
    ground.patch.setattr(save_plan, "screen", lambda *_, **__: pytest.fail("was judged again"))
    saved = ground.save()
    assert saved.plan.settled and not saved.written and looks == [ground.live]
    assert (at.read_bytes(), at.stat().st_mtime_ns) == before


def test_what_only_the_ref_changed_is_laid_out_though_the_folder_is_as_it_was_left(ground) -> None:
    """The record may be of a save that laid nothing out: where the ref is counts, not where it was."""
    ground.begin()
    ground.file("a.md").unlink()
    state, key = ground.live.scope.state, ground.live.key
    record = read_record(state, key)
    assert record is not None
    left = {name: oid for name, oid in record.files.items() if name != "a.md"}
    write_record(state, key, replace(record, files=left))
    ground.save()
    assert ground.file("a.md").is_file()
