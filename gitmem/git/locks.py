"""One writer at a time, and no lock file of one who was killed blocks the next.

Every lock is the kernel's, which drops it however its process ends. Its file stays and says who has it.

Git and libgit2 have lock files of their own: they take `<ref>.lock`, write the new object name, and rename
it. Who is killed in between leaves the file, and every later write fails. So whoever moves a ref takes a
turn, and notes which ref and where to; git processes that work for it inherit the kernel's lock, which is
free only when all of them have ended. Who gets the turn and finds a note that nobody took back removes the
lock files of those refs that are empty yet or hold just that object name, and lie still. Any other one is
left to its owner, and to `doctor`.
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
from typing import Any

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand, GitResult
from gitmem.values import dataclass

# How far two readings of one process's start may differ: Linux gives boot time in whole seconds.
_START_TOLERANCE = 2.0

FOLDER = "gitmem"
"""Where the turns are, in the git directory."""

PATIENCE = 30.0
"""Seconds to wait at most for others' turns, each of which takes milliseconds."""

NEAR_SECONDS = 60.0
"""A move takes its lock files at once: one made later than this is somebody else's."""

LONG_SECONDS = 3600.0
"""The same for work of unknown length, such as a fetch."""

SECOND_LOOK_SECONDS = 0.1
"""A lock file that changes or goes meanwhile has an owner who lives."""

_SHORTEST, _LONGEST = 0.0002, 0.01
_NOTE_BYTES = 1 << 20
_LOCKED = ".lock"


class Locked(RepositoryError):
    """Another process is writing; it will be done soon, or nothing is to be done."""

    kind = "locked"


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, told from a later one with the same number.

    Attributes:
        pid: process number.
        start: when it started, in seconds; since boot on Linux (where the wall clock can be set meanwhile),
            since the epoch elsewhere.
    """

    pid: int
    start: float

    def __str__(self) -> str:
        return f"{self.pid} {self.start:.2f}"

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity | None:
        """Reads the first two words of a lock's body; None where they are no identity."""
        words = text.split()
        try:
            pid, start = int(words[0]), float(words[1])
        except (IndexError, ValueError):
            return None
        return cls(pid, start) if 0 < pid < 2**31 and 0 <= start < 2**40 else None


def process_identity(pid: int | None = None) -> ProcessIdentity | None:
    """Identifies a process, by default this one; None where there is none with that number."""
    number = os.getpid() if pid is None else pid
    if number == os.getpid() and (start := _own_start()) is not None:
        return ProcessIdentity(number, start)
    import psutil

    try:
        process = psutil.Process(number)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return ProcessIdentity(number, process.create_time() - (psutil.boot_time() if psutil.LINUX else 0))
    except psutil.NoSuchProcess:
        return None
    except (psutil.AccessDenied, OSError):
        # It exists but may not be looked at: nobody may call it dead.
        return ProcessIdentity(number, -1)


def _own_start() -> float | None:
    """When this process started, where Linux says so; psutil takes longer to load than most verbs run."""
    try:
        # After the program's name, in parentheses, which may hold anything. proc(5): starttime is field 22.
        told = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
        return int(told[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether that very process still runs; one with its number but another start is not it.

    In doubt it lives: a lock must never be taken from a live writer.
    """
    found = process_identity(identity.pid)
    return found is not None and (found.start < 0 or abs(found.start - identity.start) <= _START_TOLERANCE)


@contextmanager
def writer_lock(
    directory: Path, name: str, *, blocking: bool = True, timeout: float = 10.0
) -> Iterator[Path]:
    """Holds an exclusive lock among processes and threads.

    Args:
        directory: where the lock file is; made where missing.
        name: what is locked; the file is `<name>.lock`.
        blocking: whether to wait for another holder.
        timeout: seconds to wait at most.

    Yields:
        The lock file.

    Raises:
        Locked: another process has it.
        RepositoryError: the file cannot be made, or its file system has no such locks.
    """
    from filelock import FileLock, Timeout  # slow to import, and whoever only looks needs none

    path = directory / f"{name}{_LOCKED}"
    lock = FileLock(path, timeout=timeout if blocking else 0, thread_local=False)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        held = lock.acquire()
    except Timeout:
        hint = "Wait until it is done, and run it again."
        raise _held(path, ProcessIdentity.parse(_read(path)), hint) from None
    except (OSError, NotImplementedError) as error:
        raise RepositoryError(
            f"{path} cannot be locked: {getattr(error, 'strerror', None) or error}",
            "Make its folder writable for you.",
        ) from error
    with held:
        # Best effort: it only serves a message.
        with suppress(OSError), open(path, "w", encoding="ascii", opener=_no_link) as file:
            file.write(f"{_myself(os.getpid())}\n")
        yield path


def _no_link(path: str, flags: int) -> int:
    return os.open(path, flags & ~os.O_CREAT | os.O_NOFOLLOW)


def _read(path: Path) -> str:
    try:
        with open(path, "rb", opener=_no_link) as file:
            return file.read(200).decode("ascii", "replace")
    except OSError:
        return ""


class Turn:
    """The right to move refs, while it lasts."""

    def __init__(self, git_dir: Path, handle: int | None) -> None:
        self._git_dir = git_dir
        self._handle = handle

    def run(self, git: GitCommand, words: list[str], **more: Any) -> GitResult:
        """Runs git in this turn: while it lives nobody else has that, and its lock files end with it.

        Args:
            more: as for `GitCommand.run`; a failure is returned, not raised.
        """
        keep = () if self._handle is None else (self._handle,)
        try:
            done = git.run(words, check=False, keep=keep, **more)
        except BaseException:
            # Interrupted: git was ended, perhaps too soon to take its lock files back.
            self._clear_up()
            raise
        if done.returncode < 0:
            self._clear_up()
        return done

    def _clear_up(self) -> None:
        if self._handle is not None and (note := _read_note(self._handle)):
            _remove(self._git_dir, note)


@contextmanager
def ref_turn(
    git_dir: Path, names: tuple[str, ...], new: str | None, turn_of: str = "refs"
) -> Iterator[Turn]:
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
    path = git_dir / FOLDER / f"{turn_of}{_LOCKED}"
    try:
        handle = _open(path)
    except OSError:
        yield Turn(git_dir, None)
        return
    try:
        if not _take_turn(handle, path):
            yield Turn(git_dir, None)
            return
        left = _read_note(handle)
        if left is not None and not is_alive(left.who):
            _remove(git_dir, left)
        # Best effort: without the note a lock file left behind waits for `doctor`.
        with suppress(OSError):
            words = {"process": _myself(os.getpid()), "names": names, "new": new or ""}
            _write(handle, json.dumps(words))
        try:
            yield Turn(git_dir, handle)
        finally:
            os.ftruncate(handle, 0)
            fcntl.flock(handle, fcntl.LOCK_UN)
    finally:
        os.close(handle)


def locks_below(git_dir: Path, folder: str) -> list[Path]:
    """Git's lock files in a folder of a git directory, at any depth; none that a link leads out to."""
    found = [Path(top, file) for top, _, files in os.walk(git_dir / folder) for file in files]
    return [path for path in found if path.suffix == _LOCKED and not _leads_out(git_dir, path)]


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o600)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o600)


