"""Live directories under bad input: crashes, full disks, hostile trees, odd files."""

from __future__ import annotations

import errno
import os
from itertools import cycle
from pathlib import Path

import pytest
from live_ground import ANN, LiveGround, memory

from gitmem.core import tombstone
from gitmem.core.errors import RepositoryError
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, LINK, TREE, TreeEntry
from gitmem.git.trees import list_files
from gitmem.ledger import layout, working_copy
from gitmem.ledger.layout import read_record, record_path
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import look

FORGOTTEN = tombstone.bury("The a fact.", "00" * 16, "2026-11-20", "forgot").line()


class Killed(BaseException):
    """The process ends here."""


def die(*_args: object, **_kwargs: object) -> None:
    raise Killed


# What a ref's tree may hold


def test_only_safe_names_of_a_hostile_tree_are_laid_out(ground: LiveGround, tmp_path: Path) -> None:
    """The tree is one that no gitmem would have written, past all checks."""
    ground.begin()
    repo, ref, old = ground.live.scope.repo, ground.live.scope.ref, ground.tip
    bad, good = (TreeEntry(BLOB, repo.add_blob(memory(name).encode())) for name in ("bad", "good"))
    folder = TreeEntry(TREE, repo.add_tree({"x.md": bad}))
    names = ("..\\x.md", "line\nbreak.md", "memory.md", "con.md", ".hidden.md", "notes.txt")
    hostile = dict.fromkeys(names, bad) | dict.fromkeys(("sub", "nul", "team"), folder)
    hostile["logs"] = TreeEntry(TREE, repo.add_tree({"x.md": bad, "2026": folder}))
    hostile["link.md"] = TreeEntry(LINK, repo.add_blob(str(tmp_path).encode()))
    root = dict(repo.tree(repo.commit(old).tree))
    inside = {**repo.tree(root["reviewer"].oid), **hostile, "good.md": good}
    root["reviewer"] = TreeEntry(TREE, repo.add_tree(inside))
    move_ref(repo, ref, repo.add_commit(repo.add_tree(root), (old,), ANN, ANN, "Hostile\n"), old, "hostile")
    ground.save()
    assert sorted(ground.shown) == ["MEMORY.md", "a.md", "good.md"]
    assert [p.name for p in ground.live.path.rglob("*") if p.is_dir() or p.is_symlink()] == ["sub"]
    assert ground.file("sub/x.md").is_file()
    before = list_files(repo, repo.commit(ground.tip).tree)
    ground.save()
    assert {"reviewer/memory.md", "reviewer/nul/x.md"} <= set(before)


@pytest.mark.parametrize("where", ["directory", "parent", "logs"])
def test_nothing_is_written_through_a_symlink(ground: LiveGround, tmp_path: Path, where: str) -> None:
    ground.begin()
    listed = {"MEMORY.md": "- [a](a.md)\n- [b](b.md)\n"}
    ground.push({"logs/2026/11/2026-11-20.md": "10:00 a\n", "b.md": memory("b"), **listed})
    outside, path = tmp_path / "outside", ground.live.path
    outside.mkdir()
    if where == "logs":
        ground.file("logs").symlink_to(outside)
    else:
        moved = path if where == "directory" else path.parent
        moved.rename(tmp_path / "moved")
        moved.symlink_to(outside)
    before = ground.stored
    saved = ground.save()
    assert saved.written == () and "symbolic link" in str(saved.problems)
    assert list(outside.rglob("*")) == [] and ground.stored == before


def test_a_memory_that_became_a_symlink_is_neither_read_nor_written(ground: LiveGround, tmp_path) -> None:
    ground.begin()
    (tmp_path / "target").write_text("private")
    file = ground.file("a.md")
    file.unlink()
    file.symlink_to(tmp_path / "target")
    ground.push({"a.md": memory("a", "More.")})
    assert "a.md" in ground.save().problems and file.is_symlink()
    assert (tmp_path / "target").read_text() == "private" and "More." in ground.stored["a.md"]
    file.unlink()
    ground.add("a", "By the agent.")
    ground.save()
    assert {"More.", "By the agent."} <= ground.claims()


# Crashes


@pytest.mark.parametrize("step", ["before commit", "after commit", "displaced", "linked", "before record"])
def test_a_save_that_dies_is_healed_by_the_next(ground: LiveGround, step: str) -> None:
    """Whatever point it dies at: the next save brings file and ref together, and no claim is missing."""
    ground.write("a", "b", "c")
    ground.save()
    ground.push({"a.md": memory("a", "From afar."), "new.md": memory("new")})
    ground.add("a", "From here.")
    ground.file("b.md").unlink()
    link = layout._link

    def linked(fresh: Path, path: Path) -> None:
        link(fresh, path)
        raise Killed

    place, name, how = {
        "before commit": (type(ground.live.scope.repo), "add_commit", die),
        "after commit": (working_copy, "_lay_out", die),
        "displaced": (layout, "_link", die),
        "linked": (layout, "_link", linked),
        "before record": (working_copy, "write_record", die),
    }[step]
    with ground.patch.context() as patch, pytest.raises(Killed):
        patch.setattr(place, name, how)
        ground.save()
    ground.save()
    assert {"From afar.", "From here."} <= ground.claims()
    assert sorted(ground.stored) == ["MEMORY.md", "a.md", "c.md", "new.md"]
    assert not list(ground.live.path.glob(".gitmem-*.tmp"))
    assert ground.save().written == ()


