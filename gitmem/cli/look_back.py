"""The end of `git mem init`: sessions recorded before, looked through where the person says so."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gitmem.cli.context import CommandContext
from gitmem.cli.output import Progress
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.text import counted
from gitmem.flows.sessions import sessions_here
from gitmem.ledger.workspace import Workspace

if TYPE_CHECKING:
    from gitmem.flows.extraction import Lookback
    from gitmem.ledger.suggestions import Suggestion
    from gitmem.transcripts.model import SessionFile


def since_when(given: str) -> float:
    """The moment that `--since` names, epoch seconds; the beginning of time where it names none.

    Raises:
        UsageError: it is no date.
    """
    if not given:
        return 0.0
    try:
        moment = datetime.fromisoformat(given)
    except ValueError:
        raise UsageError(f"{given!r} is no date", "Say --since 2026-09-01") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def recorded_before(run: CommandContext, workspace: Workspace, since: float) -> tuple[SessionFile, ...]:
    """Recorded sessions with something that was never looked at, newest first; arguments as for `offer`."""
    files = sessions_here(workspace, run.edges)
    if not files:
        return ()
    from gitmem.flows.extraction import unread  # the rules of extraction take half a second to load

    return unread(workspace, files, since)


def offer(run: CommandContext, workspace: Workspace, since: float) -> None:
    """Asks whether old sessions are to be looked through, does it, and lets the best finds be accepted.

    Where nobody can answer, nothing is done here: the worker comes to them in its own time. After a no it
    does not, either.
    """
    files = recorded_before(run, workspace, since)
    if not files or not (run.out.yes or sys.stdin.isatty()):
        return
    from gitmem.flows.extraction import context_of, look_back, pass_over

    try:
        run.out.ask(f"{counted(len(files), 'recorded session')} of before: look through them now?")
    except CheckFailed:
        pass_over(workspace, files)
        run.out.say("they are skipped, as far as they were recorded until now")
        return
    try:
        with Progress(quiet=run.out.silent) as progress:
            by_hand = context_of(workspace, run.edges, by_hand=True)
            found = look_back(by_hand, files, progress, time.monotonic)
    except GitmemError as error:
        run.out.warn(f"the sessions are not looked through now: {error.message}")
        return
    _show(run, files, found)
    if found.best and not run.out.yes:
        _accept(run, workspace, found.best)


def _show(run: CommandContext, files: Sequence[SessionFile], found: Lookback) -> None:
    out, left = run.out, len(files) - found.looked
    rest = f"; {left} left for the worker" if left else ""
    out.say(f"looked through {counted(found.looked, 'session')}{rest}")
    for description in found.stored:
        out.data(f"stored, as it was asked for: {description}")
    for number, one in enumerate(found.best, 1):
        said = f", {one.change.origin.time:%Y-%m-%d}" if one.change.origin.time else ""
        out.data(f"{number}  {one.change.description}  ({one.change.type}{said}, {one.id})")
    if found.more or (found.best and out.yes):
        waits = f"{found.more} more wait" if found.more else "they wait"
        out.say(f"{waits}: git mem review")


def _accept(run: CommandContext, workspace: Workspace, best: Sequence[Suggestion]) -> None:
    """Stores those whose numbers the person gives; the others go on waiting."""
    from gitmem.flows.suggestions import accept_suggestions

    answer = run.out.answer("Which are true and worth keeping? Numbers, all, or none: ").lower()
    words = answer.replace(",", " ").split()
    numbers = (
        set(range(1, len(best) + 1)) if words == ["all"] else {int(one) for one in words if one.isdecimal()}
    )
    chosen = [one for number, one in enumerate(best, 1) if number in numbers]
    for each in accept_suggestions(workspace, run.edges, chosen):
        if each.error is not None:
            run.out.warn(f"{each.one.id} still waits: {each.error.message}")
        else:
            run.out.data(f"stored {each.one.change.description}")
    if len(numbers & set(range(1, len(best) + 1))) < len(best):
        run.out.say("decide on the others: git mem review")