def _take_turn(handle: int, path: Path) -> bool:
    """Waits for a turn; False where there is none to be had, so that one goes on without.

    So it is on some file systems, and where what a hook of the person started outlives one who was killed.
    Not by filelock: a git process has to inherit the handle, and moves are too short for its 50 ms waits.
    """
    deadline = time.monotonic() + PATIENCE
    pause = _SHORTEST
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                break
        except OSError:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST)
    note = _read_note(handle)
    if note is not None and not is_alive(note.who):
        return False
    raise _held(path, note.who if note else None, "It is moving refs: wait until it is done, or end it.")


def _held(path: Path, holder: ProcessIdentity | None, hint: str) -> Locked:
    who = f"process {holder.pid}" if holder and is_alive(holder) else "another process"
    return Locked(f"{path} is held by {who}", hint)


def _write(handle: int, text: str) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, text.encode("ascii"), 0)


@lru_cache(maxsize=1)
def _myself(_pid: int) -> str:
    return str(process_identity())


@dataclass(frozen=True)
class _Note:
    """What one who moves refs wrote down.

    Attributes:
        who: its process.
        names, new: as given to `ref_turn`; `new` is empty for a deletion.
        written: when, in nanoseconds, by the file system's clock.
    """

    who: ProcessIdentity
    names: tuple[str, ...]
    new: str
    written: int


def _read_note(handle: int) -> _Note | None:
    try:
        words = json.loads(os.pread(handle, _NOTE_BYTES, 0) or b"{}")
        who = ProcessIdentity.parse(words["process"])
        names = tuple(map(str, words["names"]))
        if who is None or any(name.startswith("/") or ".." in name for name in names):
            return None
        return _Note(who, names, str(words["new"]), os.fstat(handle).st_mtime_ns)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _remove(git_dir: Path, note: _Note) -> None:
    """Removes the lock files that can be that move's, and that lie still."""
    seen = {path: _state(path) for path in _lock_files(git_dir, note) if _is_of(note, path)}
    if not seen:
        return
    time.sleep(SECOND_LOOK_SECONDS)
    for path, state in seen.items():
        if _state(path) == state:
            with suppress(OSError):
                path.unlink()


def _lock_files(git_dir: Path, note: _Note) -> list[Path]:
    """Files that a move may have left, the one that others wait for last."""
    deletes = note.new in ("", "*") and any(name.startswith("refs/") for name in note.names)
    found = [git_dir / "packed-refs.new", git_dir / "packed-refs.lock"] if deletes else []
    for name in note.names:
        below = name.endswith("/")
        found += locks_below(git_dir, name) if below else [git_dir / f"{name}{_LOCKED}"]
    return [path for path in found if not _leads_out(git_dir, path)]


def _leads_out(git_dir: Path, path: Path) -> bool:
    return any(parent.is_symlink() for parent in path.parents if git_dir in parent.parents)


def _is_of(note: _Note, path: Path) -> bool:
    """Whether a lock file was made while that move lasted, and says nothing else."""
    state = _state(path)
    longest = LONG_SECONDS if note.new == "*" else NEAR_SECONDS
    if state is None or not 0 <= state[2] - note.written <= longest * 1e9:
        return False
    if note.new == "*" or path.name == "packed-refs.new" or state[1] == 0:
        return True
    with suppress(OSError), path.open("rb") as file:
        # Git writes the name and the end of its line by two calls.
        return file.read(len(note.new) + 2) in (note.new.encode(), f"{note.new}\n".encode())
    return False


def _state(path: Path) -> tuple[int, int, int] | None:
    """Inode, size and modification time in nanoseconds of a regular file; None for anything else."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None
