"""`git mem unpause`: sessions are learned from again."""

from __future__ import annotations

import typer

from gitmem.cli.context import DryRun, Json, Quiet, context
from gitmem.cli.pause import for_words
from gitmem.cli.words import day, iso
from gitmem.core.errors import RepositoryError
from gitmem.flows import pause as pausing


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(unpause)


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
        out.say(f"undo: {'git mem pause' if held.end is None else for_words(held.end - now)}")
