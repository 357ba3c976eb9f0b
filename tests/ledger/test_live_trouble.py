"""Live directories under bad input: crashes, full disks, hostile trees, odd files."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from gitmem.core import tombstone
from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, LINK, TREE, Repository, Signature, TreeEntry
from gitmem.git.trees import list_files, read_files
from gitmem.ledger import layout, working_copy
from gitmem.ledger.land import Write, land
from gitmem.ledger.layout import read_record, record_path
from gitmem.ledger.live_directories import LiveDirectory
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import Saved, look

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\nThe {0} fact.\n"


Save = Callable[..., Saved]


def stored(live: LiveDirectory) -> dict[str, str]:
    tip = live.scope.repo.ref(live.scope.ref)
    assert tip is not None
    files = read_files(live.scope.repo, live.scope.repo.commit(tip).tree, live.agent)
    return {path.split("/", 1)[1]: data.decode() for path, data in files.items()}


def shown(live: LiveDirectory) -> dict[str, str]:
    return {
        p.name: p.read_text() for p in live.path.iterdir() if p.is_file() and not p.name.startswith(".")
    }


def push(live: LiveDirectory, edits: dict[str, bytes | None], op: str = "sync") -> None:
    """A commit that someone else made on the ref."""
    rooted = {f"{live.agent}/{name}": data for name, data in edits.items()}
    provenance = Provenance(op=op, writer="human")  # type: ignore[arg-type]
    land(live.scope, lambda tip: Write(rooted, "Change", provenance), ANN)


def force(live: LiveDirectory, entries: dict[str, TreeEntry]) -> None:
    """Puts a tree on the ref that no gitmem would have written, past all checks."""
    repo = live.scope.repo
    old = repo.ref(live.scope.ref)
    assert old is not None
    root = dict(repo.tree(repo.commit(old).tree))
    inside = {**repo.tree(root[live.agent].oid), **entries}
    root[live.agent] = TreeEntry(TREE, repo.add_tree(inside))
    new = repo.add_commit(repo.add_tree(root), (old,), ANN, ANN, "Hostile\n")
    move_ref(repo, live.scope.ref, new, old, "hostile")


def blob(repo: Repository, text: str) -> TreeEntry:
    return TreeEntry(BLOB, repo.add_blob(text.encode()))


# What a ref's tree may hold


def test_only_safe_names_of_a_hostile_tree_are_laid_out(
    live: LiveDirectory, run: Save, tmp_path: Path
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    repo = live.scope.repo
    bad = blob(repo, MEMORY.format("bad"))
    folder = TreeEntry(TREE, repo.add_tree({"x.md": bad}))
    force(
        live,
        {
            "..\\x.md": bad,
            "line\nbreak.md": bad,
            "memory.md": bad,
            "con.md": bad,
            ".hidden.md": bad,
            "notes.txt": bad,
            "sub": folder,
            "nul": folder,
            "team": folder,
            "logs": TreeEntry(TREE, repo.add_tree({"x.md": bad, "2026": folder})),
            "link.md": TreeEntry(LINK, repo.add_blob(str(tmp_path).encode())),
            "good.md": blob(repo, MEMORY.format("good")),
        },
    )
    run()
    assert sorted(shown(live)) == ["MEMORY.md", "a.md", "good.md"]
    assert [p.name for p in live.path.rglob("*") if p.is_dir() or p.is_symlink()] == ["sub"]
    assert (live.path / "sub/x.md").is_file()
    before = list_files(repo, repo.commit(repo.ref(live.scope.ref) or "").tree)
    run()
    assert {"reviewer/memory.md", "reviewer/nul/x.md"} <= set(before)


@pytest.mark.parametrize("where", ["directory", "parent", "logs"])
def test_nothing_is_written_through_a_symlink(
    live: LiveDirectory, run: Save, tmp_path: Path, where: str
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    listed = {"MEMORY.md": b"- [a](a.md)\n- [b](b.md)\n"}
    push(live, {"logs/2026/11/2026-11-20.md": b"10:00 a\n", "b.md": MEMORY.format("b").encode(), **listed})
    outside = tmp_path / "outside"
    outside.mkdir()
    if where == "logs":
        (live.path / "logs").symlink_to(outside)
    else:
        moved = live.path if where == "directory" else live.path.parent
        moved.rename(tmp_path / "moved")
        moved.symlink_to(outside)
    before = stored(live)
    saved = run()
    assert saved.written == () and "symbolic link" in str(saved.problems)
    assert list(outside.rglob("*")) == [] and stored(live) == before


def test_a_memory_that_became_a_symlink_is_neither_read_nor_written(
    live: LiveDirectory, run: Save, tmp_path: Path
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    (tmp_path / "target").write_text("private")
    (live.path / "a.md").unlink()
    (live.path / "a.md").symlink_to(tmp_path / "target")
    push(live, {"a.md": (MEMORY.format("a") + "\nMore.\n").encode()})
    saved = run()
    assert "a.md" in saved.problems and (live.path / "a.md").is_symlink()
    assert (tmp_path / "target").read_text() == "private" and "More." in stored(live)["a.md"]
    (live.path / "a.md").unlink()
    (live.path / "a.md").write_text(MEMORY.format("a") + "\nBy the agent.\n")
    run()
    assert {"More.", "By the agent."} <= set(stored(live)["a.md"].splitlines())


# Crashes


@pytest.mark.parametrize("step", ["before commit", "after commit", "displaced", "linked", "before record"])
def test_a_save_that_dies_is_healed_by_the_next(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever point it dies at: the next save brings file and ref together, and no claim is missing."""
    for name in ("a", "b", "c"):
        (live.path / f"{name}.md").write_text(MEMORY.format(name))
    run()
    push(
        live,
        {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode(), "new.md": MEMORY.format("new").encode()},
    )
    (live.path / "a.md").write_text(MEMORY.format("a") + "\nFrom here.\n")
    (live.path / "b.md").unlink()

    class Killed(BaseException):
        pass

    def die(*_args: object, **_kwargs: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        if step == "before commit":
            patch.setattr(type(live.scope.repo), "add_commit", die)
        elif step == "after commit":
            patch.setattr(working_copy, "_lay_out", die)
        elif step == "displaced":
            patch.setattr(layout, "_link", die)
        elif step == "linked":
            link = layout._link

            def linked(fresh: Path, path: Path) -> bool:
                link(fresh, path)
                raise Killed

            patch.setattr(layout, "_link", linked)
        else:
            patch.setattr(working_copy, "write_record", die)
        with pytest.raises(Killed):
            run()
    run()
    assert {"From afar.", "From here."} <= set(stored(live)["a.md"].splitlines())
    assert sorted(stored(live)) == ["MEMORY.md", "a.md", "c.md", "new.md"]
    assert shown(live) == stored(live)
    assert not list(live.path.glob(".gitmem-*.tmp"))
    assert run().written == ()


def test_new_files_of_a_killed_process_are_swept(live: LiveDirectory, run: Save) -> None:
    (live.path / ".gitmem-0123456789abcdef.tmp").write_text("half")
    (live.path / ".gitmem-notes.tmp").write_text("someone's")
    run()
    assert [p.name for p in live.path.glob(".gitmem*")] == [".gitmem-notes.tmp"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
def test_a_disk_that_takes_nothing_leaves_files_as_they_are(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    (live.path / "a.md").write_text(MEMORY.format("a") + "\nFrom here.\n")
    before = shown(live)
    real = os.open

    def refuse(path: object, flags: int, *args: object, **kwargs: object) -> int:
        if str(path).endswith(".tmp") and flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", refuse)
        with pytest.raises(RepositoryError, match=r"a\.md cannot be written") as caught:
            run()
    assert caught.value.hint and shown(live) == before
    run()
    assert {"From afar.", "From here."} <= set(shown(live)["a.md"].splitlines())
    assert shown(live) == stored(live)


def test_a_disk_that_is_full_in_the_middle_of_a_write_leaves_files_as_they_are(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    before = shown(live)

    def full(_fresh: Path, _data: bytes, _like: Path) -> None:
        _fresh.write_bytes(_data[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(layout, "_write_new", full)
        with pytest.raises(RepositoryError):
            run()
    assert shown(live) == before and not list(live.path.glob(".gitmem-*"))


def test_an_aside_on_another_file_system_is_done_without(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The auto-memory folder and the private repository's state may be on different disks."""
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    real = Path.rename

    def across(self: Path, target: Path) -> Path:
        if live.scope.state in target.parents and live.scope.state not in self.parents:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(self, target)

    monkeypatch.setattr(Path, "rename", across)
    run()
    assert "From afar." in shown(live)["a.md"]
    (kept,) = (live.path / layout.ASIDE).glob("*/*")
    kept.write_text(MEMORY.format("a") + "\nBy one who held it open.\n")
    run()
    assert {"From afar.", "By one who held it open."} <= set(shown(live)["a.md"].splitlines())
    assert shown(live) == stored(live)


# Writers in between


@pytest.mark.parametrize("times", [1, 2, 3, 30])
def test_a_file_made_while_the_old_one_is_away_loses_nothing(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """An agent that appends in that moment makes a file of its own line alone: once, or each time."""
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    link, raced = layout._link, []

    def racing(fresh: Path, path: Path) -> bool:
        if path.name == "a.md" and len(raced) < times:
            raced.append(f"Appended {len(raced)}.")
            path.write_text(f"{raced[-1]}\n")
        return link(fresh, path)

    monkeypatch.setattr(working_copy, "QUIET_SECONDS", 0.0)
    monkeypatch.setattr(layout, "_link", racing)
    while len(raced) < times:
        run()
    run()
    assert raced and {"The a fact.", "From afar.", *raced} <= set(stored(live)["a.md"].splitlines())
    assert shown(live) == stored(live)


def test_a_late_write_that_a_layout_displaces_is_no_version_that_its_own_writer_read(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent read the file before one layout, and writes between the look and the next one."""
    text = MEMORY.format("a")
    (live.path / "a.md").write_text(text)
    now = (live.path / "a.md").stat().st_mtime
    run(now=now)
    push(live, {"a.md": (text + "\nFrom afar.\n").encode()})
    run(now=now)
    push(live, {"a.md": (text + "\nFrom afar.\n\nFrom farther.\n").encode()})
    replaced, raced = working_copy.replace_file, []

    def racing(path: Path, *rest: object) -> object:
        if path.name == "a.md" and not raced:
            raced.append(path)
            path.write_text(text + "\nBy the agent.\n")
        return replaced(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(working_copy, "replace_file", racing)
    run(now=now)
    run(now=now)
    wanted = {"The a fact.", "From afar.", "From farther.", "By the agent."}
    assert raced and wanted <= set(stored(live)["a.md"].splitlines())
    assert shown(live) == stored(live)


def test_a_file_made_after_a_process_died_with_the_old_one_away_deletes_nothing(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an agent appends then makes a file of its own line; the next save looks when it lies still."""
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})

    def die(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(layout, "_link", die)
        with pytest.raises(KeyboardInterrupt):
            run()
    (live.path / "a.md").write_text("Appended.\n")
    monkeypatch.setattr(working_copy, "QUIET_SECONDS", 0.0)
    run()
    assert {"The a fact.", "From afar.", "Appended."} <= set(stored(live)["a.md"].splitlines())
    assert shown(live) == stored(live)


def test_a_file_that_is_being_written_is_not_taken_for_empty(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    (live.path / "a.md").write_text("")
    done = MEMORY.format("a") + "\nMore.\n"
    monkeypatch.setattr(working_copy.time, "sleep", lambda _: (live.path / "a.md").write_text(done))
    saved = run()
    assert len(saved.written) == 1 and stored(live)["a.md"] == done


def test_a_file_that_someone_emptied_for_good_is_taken_as_that(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    (live.path / "a.md").write_text("")
    then = (live.path / "a.md").stat().st_mtime - working_copy.QUIET_SECONDS
    os.utime(live.path / "a.md", (then, then))
    run()
    assert stored(live)["a.md"] == ""


def test_a_file_that_keeps_changing_is_left_for_the_next_save(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = MEMORY.format("a")
    (live.path / "a.md").write_text(text)
    run()
    push(live, {"a.md": (text + "\nFrom afar.\n").encode()})
    (live.path / "a.md").write_text("")
    lengths = cycle(range(1, 9))
    with monkeypatch.context() as patch:
        growing = lambda _: (live.path / "a.md").write_text(text[: next(lengths)])  # noqa: E731 - one use
        patch.setattr(working_copy.time, "sleep", growing)
        assert "being written" in run().problems["a.md"]
    (live.path / "a.md").write_text(text + "\nDone.\n")
    run()
    assert {"From afar.", "Done.", "The a fact."} <= set(stored(live)["a.md"].splitlines())


def test_a_displaced_file_that_is_being_filled_deletes_nothing(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(working_copy.time, "sleep", lambda _: None)
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    run()
    (kept,) = (live.scope.state / "displaced" / live.key).glob("*/a.md")
    kept.write_text("")
    run()
    assert "The a fact." in stored(live)["a.md"]


# What a person forgot


def test_what_was_forgotten_and_is_written_again_stays_live_and_uncommitted(
    live: LiveDirectory, run: Save
) -> None:
    stone = tombstone.bury("The a fact.", "00" * 16, "2026-11-20", "forgot").line().encode()
    (live.path / "b.md").write_text(MEMORY.format("b"))
    run()
    push(live, {".tombstones": stone})
    run()
    (live.path / "a.md").write_text(MEMORY.format("a"))
    (live.path / "b.md").write_text(MEMORY.format("b") + "\nThe a fact.\n\nMore.\n")
    for _ in range(2):
        saved = run()
        assert set(saved.plan.held) == {"a.md", "b.md"} and "forgotten" in saved.plan.held["a.md"]
        assert "a.md" not in stored(live) and stored(live)[".tombstones"] == stone.decode()
        assert stored(live)["b.md"] == MEMORY.format("b") + "\nMore.\n"
        assert shown(live)["a.md"] == MEMORY.format("a") and "The a fact." in shown(live)["b.md"]


def test_what_is_forgotten_elsewhere_goes_even_where_it_was_edited(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    stone = tombstone.bury("The a fact.", "00" * 16, "2026-11-20", "forgot").line().encode()
    push(live, {".tombstones": stone, "a.md": None})
    (live.path / "a.md").write_text(MEMORY.format("a").replace("The a fact.", "The a fact, reworded."))
    saved = run()
    assert saved.plan.buried == () or "reworded" in str(saved.plan.buried)
    assert "a.md" not in stored(live) and "a.md" not in shown(live)


# Odd files


def test_odd_files_are_named_and_nothing_else_suffers(live: LiveDirectory, run: Save) -> None:
    (live.path / "ok.md").write_text(MEMORY.format("ok"))
    (live.path / "OK.md").write_text(MEMORY.format("OK"))
    (live.path / "latin.md").write_bytes(b"caf\xe9\n")
    (live.path / "broken.md").write_text("---\nname: a: b\n  odd\n---\nBody.\n")
    (live.path / "line\nbreak.md").write_text("x")
    (live.path / "Memory.md").write_text("x")
    (live.path / "back\\slash.md").write_text("x")
    os.mkfifo(live.path / "pipe.md")
    raw = os.fsencode(live.path) + b"/bad\xff.md"
    Path(os.fsdecode(raw)).write_text("x")
    (live.path / "MEMORY.md").mkdir()
    long = "é" * 120 + ".md"
    (live.path / long).write_text(MEMORY.format("long"))
    saved = run()
    tip = live.scope.repo.commit(live.scope.repo.ref(live.scope.ref) or "")
    kept = {path.split("/")[1] for path in list_files(live.scope.repo, tip.tree, "reviewer")}
    assert kept == {"MEMORY.md", "ok.md", "OK.md", "latin.md", "broken.md", long}
    assert len(saved.problems) == 6
    push(live, {long: (MEMORY.format("long") + "\nMore.\n").encode()})
    run()
    assert "More." in (live.path / long).read_text()


def test_a_missing_base_blob_makes_a_union_not_a_loss(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    path = record_path(live.scope.state, live.key)
    record = read_record(live.scope.state, live.key)
    assert record is not None
    path.write_text(path.read_text().replace(record.files["a.md"], "0" * 40).replace(record.base, "0" * 40))
    (live.path / "a.md").write_text(MEMORY.format("a") + "\nMore.\n")
    run()
    assert "More." in stored(live)["a.md"]


def test_a_look_writes_nothing(live: LiveDirectory, run: Save) -> None:
    (live.path / "a.md").write_text(MEMORY.format("a"))
    look(SaveRequest(live, 1_900_000_000, ANN))
    assert live.scope.repo.ref(live.scope.ref) is None
    assert sorted(p.name for p in live.path.iterdir()) == ["a.md"]


def test_a_displaced_file_that_is_older_than_the_layout_deletes_nothing_while_the_file_is_busy(
    live: LiveDirectory, run: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was displaced lacks what a later layout brought; the file itself cannot be read just now."""
    monkeypatch.setattr(working_copy.time, "sleep", lambda _: None)
    (live.path / "a.md").write_text(MEMORY.format("a"))
    run()
    push(live, {"a.md": (MEMORY.format("a") + "\nFrom afar.\n").encode()})
    run()
    (kept,) = (live.scope.state / "displaced" / live.key).glob("*/a.md")
    kept.write_text(MEMORY.format("a") + "\nBy a late writer.\n")
    (live.path / "a.md").write_text("")
    run()
    assert {"The a fact.", "From afar.", "By a late writer."} <= set(stored(live)["a.md"].splitlines())
