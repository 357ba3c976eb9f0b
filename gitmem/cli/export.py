"""`git mem export`: memories as files of other formats."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, At, Json, Quiet, ScopeOption, words
from gitmem.cli.output import sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.flows.export import FORMATS, write, write_file
from gitmem.flows.export import export as render
from gitmem.ledger.holdings import chosen_agent


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(export)


def export(
    ctx: typer.Context,
    format: Annotated[
        str,
        typer.Option("--format", help=f"{', '.join(FORMATS)}.", autocompletion=words(*FORMATS)),
    ] = "markdown",
    output: Annotated[
        str,
        typer.Option(
            "-o", "--output", metavar="DIR|FILE|-", help="Where to; - prints one file.", show_default=False
        ),
    ] = "",
    scope: ScopeOption = None,
    agent: AgentOption = None,
    at: At = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes the memories of a scope as files that other tools read, and says what these cannot hold.

    The project's memory unless --scope names a private one. Markdown and JSON hold all of a memory byte for
    byte: git mem import brings it back as it was. What holds a secret is left out and named. Where it
    is printed, control characters and markup of agents are written out; a file has them as they are.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    made = render(run.workspace, run.edges, format, scope or "project", chosen_agent(agent) or "", at or "")
    place = output or ("-" if made.single else "")
    if not place or (place == "-" and not made.single):
        raise UsageError(f"{format} is a folder of files", "Say where: git mem export -o DIR")
    if place == "-" and run.out.as_json:
        raise UsageError("--json reports what was written", "Say where: -o FILE")
    path = run.edges.path(place)
    if place == "-":
        # Formats of one file are JSON, so what is taken for markup or control is written out in its texts.
        run.out.json(json.loads(next(iter(made.files.values()))))
    elif made.single:
        write_file(made, path)
    else:
        write(made, path)
    if run.out.as_json:
        run.out.json(
            {
                "format": format,
                "path": str(path),
                "memories": made.memories,
                "cannot_hold": [{"what": sound(w), "memories": n} for w, n in sorted(made.lost.items())],
                "left_out": [{"path": sound(p), "reason": why} for p, why in sorted(made.left_out.items())],
            }
        )
        return
    run.out.say(
        f"{counted(made.memories, 'memory')} as {format}" + ("" if place == "-" else f" in {place}")
    )
    for what, number in sorted(made.lost.items()):
        run.out.say(f"{format} cannot hold: {sound(what)} ({number})")
    for left, why in sorted(made.left_out.items()):
        run.out.warn(f"left out: {sound(left)}: {why}")
