"""`git mem list`: what is remembered, one line a memory."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, At, Json, ScopeOption, context
from gitmem.cli.words import age, iso, sound
from gitmem.guard.text import one_line
from gitmem.memory.change import Header
from gitmem.store.lookup import headers

NAME_WIDTH = 40
DESCRIPTION_WIDTH = 100


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(list_memories)


def list_memories(
    ctx: typer.Context,
    archived: Annotated[
        bool, typer.Option("--all", "-a", help="Also memories that were paged out to the archive.")
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Lists memories: name, type, whose they are, how long ago they were taught, and what they are about.

    The age is that of the last change by an agent, an extraction or a person; a dream or a merge makes no
    memory young.
    """
    run = context(ctx, as_json=as_json)
    found = headers(run.workspace, scope, agent, at=at, archived=archived, now=run.edges.now)
    if run.out.as_json:
        run.out.json([as_value(header) for header in found])
        return
    if not found:
        run.out.say("no memories here" + (" as of then" if at else ""))
        return
    rows = [
        (
            one_line(header.name, NAME_WIDTH),
            header.type,
            one_line(f"{header.scope}/{header.agent}", NAME_WIDTH),
            age(header.time, run.edges.now),
        )
        for header in found
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row, header in zip(rows, found, strict=True):
        cells = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        run.out.data(f"{cells}  {one_line(header.description, DESCRIPTION_WIDTH)}".rstrip())


def as_value(header: Header) -> dict[str, object]:
    """One memory for `--json`; `taught` is null where unknown."""
    return {
        "name": sound(header.name),
        "type": header.type,
        "scope": header.scope,
        "agent": sound(header.agent),
        "file": sound(header.file),
        "description": sound(header.description),
        "taught": iso(header.time) if header.time else None,
        "archived": header.file.startswith("archive/"),
    }
