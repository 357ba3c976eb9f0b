"""Live directories: what agents and people edit reaches the ref, and nothing they wrote is lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitmem.core.trailers import parse as parse_trailers
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger import save_plan, working_copy
from gitmem.ledger.layout import read_record, record_path, write_record
from gitmem.ledger.live_directories import LiveDirectory, live_directories, live_directory
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import Saved, look, save
from gitmem.ledger.workspace import Scope, Workspace, open_workspace

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nThe {0} fact.\n"


Save = Callable[..., Saved]


def tree(scope: Scope) -> dict[str, str]:
    tip = scope.repo.ref(scope.ref)
    assert tip is not None
    return {
        path: data.decode() for path, data in read_files(scope.repo, scope.repo.commit(tip).tree).items()
    }


def test_a_new_file_reaches_the_ref_with_an_index_line(live: LiveDirectory, run: Save) -> None:
    (live.path / "ports.md").write_text(MEMORY.format("ports"))
    saved = run()
    assert saved.written[0].subject == "Add ports"
    assert tree(live.scope)["reviewer/ports.md"] == MEMORY.format("ports")
    assert (live.path / "MEMORY.md").read_text() == "- [ports](ports.md) — About ports\n"
    assert tree(live.scope)[".gitmem"] == "format = 1\n"


def test_saving_again_changes_nothing(live: LiveDirectory, run: Save) -> None:
    (live.path / "ports.md").write_text(MEMORY.format("ports"))
    run()
    before = live.scope.repo.ref(live.scope.ref)
    assert run().written == ()
    assert live.scope.repo.ref(live.scope.ref) == before


def test_adopting_changes_nothing_on_disk_and_gives_every_byte_back(live: LiveDirectory, run: Save) -> None:
    odd = {
        "MEMORY.md": b"# Mine\r\n- [gone](nowhere.md)\r\n",
        "a.md": b"\xef\xbb\xbf---\nname: a: b\n---\nx",
        "b.md": b"no frontmatter \xff\xfe",
        "c.md": b"",
    }
    for name, data in odd.items():
        (live.path / name).write_bytes(data)
    saved = run(adopt=True)
    assert saved.laid_out == ()
    assert {p.name: p.read_bytes() for p in live.path.iterdir()} == odd
    read = read_files(live.scope.repo, live.scope.repo.commit(saved.written[0].commit).tree, "reviewer")
    assert {path.split("/")[1]: data for path, data in read.items()} == odd
    assert parse_trailers(live.scope.repo.commit(saved.written[0].commit).message).op == "adopt"


def test_a_deleted_file_is_deleted_and_loses_its_index_line(live: LiveDirectory, run: Save) -> None:
    for name in ("one", "two"):
        (live.path / f"{name}.md").write_text(MEMORY.format(name))
    run()
    (live.path / "one.md").unlink()
    assert run().written[0].subject == "Delete one"
    assert "one.md" not in (live.path / "MEMORY.md").read_text()
    (live.path / "two.md").rename(live.path / "second.md")
    assert run().written[0].subject == "Rename two.md to second.md"


@pytest.mark.parametrize("accident", ["folder", "index", "many"])
def test_what_vanishes_by_accident_is_held_and_laid_out_again(
    live: LiveDirectory, run: Save, accident: str
) -> None:
    for number in range(6):
        (live.path / f"m{number}.md").write_text(MEMORY.format(f"m{number}"))
    run()
    before = tree(live.scope)
    if accident == "folder":
        for path in live.path.iterdir():
            path.unlink()
        live.path.rmdir()
    elif accident == "index":
        (live.path / "MEMORY.md").unlink()
        (live.path / "m0.md").unlink()
    else:
        for number in range(4):
            (live.path / f"m{number}.md").unlink()
    saved = run()
    assert saved.written == () and saved.plan.held
    assert tree(live.scope) == before
    assert {p.name for p in live.path.iterdir()} == {"MEMORY.md", *(f"m{n}.md" for n in range(6))}


def test_many_deletions_count_when_they_were_asked_for(live: LiveDirectory, run: Save) -> None:
    for number in range(6):
        (live.path / f"m{number}.md").write_text(MEMORY.format(f"m{number}"))
    run()
    for number in range(5):
        (live.path / f"m{number}.md").unlink()
    run(delete=True)
    assert sorted(tree(live.scope)) == [".gitmem", "reviewer/MEMORY.md", "reviewer/m5.md"]


def test_two_worktrees_edit_one_memory_and_both_claims_stay(
    live: LiveDirectory,
    run: Save,
    git: Callable[..., str],
    repo: Path,
    tmp_path: Path,
    workspace: Workspace,
) -> None:
    (live.path / "ports.md").write_text(MEMORY.format("ports"))
    run()
    git("-C", repo, "worktree", "add", "-q", tmp_path / "other", "-b", "other")
    second = live_directory(workspace, "project", "reviewer", tmp_path / "other")
    assert second is not None
    save(SaveRequest(second, 1_800_001_000, ANN))
    assert (second.path / "ports.md").read_text() == MEMORY.format("ports")
    (live.path / "ports.md").write_text(MEMORY.format("ports") + "\nFrom one.\n")
    (second.path / "ports.md").write_text(MEMORY.format("ports") + "\nFrom the other.\n")
    save(SaveRequest(second, 1_800_002_000, ANN))
    run()
    save(SaveRequest(second, 1_800_003_000, ANN))
    assert (live.path / "ports.md").read_text() == (second.path / "ports.md").read_text()
    assert {"From one.", "From the other."} <= set((live.path / "ports.md").read_text().splitlines())


def test_a_secret_stays_on_disk_and_out_of_every_object(
    live: LiveDirectory, run: Save, git: Callable[..., str], repo: Path
) -> None:
    key = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    text = MEMORY.format("deploy") + f"\nThe token is {key} for now.\n"
    (live.path / "deploy.md").write_text(text)
    saved = run()
    assert (live.path / "deploy.md").read_text() == text
    assert [r.path for r in saved.plan.refusals] == ["reviewer/deploy.md"]
    assert key not in str(saved.plan.refusals)
    names = git("-C", repo, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    blobs = [line.split()[0] for line in names.splitlines() if line.endswith("blob")]
    everything = "".join(git("-C", repo, "cat-file", "blob", blob) for blob in blobs)
    assert key not in everything and "The deploy fact." in everything
    (live.path / "deploy.md").write_text(text + "\nOne more.\n")
    run()
    assert key in (live.path / "deploy.md").read_text()
    assert "One more." in tree(live.scope)["reviewer/deploy.md"]


def test_links_foreign_and_large_files_are_left_alone(
    live: LiveDirectory, run: Save, tmp_path: Path
) -> None:
    (tmp_path / "passwd").write_text("secret")
    (live.path / "link.md").symlink_to(tmp_path / "passwd")
    (live.path / "notes.txt").write_text("foreign")
    (live.path / "big.md").write_bytes(b"x" * 10_000_000)
    (live.path / "MEMORY.md").mkdir()
    (live.path / "ok.md").write_text(MEMORY.format("ok"))
    saved = run()
    assert set(saved.problems) == {"link.md", "big.md", "MEMORY.md"}
    assert "reviewer/ok.md" in tree(live.scope)
    assert not any("secret" in text for text in tree(live.scope).values())
    assert (live.path / "link.md").is_symlink() and (live.path / "MEMORY.md").is_dir()


def test_a_linked_live_directory_is_not_followed(workspace: Workspace, repo: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/x.md").write_text(MEMORY.format("x"))
    (repo / ".claude/agent-memory").mkdir(parents=True)
    (repo / ".claude/agent-memory/reviewer").symlink_to(tmp_path / "elsewhere")
    live = live_directory(workspace, "project", "reviewer")
    assert live is not None
    saved = look(SaveRequest(live, 1_800_000_000, ANN))
    assert saved.plan.edits == {} and "symbolic link" in str(saved.problems)


def test_an_edit_that_meets_a_layout_is_merged(live: LiveDirectory, run: Save, monkeypatch) -> None:
    """Someone writes between the look and the replacement: their text is found in the displaced file."""
    import gitmem.ledger.working_copy as module

    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    original = module.replace_file
    raced = []

    def racing(path: Path, *args: Any) -> object:
        if path.name == "MEMORY.md" and not raced:
            raced.append(path)
            path.write_text(path.read_text() + "- A line by an agent\n")
        return original(path, *args)

    monkeypatch.setattr(module, "replace_file", racing)
    (live.path / "b.md").write_text(MEMORY.format("b"))
    run()
    text = (live.path / "MEMORY.md").read_text()
    assert raced and "A line by an agent" in text and "b.md" in text
    assert tree(live.scope)["reviewer/MEMORY.md"] == text


def test_a_process_that_died_while_replacing_has_deleted_nothing(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    record = read_record(live.scope.state, live.key)
    assert record is not None
    aside = live.scope.state / "displaced" / live.key
    (aside / f"00ff.{record.files['a.md']}").mkdir(parents=True, exist_ok=True)
    write_record(live.scope.state, live.key, record)
    (live.path / "a.md").rename(aside / f"00ff.{record.files['a.md']}/a.md")
    saved = run()
    assert saved.written == () and (live.path / "a.md").read_text() == MEMORY.format("a")


def test_a_writer_that_read_before_the_layout_does_not_undo_it(live: LiveDirectory) -> None:
    """An agent that read the file, and writes it back with its edit, knows nothing of what arrived."""
    path = live.path / "a.md"
    path.write_text(MEMORY.format("a"))
    now = path.stat().st_mtime
    save(SaveRequest(live, now, ANN))
    other = MEMORY.format("a") + "\nArrived by merge.\n"
    from gitmem.core.trailers import Provenance
    from gitmem.ledger.land import Write, land

    land(
        live.scope,
        lambda tip: Write({"reviewer/a.md": other.encode()}, "Merge", Provenance(op="sync", writer="sync")),
        ANN,
    )
    save(SaveRequest(live, now, ANN))
    assert path.read_text() == other
    path.write_text(MEMORY.format("a") + "\nBy the agent.\n")
    save(SaveRequest(live, now + 1, ANN))
    assert {"Arrived by merge.", "By the agent."} <= set(path.read_text().splitlines())


def test_a_damaged_record_is_like_none(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    (live.scope.state / "live" / f"{live.key}.json").write_text("{")
    (live.path / "a.md").write_text(MEMORY.format("a") + "\nMore.\n")
    run()
    assert "More." in tree(live.scope)["reviewer/a.md"]


def test_what_the_code_branch_tracks_is_saved_but_never_written(
    workspace: Workspace, repo: Path, git: Callable[..., str]
) -> None:
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text(MEMORY.format("a"))
    git("-C", repo, "add", ".")
    git("-C", repo, "commit", "-qm", "memory in code")
    (live,) = live_directories(workspace)
    assert live.tracked
    head = git("-C", repo, "rev-parse", "HEAD")
    saved = save(SaveRequest(live, 1_800_000_000, ANN, code_head=head))
    assert "reviewer/a.md" in tree(live.scope) and saved.laid_out == ()
    assert sorted(p.name for p in folder.iterdir()) == ["a.md"]
    git("-C", repo, "checkout", "-q", "HEAD~1")
    gone = save(SaveRequest(live, 1_800_000_100, ANN, code_head="other", code_files={}))
    assert gone.written == () and "reviewer/a.md" in tree(live.scope)


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
    (there / ".claude/agent-memory/reviewer/a.md").write_text(MEMORY.format("a"))
    assert [live.tracked for live in live_directories(opened, there)] == [False]
    git("-C", there, "add", ".")
    assert [live.tracked for live in live_directories(opened, there)] == [True]


def test_a_folder_that_nothing_happened_to_is_read_once_and_its_record_left_alone(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most saves are of this kind: no memory is judged or merged, and nothing is written."""
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    at = record_path(live.scope.state, live.key)
    before, looks = (at.read_bytes(), at.stat().st_mtime_ns), []
    scan = working_copy.scan
    monkeypatch.setattr(working_copy, "scan", lambda live: looks.append(live) or scan(live))
    monkeypatch.setattr(save_plan, "screen", lambda *_, **__: pytest.fail("was judged again"))
    saved = run()
    assert saved.plan.settled and not saved.written and looks == [live]
    assert (at.read_bytes(), at.stat().st_mtime_ns) == before


def test_what_only_the_ref_changed_is_laid_out_though_the_folder_is_as_it_was_left(
    live: LiveDirectory, run: Save
) -> None:
    """The record may be of a save that laid nothing out: where the ref is counts, not where it was."""
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    (live.path / "a.md").unlink()
    record = read_record(live.scope.state, live.key)
    assert record is not None
    left = {name: oid for name, oid in record.files.items() if name != "a.md"}
    write_record(live.scope.state, live.key, replace(record, files=left))
    run()
    assert (live.path / "a.md").is_file()
