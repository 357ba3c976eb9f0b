"""Whether it is time to dream: gates, the cheapest first, so that the answer mostly costs one stat."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from gitmem.core.daily_log import day_of, facts
from gitmem.core.names import is_agent_folder
from gitmem.core.trailers import parse
from gitmem.dream.lock import (
    FILE,
    STALE_SECONDS,
    holder,
    last_dream,
    prior_of,
)
from gitmem.git.repository import TREE, MissingObject, Repository
from gitmem.git.trees import list_files
from gitmem.ledger import failures
from gitmem.ledger.dreams import dreams_of
from gitmem.ledger.state import Space, of_folder
from gitmem.ledger.workspace import Scope

# Numbers of design.md section 8.
DAY = 86_400.0
SESSIONS = 5
SCAN_SECONDS = 600.0

_COUNTED = Space("dream sessions", 100, ("dream/*/sessions.json",), of_folder)
"""By memory ref, how many sessions there were since the last dream, and when they were counted."""

CountSessions = Callable[[float], int]
"""How many sessions were written to after a time (epoch seconds), the present one not counted."""

MOST_LOGS = 60
"""Logs that are looked into, the newest of each agent."""


def nothing_logged(since: float) -> int:  # noqa: ARG001 - the type's
    """Knows of no logs."""
    return 0


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
class Asked:
    """What the gates are asked with.

    Attributes:
        enabled: the setting `gitmem.dream`.
        now: seconds since the epoch.
        count: counts sessions; called at most every ten minutes.
        logged: counts facts of daily logs since a time; asked as seldom.
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
    logged: CountSessions = nothing_logged


def first_gate(asked: Asked) -> Gate | None:
    """The first gate that holds, or None where it is time to dream."""
    if not asked.force:
        gate = _enabled(asked) or _day(asked) or _failed(asked) or _sessions(asked) or _project(asked)
        if gate:
            return gate
    return _client(asked) or _lock(asked)


def _enabled(asked: Asked) -> Gate | None:
    if asked.enabled:
        return None
    return Gate("enabled", "dreams are switched off: gitmem.dream is false")


def _day(asked: Asked) -> Gate | None:
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


def _failed(asked: Asked) -> Gate | None:
    scope = asked.scope
    rest = None if asked.wanted else failures.held(scope.state, "dream", scope.ref, asked.now)
    return Gate("failed", f"the last dream did not end: {rest.why}", rest.until) if rest else None


def _sessions(asked: Asked) -> Gate | None:
    last = prior_of(asked.scope)
    if last > asked.now:
        # By a clock that was set back since: no session is younger than that.
        last = 0.0
    scanned, since, number, facts = _noted(asked.scope)
    if since != last or not scanned <= asked.now < scanned + SCAN_SECONDS:
        # A fact of a log waits to be made a memory of, as a session does to be learned from.
        scanned, number, facts = asked.now, asked.count(last), asked.logged(last)
        _note(asked.scope, scanned, last, number, facts)
    if number + facts >= SESSIONS:
        return None
    what = " and logged facts" if facts else ""
    reason = f"{number + facts} of {SESSIONS} sessions{what} since the last dream"
    return Gate("sessions", reason, scanned + SCAN_SECONDS)


def _project(asked: Asked) -> Gate | None:
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


def _client(asked: Asked) -> Gate | None:
    """A client that consolidates a live directory itself is not disturbed, and its lock never written."""
    young = [time for time in _times(asked.folders()) if 0 <= asked.now - time < STALE_SECONDS]
    if not young:
        return None
    reason = "the agent's own client consolidates this memory, or did within the hour"
    return Gate("client", reason, max(young) + STALE_SECONDS)


def _lock(asked: Asked) -> Gate | None:
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


def _noted(scope: Scope) -> tuple[float, float, int, int]:
    fields = _COUNTED.get(scope.state, scope.ref)
    try:
        counts = int(fields["sessions"]), int(fields["facts"])
        return float(fields["scanned"]), float(fields["since"]), *counts
    except (ValueError, KeyError, TypeError, OverflowError):
        return 0.0, -1.0, 0, 0


def _note(scope: Scope, scanned: float, since: float, number: int, facts: int) -> None:
    # Best effort: without the note the sessions are counted again.
    fields = {"scanned": scanned, "since": since, "sessions": number, "facts": facts}
    _COUNTED.put(scope.state, scope.ref, fields)


def logged_since(scope: Scope, since: float, enough: int) -> int:
    """Counts the facts that daily logs hold since a time.

    Args:
        since: epoch seconds; 0 for never.
        enough: at which counting ends.
    """
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None:
        return 0
    first = datetime.fromtimestamp(max(0.0, since), UTC)
    number = 0
    try:
        for agent, entry in repo.tree(repo.commit(tip).tree).items():
            if entry.mode != TREE or not is_agent_folder(agent):
                continue
            folder = repo.tree(entry.oid).get("logs")
            if folder is None or folder.mode != TREE:
                continue
            for path, blob in islice(_newest(repo, f"{agent}/logs", folder.oid), MOST_LOGS):
                day = day_of(path)
                if day is None or day < first.date():
                    break
                number += sum(line.when > first for _, line in facts(path, repo.blob(blob)))
                if number >= enough:
                    return number
    except MissingObject:
        return number
    return number


def _newest(repo: Repository, lead: str, tree: str) -> list[tuple[str, str]]:
    """Path and blob of the logs below a folder, the newest first."""
    found = [(f"{lead}/{path}", oid) for path, oid in list_files(repo, tree).items()]
    return sorted(found, key=lambda one: one[0].rpartition("/")[2], reverse=True)
