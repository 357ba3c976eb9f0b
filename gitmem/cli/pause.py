"""`git mem pause` and `unpause`: nothing is learned from sessions for a while, and then again."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Json, Quiet
from gitmem.cli.output import day, iso
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.flows import pause as pausing

UNITS = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
LONGEST = 3_650 * 86_400


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(pause)


def pause(
    ctx: typer.Context,
    length: Annotated[
        str,
        typer.Option("--for", metavar="TIME", help="End it then, e.g. 2h, 1h30m, 3d.", show_default=False),
    ] = "",
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Stops learning from sessions of this repository, until `git mem unpause` or for the time given.

    What is said meanwhile is never extracted, not later either. All else goes on: recall answers, what
    agents and people write into memory files is saved, sync runs, `git mem remember` and `Remember:` in a
    commit of yours store what they say.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    state, now, out = run.workspace.state, run.edges.now, run.out
    until = now + seconds(length) if length else None
    before = pausing.current(state, now)
    same = before is not None and before.end == until
    if not (dry_run or same):
        try:
            pausing.pause(state, now, until)
        except OSError as error:
            raise RepositoryError(f"{state / pausing.FILE} cannot be written: {error.strerror}") from error
    since = before.start if before else now
    if out.as_json:
        out.json(
            {
                "paused": True,
                "since": iso(since),
                "until": iso(until) if until else None,
                "changed": not same,
                "dry_run": dry_run,
            }
        )
        return
    ends = f"until {day(until)}" if until else "until git mem unpause"
    if same:
        out.data(f"paused already, since {day(since)}, {ends}")
    elif dry_run:
        out.data(f"would learn nothing from sessions here {ends}")
    else:
        out.data(f"nothing is learned from sessions here {ends}")
        out.say(f"undo: {_undo(before, now)}")


def unpause(
    ctx: typer.Context, dry_run: DryRun = False, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Learns from sessions of this repository again, from now on.

    What was said during the pause stays out.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    state, now, out = run.workspace.state, run.edges.now, run.out
    try:
        held = pausing.current(state, now) if dry_run else pausing.unpause(state, now)
    except OSError as error:
        raise RepositoryError(f"{state / pausing.FILE} cannot be written: {error.strerror}") from error
    if out.as_json:
        value = {"paused": False, "since": iso(held.start) if held else None, "dry_run": dry_run}
        out.json(value | {"changed": held is not None})
    elif held is None:
        out.data("nothing is paused here")
    elif dry_run:
        out.data("would learn from sessions here again")
    else:
        out.data(f"sessions are learned from again; what was said since {day(held.start)} stays out")
        out.say(f"undo: {'git mem pause' if held.end is None else _for(held.end - now)}")


def seconds(length: str) -> int:
    """Reads a length of time such as `1h30m`.

    Raises:
        UsageError: it is none, or longer than ten years.
    """
    text = length.strip().lower()
    parts = re.findall(r"([0-9]{1,9})([dhms])", text)
    total = sum(int(number) * UNITS[unit] for number, unit in parts)
    if "".join(number + unit for number, unit in parts) != text or not 0 < total <= LONGEST:
        raise UsageError(f"{length!r} is no length of time", "Give e.g. 45m, 2h, 1h30m or 3d.")
    return total


def _for(remaining: float) -> str:
    """The words that pause for the rest of a time."""
    return f"git mem pause --for {max(1, int(remaining))}s"


def _undo(before: pausing.Pause | None, now: float) -> str:
    if before is None:
        return "git mem unpause"
    return "git mem pause" if before.end is None else _for(before.end - now)
