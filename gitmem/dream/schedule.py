"""Whether it is time to dream, and the lock that one dream of a memory ref holds.

Gates, the cheapest first, so that the answer mostly costs one stat. `.consolidate-lock` holds
`pid start-time prior-mtime` while a dream runs and nothing between dreams; its modification time is when
memory was last consolidated. One that failed or was killed is as if it had never begun: the time before is
put back. It is not begun again at once (`ledger.failures`): else a worker would ask a model that cannot
answer after every session.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import parse
from gitmem.git.locks import Locked, ProcessIdentity, is_alive, process_identity, writer_lock
from gitmem.ledger import failures
from gitmem.ledger.dreams import dreams_of
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import Scope

FILE = ".consolidate-lock"
STALE_SECONDS = 3_600.0
"""Age at which a lock is taken over even from a process that lives."""


@dataclass(frozen=True)
class HeldLock:
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
) -> Iterator[HeldLock]:
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


def _take(path: Path, now: float, alive: Callable[[ProcessIdentity], bool]) -> HeldLock:
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
        held = HeldLock(path, f"{process_identity()} {before:.6f}", before)
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


def _release(held: HeldLock, time: float) -> None:
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


DAY = 86_400.0
SESSIONS = 5
SCAN_SECONDS = 600.0

_COUNTED = Space("dream sessions", 100)
"""By memory ref, how many sessions there were since the last dream, and when they were counted."""

CountSessions = Callable[[float], int]
"""How many sessions were written to after a time (epoch seconds), the present one not counted."""


@dataclass(frozen=True)
class Gate:
    """A gate that holds.

    Attributes:
        name: `enabled`, `day`, `failed`, `sessions`, `open`, `accepted`, `client` or `lock`.
        reason: why, for a person.
        until: when it may open, seconds since the epoch; None where that depends on more than time.
    """

    name: str
    reason: str
    until: float | None = None


@dataclass(frozen=True)
class GateInput:
    """What the gates are asked with.

    Attributes:
        enabled: the setting `gitmem.dream`.
        now: seconds since the epoch.
        count: counts sessions; called at most every ten minutes.
        folders: finds live directories of the scope, where a client may hold a lock of its own.
        force: pass all gates but the locks.
        wanted: somebody asked for this dream, so that one which failed is tried again at once.
    """

    scope: Scope
    enabled: bool
    now: float
    count: CountSessions
    folders: Callable[[], Iterable[Path]] = tuple
    force: bool = False
    wanted: bool = False


def first_gate(asked: GateInput) -> Gate | None:
    """The first gate that holds, or None where it is time to dream."""
    if not asked.force:
        gate = _enabled(asked) or _day(asked) or _failed(asked) or _sessions(asked) or _project(asked)
        if gate:
            return gate
    return _client(asked) or _lock(asked)


def _enabled(asked: GateInput) -> Gate | None:
    if asked.enabled:
        return None
    return Gate("enabled", "dreams are switched off: gitmem.dream is false")


def _day(asked: GateInput) -> Gate | None:
    last = last_dream(asked.scope)
    if not _within_day(last, asked.now):
        return None
    # That may be the time at which one began that still goes on, or died.
    last = prior_of(asked.scope)
    if not _within_day(last, asked.now):
        return _lock(asked)
    return Gate("day", "the last dream was less than 24 hours ago", last + DAY)


def _within_day(time: float, now: float) -> bool:
    # A time in the future is a clock that was set back, and must not hold for longer.
    return 0 <= now - time < DAY


def _failed(asked: GateInput) -> Gate | None:
    scope = asked.scope
    rest = None if asked.wanted else failures.rest_of(scope.state, "dream", scope.ref, asked.now)
    return Gate("failed", f"the last dream did not end: {rest.why}", rest.until) if rest else None


def _sessions(asked: GateInput) -> Gate | None:
    last = prior_of(asked.scope)
    if last > asked.now:
        # By a clock that was set back since: no session is younger than that.
        last = 0.0
    scanned, since, number = _noted(asked.scope)
    if since != last or not scanned <= asked.now < scanned + SCAN_SECONDS:
        scanned, number = asked.now, asked.count(last)
        # Best effort: without the note the sessions are counted again.
        fields = {"scanned": scanned, "since": last, "sessions": number}
        _COUNTED.put(asked.scope.state, asked.scope.ref, fields)
    if number >= SESSIONS:
        return None
    reason = f"{number} of {SESSIONS} sessions since the last dream"
    return Gate("sessions", reason, scanned + SCAN_SECONDS)


def _project(asked: GateInput) -> Gate | None:
    """A team reviews one dream at a time, and rests a day after each."""
    if asked.scope.name != "project":
        return None
    # A question that nobody answers holds up nothing.
    waiting = [one for one in dreams_of(asked.scope) if not all(change.asks for change in one.open)]
    if waiting:
        return Gate("open", f"dream {waiting[0].id} waits for review")
    accepted = accepted_at(asked.scope, asked.now - DAY)
    if _within_day(accepted, asked.now):
        return Gate("accepted", "a dream was accepted less than 24 hours ago", accepted + DAY)
    return None


def accepted_at(scope: Scope, since: float) -> float:
    """When a dream was last accepted, by the trailers of the memory ref; 0 for not since then."""
    tip = scope.repo.ref(scope.ref)
    if tip is None:
        return 0.0
    for commit in scope.repo.history(tip):
        if commit.committer.time <= since:
            break
        provenance = parse(commit.message)
        if provenance.writer == "dream" and provenance.reviewed:
            return float(commit.committer.time)
    return 0.0


def _client(asked: GateInput) -> Gate | None:
    """A client that consolidates a live directory itself is not disturbed, and its lock never written."""
    young = [time for time in _times(asked.folders()) if 0 <= asked.now - time < STALE_SECONDS]
    if not young:
        return None
    reason = "the agent's own client consolidates this memory, or did within the hour"
    return Gate("client", reason, max(young) + STALE_SECONDS)


def _lock(asked: GateInput) -> Gate | None:
    process = holder(asked.scope, asked.now)
    return Gate("lock", f"process {process.pid} is dreaming") if process else None


def _times(folders: Iterable[Path]) -> list[float]:
    found = []
    for folder in folders:
        try:
            found.append((folder / FILE).lstat().st_mtime)
        except OSError:
            continue
    return found


def _noted(scope: Scope) -> tuple[float, float, int]:
    fields = _COUNTED.get(scope.state, scope.ref)
    try:
        return float(fields["scanned"]), float(fields["since"]), int(fields["sessions"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return 0.0, -1.0, 0
