"""Sessions that were recorded before gitmem was set up: looked through once, when the person says so.

It is extraction as by hand, one session after another, the newest first, and by the offline rules whatever
engine is in force: nothing of old sessions is sent anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gitmem.core.errors import RepositoryError
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.extract.run import Context, Outcome, extract_sessions
from gitmem.flows.extract.sessions import news
from gitmem.ledger.suggestions import Suggestion, digest, open_suggestions
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts import discover
from gitmem.transcripts.cursor import PASSED_OVER, Cursor, cursor_name
from gitmem.transcripts.model import SessionFile

PATIENCE = 60.0
"""Seconds after which no further session is begun: somebody waits."""

SHOWN = 5
"""Finds that are shown at once, the best ones; the others wait in review."""


@dataclass(frozen=True)
class Lookback:
    """What came of it.

    Attributes:
        looked: sessions that were looked through, of all that there are.
        stored: descriptions of what was plainly asked to be remembered, and is stored.
        best: finds that wait, the likeliest first, at most `SHOWN`.
        more: how many others wait.
    """

    looked: int
    stored: tuple[str, ...] = ()
    best: tuple[Suggestion, ...] = ()
    more: int = 0


def unread(
    workspace: Workspace, recorded: Sequence[SessionFile], since: float = 0.0
) -> tuple[SessionFile, ...]:
    """Picks out recorded sessions with something that was never looked at, newest first.

    Args:
        recorded: the sessions of the repository, oldest change first.
        since: sessions whose last change is older are left out; epoch seconds.
    """
    files = [file for file in recorded if file.mtime_ns / 1e9 >= since]
    fresh = {one.source.path for one in news(workspace, [file.path for file in files])}
    return tuple(file for file in reversed(files) if file.path in fresh)


def look_back(
    context: Context,
    files: Sequence[SessionFile],
    tell: Callable[[str], None],
    clock: Callable[[], float],
) -> Lookback:
    """Looks through sessions until all are done, time is up, or the person interrupts; it can go on later.

    Args:
        context: by hand.
        files: as `unread` lists them.
        tell: is told of each session before it is looked at.
        clock: gives seconds that only grow.

    Raises:
        RepositoryError: a ref cannot be written; what was found until then is kept.
        Locked: another extraction is under way.
    """
    end = clock() + PATIENCE
    done: list[Outcome] = []
    looked = 0
    try:
        for file in files:
            if clock() >= end:
                break
            tell(f"looking through session {looked + 1} of {len(files)} (Ctrl-C ends it)")
            done += extract_sessions(context, OfflineEngine(), [file.path])
            looked += 1
    except KeyboardInterrupt:
        # Each session is whole or untouched: what the others brought is shown.
        pass
    found = {digest(one.change) for outcome in done for one in outcome.parked}
    waiting = [one for one in open_suggestions(context.workspace) if digest(one.change) in found]
    waiting.sort(key=lambda one: -one.change.confidence)
    return Lookback(
        looked,
        tuple(placed.change.description for outcome in done for placed, _, _ in outcome.stored),
        tuple(waiting[:SHOWN]),
        len(waiting[SHOWN:]),
    )


def pass_over(workspace: Workspace, files: Sequence[SessionFile]) -> None:
    """Leaves sessions alone for good, as far as they were recorded: the person does not want them read."""
    for file in files:
        with suppress(RepositoryError):
            end = discover.size_of(file.path)
            cursors.save(cursors.folder(workspace.state), Cursor(cursor_name(file.path), end, PASSED_OVER))
