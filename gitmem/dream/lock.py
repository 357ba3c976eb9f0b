"""The lock of a dream, one for each memory ref; its modification time is when memory was last consolidated.

`.consolidate-lock` holds `pid start-time prior-mtime` while a dream runs and nothing between dreams. One
that failed or was killed is as if it had never begun: the time before is put back. It is not begun again at
once (`ledger.failures`): else a worker would ask a model that cannot answer after every session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gitmem.core.errors import RepositoryError
from gitmem.git.locks import Locked, ProcessIdentity, is_alive, process_identity, writer_lock
from gitmem.ledger.workspace import Scope

FILE = ".consolidate-lock"
STALE_SECONDS = 3_600.0
"""Age at which a lock is taken over even from a process that lives (design.md section 8)."""


@dataclass(frozen=True)
class Held:
    """A lock that this process took.

    Attributes:
        body: what it wrote there; another body means that the lock was taken over.
        prior: modification time before, seconds since the epoch; 0 where there was no file.
    """

    path: Path
    body: str
    prior: float

    def is_ours(self) -> bool:
        """Whether nobody took it over."""
        return _read(self.path) == self.body


def lock_folder(scope: Scope) -> Path:
    """Where the lock of a scope's memory ref is, and what else its dreams note down."""
    return scope.state / "dream" / quote(scope.ref, safe="")


def last_dream(scope: Scope) -> float:
    """When memory was last consolidated, seconds since the epoch; 0 for never. One look at the file."""
    return _mtime(lock_folder(scope) / FILE)


def prior_of(scope: Scope) -> float:
    """The same, past a dream that goes on or has died: the time that it would put back."""
    path = lock_folder(scope) / FILE
    identity, prior = _parse(_read(path))
    return prior if identity else _mtime(path)


def holder(scope: Scope, now: float) -> ProcessIdentity | None:
    """The process that is dreaming, if one is: it lives and took the lock less than an hour ago."""
    fresh = now - _mtime(lock_folder(scope) / FILE) < STALE_SECONDS
    return taker(scope) if fresh else None


def taker(scope: Scope) -> ProcessIdentity | None:
    """The process that took the lock and lives, however long ago that was; None where there is none."""
    identity, _ = _parse(_read(lock_folder(scope) / FILE))
    return identity if identity and is_alive(identity) else None


def give_back(scope: Scope, dead: ProcessIdentity) -> bool:
    """Releases the lock of a process that ended without doing so, as if its dream had never begun.

    Returns:
        Whether the lock was still that process's, and it is dead.
    """
    path = lock_folder(scope) / FILE
    with writer_lock(path.parent, "taking"):
        identity, prior = _parse(_read(path))
        if identity != dead or is_alive(dead):
            return False
        _restore(path, prior)
    return True


@contextmanager
def consolidation_lock(
    scope: Scope, now: float, alive: Callable[[ProcessIdentity], bool] = is_alive
) -> Iterator[Held]:
    """Holds the lock; success moves its time to now, failure puts the time back that it had.

    Args:
        now: seconds since the epoch.
        alive: whether a process still runs.

    Raises:
        Locked: another process is dreaming.
        RepositoryError: the lock cannot be written.
    """
    path = lock_folder(scope) / FILE
    held = _take(path, now, alive)
    try:
        yield held
    except BaseException:
        _release(held, held.prior)
        raise
    _release(held, now)


def _take(path: Path, now: float, alive: Callable[[ProcessIdentity], bool]) -> Held:
    # The kernel's lock closes the gap between looking and writing.
    with writer_lock(path.parent, "taking"):
        identity, prior = _parse(_read(path))
        if identity is not None:
            if now - _mtime(path) < STALE_SECONDS and alive(identity):
                raise Locked(
                    f"{path}: process {identity.pid} is dreaming", "Wait, or end it: git mem dream kill"
                )
            _restore(path, prior)
        before = _mtime(path)
        held = Held(path, f"{process_identity()} {before:.6f}", before)
        try:
            # What was written aside by one that was killed. Of the lock nobody else can be at it now, and
            # of a note (`.<name>.json.…`) the loss is borne.
            for left in (*path.parent.glob(f"{FILE}.*"), *path.parent.glob(".*.json.*")):
                with suppress(IsADirectoryError, PermissionError):
                    left.unlink(missing_ok=True)
            _replace(path, held.body, now)
        except OSError as error:
            raise RepositoryError(
                f"{path} cannot be written: {error.strerror}", "Make its folder writable for you."
            ) from error
        if not held.is_ours():
            raise Locked(f"{path}: another process took it", "Wait until it is done.")
        return held


def _release(held: Held, time: float) -> None:
    with writer_lock(held.path.parent, "taking"):
        if held.is_ours():
            _restore(held.path, time)


def _restore(path: Path, time: float) -> None:
    """An empty lock with this time; none at all for 0."""
    if time:
        _replace(path, "", time)
    else:
        path.unlink(missing_ok=True)


def _replace(path: Path, body: str, time: float) -> None:
    # Truncating first would lose the prior time if this process died between the two.
    aside = path.with_name(f"{FILE}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    # Made anew, so that nothing is written through a link that stands there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(aside, flags, 0o600), "w", encoding="ascii") as file:
        file.write(body)
    os.utime(aside, (time, time))
    os.replace(aside, path)


def _parse(body: str) -> tuple[ProcessIdentity | None, float]:
    """Who holds it and the time before; nobody for an empty or damaged lock."""
    words = body.split()
    try:
        prior = float(words[2])
    except (IndexError, ValueError):
        return None, 0.0
    # Anything else is no time that a file can have.
    return (ProcessIdentity.parse(body), prior) if 0 <= prior < 2**40 else (None, 0.0)


def read_note(path: Path, limit: int) -> bytes:
    """Reads a small file beside the lock; empty where it is missing or no file, cut at `limit` bytes."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags), "rb") as file:
            return file.read(limit) or b""
    except OSError:
        return b""


def _read(path: Path) -> str:
    return read_note(path, 200).decode("ascii", "replace")


def _mtime(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