def test_new_files_of_a_killed_process_are_swept(ground: LiveGround) -> None:
    ground.file(".gitmem-0123456789abcdef.tmp").write_text("half")
    ground.file(".gitmem-notes.tmp").write_text("someone's")
    ground.save()
    assert [p.name for p in ground.live.path.glob(".gitmem*")] == [".gitmem-notes.tmp"]


@pytest.mark.parametrize("how", ["ENOSPC", "EROFS", "EACCES", "EDQUOT", "in the middle"])
def test_a_disk_that_takes_nothing_leaves_files_as_they_are(ground: LiveGround, how: str) -> None:
    ground.begin("a", "From afar.")
    ground.add("a", "From here.")
    before, real = ground.shown, os.open
    number = getattr(errno, how, errno.ENOSPC)

    def refuse(path: object, flags: int, *args: object, **kwargs: object) -> int:
        if str(path).endswith(".tmp") and flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return real(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    def full(fresh: Path, data: bytes, _like: Path) -> None:
        fresh.write_bytes(data[:3])
        raise OSError(number, os.strerror(number))

    with ground.patch.context() as patch:
        if how == "in the middle":
            patch.setattr(layout, "_write_new", full)
        else:
            patch.setattr(os, "open", refuse)
        with pytest.raises(RepositoryError, match=r"a\.md cannot be written") as caught:
            ground.save()
    assert caught.value.hint and ground.shown == before
    assert not list(ground.live.path.glob(".gitmem-*"))
    ground.save()
    assert {"From afar.", "From here."} <= ground.claims()


def test_an_aside_on_another_file_system_is_done_without(ground: LiveGround) -> None:
    """The auto-memory folder and the private repository's state may be on different disks."""
    ground.begin("a", "From afar.")
    real, state = Path.rename, ground.live.scope.state

    def across(self: Path, target: Path) -> Path:
        if state in target.parents and state not in self.parents:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        return real(self, target)

    ground.patch.setattr(Path, "rename", across)
    ground.save()
    assert "From afar." in ground.shown["a.md"]
    (kept,) = ground.file(layout.ASIDE).glob("*/*")
    kept.write_text(memory("a", "By one who held it open."))
    ground.save()
    assert {"From afar.", "By one who held it open."} <= ground.claims()


# Writers in between


@pytest.mark.parametrize("times", [1, 2, 3, 30])
def test_a_file_made_while_the_old_one_is_away_loses_nothing(ground: LiveGround, times: int) -> None:
    """An agent that appends in that moment makes a file of its own line alone: once, or each time."""
    ground.begin("a", "From afar.")
    link, raced = layout._link, []

    def racing(fresh: Path, path: Path) -> bool:
        if path.name == "a.md" and len(raced) < times:
            raced.append(f"Appended {len(raced)}.")
            path.write_text(f"{raced[-1]}\n")
        return link(fresh, path)

    ground.patch.setattr(working_copy, "QUIET_SECONDS", 0.0)
    ground.patch.setattr(layout, "_link", racing)
    while len(raced) < times:
        ground.save()
    ground.save()
    assert raced and {"The a fact.", "From afar.", *raced} <= ground.claims()


def test_a_late_write_that_a_layout_displaces_is_no_version_that_its_own_writer_read(ground) -> None:
    """The agent read the file before one layout, and writes between the look and the next one."""
    ground.write("a")
    now = ground.file("a.md").stat().st_mtime
    for more in (["From afar."], ["From afar.", "From farther."]):
        ground.save(now=now)
        ground.push({"a.md": memory("a", *more)})
    replaced, raced = working_copy.replace_file, []

    def racing(path: Path, *rest: object) -> object:
        if path.name == "a.md" and not raced:
            raced.append(path)
            ground.add("a", "By the agent.")
        return replaced(path, *rest)  # type: ignore[arg-type]

    ground.patch.setattr(working_copy, "replace_file", racing)
    ground.save(now=now)
    ground.save(now=now)
    assert raced and {"The a fact.", "From afar.", "From farther.", "By the agent."} <= ground.claims()


def test_a_file_made_after_a_process_died_with_the_old_one_away_deletes_nothing(ground: LiveGround) -> None:
    """What an agent appends then makes a file of its own line; the next save looks when it lies still."""
    ground.begin("a", "From afar.")
    with ground.patch.context() as patch, pytest.raises(Killed):
        patch.setattr(layout, "_link", die)
        ground.save()
    ground.file("a.md").write_text("Appended.\n")
    ground.patch.setattr(working_copy, "QUIET_SECONDS", 0.0)
    ground.save()
    assert {"The a fact.", "From afar.", "Appended."} <= ground.claims()


def test_an_empty_file_is_taken_for_emptied_where_nobody_is_writing_it(ground: LiveGround) -> None:
    ground.begin()
    file = ground.file("a.md")
    file.write_text("")
    with ground.patch.context() as patch:
        patch.setattr(working_copy.time, "sleep", lambda _: ground.add("a", "More."))
        assert len(ground.save().written) == 1 and ground.stored["a.md"] == memory("a", "More.")
    file.write_text("")
    then = file.stat().st_mtime - working_copy.QUIET_SECONDS
    os.utime(file, (then, then))
    ground.save()
    assert ground.stored["a.md"] == ""


def test_a_file_that_keeps_changing_is_left_for_the_next_save(ground: LiveGround) -> None:
    ground.begin("a", "From afar.")
    ground.file("a.md").write_text("")
    lengths = cycle(range(1, 9))
    with ground.patch.context() as patch:
        growing = lambda _: ground.file("a.md").write_text(memory("a")[: next(lengths)])  # noqa: E731
        patch.setattr(working_copy.time, "sleep", growing)
        assert "being written" in ground.save().problems["a.md"]
    ground.add("a", "Done.")
    ground.save()
    assert {"From afar.", "Done.", "The a fact."} <= ground.claims()


@pytest.mark.parametrize("late", ["", memory("a", "By a late writer.")])
def test_a_displaced_file_that_somebody_writes_late_deletes_nothing(ground: LiveGround, late: str) -> None:
    """It is being filled, or lacks what a later layout brought, while the file itself is busy."""
    ground.patch.setattr(working_copy.time, "sleep", lambda _: None)
    ground.begin("a", "From afar.")
    ground.save()
    (kept,) = (ground.live.scope.state / "displaced" / ground.live.key).glob("*/a.md")
    kept.write_text(late)
    if late:
        ground.file("a.md").write_text("")
    ground.save()
    lines = set(ground.stored["a.md"].splitlines())
    assert {"The a fact.", "From afar."} <= lines and ("By a late writer." in lines) is bool(late)


# What a person forgot


def test_what_was_forgotten_and_is_written_again_stays_live_and_uncommitted(ground: LiveGround) -> None:
    ground.begin("b")
    ground.push({".tombstones": FORGOTTEN})
    ground.save()
    ground.write("a")
    ground.add("b", "The a fact.", "More.")
    for _ in range(2):
        held = ground.save().plan.held
        assert set(held) == {"a.md", "b.md"} and "forgotten" in held["a.md"]
        assert "a.md" not in ground.stored and ground.stored[".tombstones"] == FORGOTTEN
        assert ground.stored["b.md"] == memory("b", "More.")
        assert ground.shown["a.md"] == memory("a") and "The a fact." in ground.shown["b.md"]


def test_what_is_forgotten_elsewhere_goes_even_where_it_was_edited(ground: LiveGround) -> None:
    ground.begin()
    ground.push({".tombstones": FORGOTTEN, "a.md": None})
    ground.file("a.md").write_text(memory("a").replace("The a fact.", "The a fact, reworded."))
    saved = ground.save()
    assert saved.plan.buried == () or "reworded" in str(saved.plan.buried)
    assert "a.md" not in ground.stored and "a.md" not in ground.shown


# Odd files


def test_odd_files_are_named_and_nothing_else_suffers(ground: LiveGround) -> None:
    ground.write("ok", "OK")
    ground.file("latin.md").write_bytes(b"caf\xe9\n")
    ground.file("broken.md").write_text("---\nname: a: b\n  odd\n---\nBody.\n")
    for name in ("line\nbreak.md", "Memory.md", "back\\slash.md", os.fsdecode(b"bad\xff.md")):
        ground.file(name).write_text("x")
    os.mkfifo(ground.file("pipe.md"))
    ground.file("MEMORY.md").mkdir()
    long = "é" * 120
    ground.write(long)
    saved = ground.save()
    repo = ground.live.scope.repo
    kept = {path.split("/")[1] for path in list_files(repo, repo.commit(ground.tip).tree, "reviewer")}
    assert kept == {"MEMORY.md", "ok.md", "OK.md", "latin.md", "broken.md", f"{long}.md"}
    assert len(saved.problems) == 6
    ground.push({f"{long}.md": memory(long, "More.")})
    ground.save()
    assert "More." in ground.file(f"{long}.md").read_text()


def test_a_missing_base_blob_makes_a_union_not_a_loss(ground: LiveGround) -> None:
    ground.begin()
    path = record_path(ground.live.scope.state, ground.live.key)
    record = read_record(ground.live.scope.state, ground.live.key)
    assert record is not None
    path.write_text(path.read_text().replace(record.files["a.md"], "0" * 40).replace(record.base, "0" * 40))
    ground.add("a", "More.")
    ground.save()
    assert "More." in ground.stored["a.md"]


def test_a_look_writes_nothing(ground: LiveGround) -> None:
    ground.write("a")
    look(SaveRequest(ground.live, 1_900_000_000, ANN))
    assert ground.live.scope.repo.ref(ground.live.scope.ref) is None
    assert list(ground.shown) == ["a.md"]
