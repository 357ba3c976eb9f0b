"""One ref move at a time in a repository, and no lock file of one who died at it blocks the next.

Git and libgit2 take `<ref>.lock`, write it and rename it. Who is killed in between leaves it, and every
later write fails. So whoever moves a ref holds a kernel lock and notes which ref; git processes that work
for it hold the same lock, which is free only when all of them have ended. Who gets it and finds a note
that nobody took back knows whose the lock files of that ref are. Any other lock file is left to its owner.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from gitmem.store.locks import Locked, ProcessIdentity, is_alive, process_identity
from gitmem.values import dataclass

FOLDER = "gitmem"
"""Where the turns are, in the git directory."""

PATIENCE = 30.0
"""Seconds to wait at most for others, each of whom takes milliseconds."""

NEAR_SECONDS = 60.0
"""A move takes its lock files at once: one made later than this is somebody else's."""

LONG_SECONDS = 3600.0
"""The same for work of unknown length, such as a fetch."""

SECOND_LOOK_SECONDS = 0.1
"""A lock file that changes or goes meanwhile has an owner who lives."""

OURS = ("refs/gitmem", "refs/heads/gitmem", "refs/remotes")
"""Where a code repository's lock files may be gitmem's."""

BESIDE = ("packed-refs.lock", "packed-refs.new", "config.lock", "reftable/tables.list.lock")
"""What git locks in place of a ref or along with it."""

_SHORTEST, _LONGEST = 0.0002, 0.01
_NOTE_BYTES = 65_536
_LOCKED = ".lock"


@dataclass(frozen=True)
class Note:
    """What one who moves refs wrote down.

    Attributes:
        who: its process.
        names: files that git locks for it, from the git directory: refs, `HEAD`, `config`; one that ends in
            a slash stands for all below it.
        new: what a lock file may hold: the object name the ref moves to, empty for a deletion, `*` for any.
        written: when, in nanoseconds, by the file system's clock.
    """

    who: ProcessIdentity
    names: tuple[str, ...]
    new: str
    written: int


@dataclass(frozen=True)
class LeftOver:
    """A lock file of git that may have no owner any more.

    Attributes:
        age: seconds since it was last written to.
        whose: the process that gitmem's own notes give for it; None where they say nothing.
    """

    path: Path
    age: float
    whose: ProcessIdentity | None


class Turn:
    """The right to move refs, while it lasts."""

    def __init__(self, git_dir: Path, handle: int | None) -> None:
        self._git_dir = git_dir
        self._handle = handle

    @property
    def keep(self) -> tuple[int, ...]:
        """File handles for a git process that does the work: while it lives, nobody else has the turn."""
        return () if self._handle is None else (self._handle,)

    def clear_up(self) -> None:
        """Removes the lock files of a git process that worked in this turn and was killed."""
        note = _read(self._handle) if self._handle is not None else None
        if note is not None:
            _remove(self._git_dir, note)


@contextmanager
def moving(git_dir: Path, names: tuple[str, ...], new: str | None, turn_of: str = "refs") -> Iterator[Turn]:
    """Takes the turn to move refs, after clearing up what a process that died in its own left.

    Where no kernel lock can be had (a read-only folder, some network file systems) it goes on without one.

    Args:
        git_dir: the common git directory.
        names: files that git locks for it, from the git directory: refs, `HEAD`, `config`; one that ends in
            a slash stands for all below it.
        new: object name that the ref moves to, None for a deletion, `*` where it is not known.
        turn_of: what waits for what: work that takes long has turns of its own.

    Raises:
        Locked: others had it all the time.
    """
    path = git_dir / FOLDER / f"{turn_of}.lock"
    try:
        handle = _open(path)
    except OSError:
        yield Turn(git_dir, None)
        return
    try:
        locked = _lock(handle, path)
        turn = Turn(git_dir, handle if locked else None)
        if not locked:
            yield turn
            return
        left = _read(handle)
        if left is not None and not is_alive(left.who):
            _remove(git_dir, left)
        _write(handle, names, new)
        try:
            yield turn
        finally:
            os.ftruncate(handle, 0)
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def left_over_locks(git_dir: Path, now: float, *, every_ref: bool = False) -> tuple[LeftOver, ...]:
    """Lock files of git on memory refs and on what is written along with them, oldest first.

    One that a git process holds right now is among them: look again, and at the age, before removing any.

    Args:
        git_dir: the common git directory.
        now: seconds since the epoch.
        every_ref: all refs are gitmem's, as in the private repository.
    """
    notes = [note for path in sorted((git_dir / FOLDER).glob(f"*{_LOCKED}")) if (note := _note_in(path))]
    roots = ("refs",) if every_ref else OURS
    found = {path for root in roots for path in _locks_below(git_dir / root)}
    if not every_ref:
        found = {path for path in found if "gitmem" in path.relative_to(git_dir).parts}
        found |= {path for root in OURS[:2] if (path := git_dir / f"{root}{_LOCKED}").is_file()}
    found |= {git_dir / name for name in BESIDE}
    if every_ref:
        found.add(git_dir / "HEAD.lock")
    listed = []
    for path in found:
        state = _state(path)
        if state is not None and not _linked(git_dir, path):
            owners = [note.who for note in notes if _explains(git_dir, note, path)]
            listed.append(LeftOver(path, now - state[2] / 1e9, owners[0] if owners else None))
    return tuple(sorted(listed, key=lambda one: (-one.age, str(one.path))))


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)


def _lock(handle: int, path: Path) -> bool:
    """Waits for the kernel's lock; False where there is none to be had.

    So it is on some file systems, and where what a hook of the person started outlives one who was killed.
    """
    # Not by filelock: a git process has to inherit the handle, and moves are too short for its 50 ms waits.
    deadline = time.monotonic() + PATIENCE
    pause = _SHORTEST
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > deadline:
                note = _read(handle)
                if note is not None and not is_alive(note.who):
                    return False
                who = f"process {note.who.pid}" if note else "another process"
                raise Locked(
                    f"{path} is held by {who}, which is moving refs", "Wait until it is done, or end it."
                ) from None
            time.sleep(pause)
            pause = min(pause * 1.5, _LONGEST)
        except OSError:
            return False


def _write(handle: int, names: tuple[str, ...], new: str | None) -> None:
    # Best effort: without the note a lock file left behind waits for `doctor`.
    words = {"process": _myself(os.getpid()), "names": names, "new": new or ""}
    with suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(words).encode("ascii"), 0)


@lru_cache(maxsize=1)
def _myself(_pid: int) -> str:
    return str(process_identity())


def _note_in(path: Path) -> Note | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _read(handle)
    finally:
        os.close(handle)


def _read(handle: int) -> Note | None:
    try:
        data = os.pread(handle, _NOTE_BYTES, 0)
        if not data:
            return None
        words = json.loads(data)
        who = ProcessIdentity.parse(words["process"])
        names = tuple(map(str, words["names"]))
        if who is None or any(name.startswith("/") or ".." in name for name in names):
            return None
        return Note(who, names, str(words["new"]), os.fstat(handle).st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _remove(git_dir: Path, note: Note) -> None:
    """Removes the lock files that a note explains and that lie still."""
    seen = {path: _state(path) for path in _lock_files(git_dir, note) if _explains(git_dir, note, path)}
    if not seen:
        return
    time.sleep(SECOND_LOOK_SECONDS)
    for path, state in seen.items():
        if _state(path) == state:
            with suppress(OSError):
                path.unlink()


def _lock_files(git_dir: Path, note: Note) -> list[Path]:
    """Files that a move may have left, the one that others wait for last."""
    deletes = note.new in ("", "*") and any(name.startswith("refs/") for name in note.names)
    found = [git_dir / "packed-refs.new", git_dir / "packed-refs.lock"] if deletes else []
    for name in note.names:
        below = name.endswith("/")
        found += _locks_below(git_dir / name) if below else [git_dir / f"{name}{_LOCKED}"]
    return [path for path in found if not _linked(git_dir, path)]


def _locks_below(folder: Path) -> list[Path]:
    return [
        Path(top, file) for top, _, files in os.walk(folder) for file in files if file.endswith(_LOCKED)
    ]


def _linked(git_dir: Path, path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if git_dir in parent.parents)


def _explains(git_dir: Path, note: Note, path: Path) -> bool:
    """Whether a lock file can be that move's: made while it lasted, and with nothing else in it."""
    if path not in _lock_files(git_dir, note):
        return False
    state = _state(path)
    longest = LONG_SECONDS if note.new == "*" else NEAR_SECONDS
    if state is None or not 0 <= state[2] - note.written <= longest * 1e9:
        return False
    return note.new == "*" or path.name == "packed-refs.new" or _holds(path, note.new)


def _holds(path: Path, new: str) -> bool:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    with os.fdopen(handle, "rb") as file:
        return f"{new}\n".encode().startswith(file.read(len(new) + 2))


def _state(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and modification time in nanoseconds of a regular file; None for anything else."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None
