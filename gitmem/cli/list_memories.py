"""`git mem list`: what is remembered, one line a memory."""

from __future__ import annotations

from functools import cache
from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, At, Json, ScopeOption, context
from gitmem.cli.words import age, iso, sound
from gitmem.guard.text import one_line
from gitmem.memory.names import is_archived
from gitmem.store.lookup import Listed, headers
from gitmem.store.objects import MISSING_HINT

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
    missed: dict[str, str] = {}
    found = headers(run.workspace, scope, agent, at=at, archived=archived, now=run.edges.now, missed=missed)
    for what, why in missed.items():
        run.out.warn(run.out.safe(f"cannot be read: {what}: {why}"))
    if missed:
        run.out.say(f"hint: {MISSING_HINT}")
    if run.out.as_json:
        run.out.json([as_value(header) for header in found])
        return
    if not found:
        run.out.say("no memories here" + (" as of then" if at else ""))
        return
    shown = cache(lambda place: one_line(place, NAME_WIDTH))
    aged = cache(lambda time: age(time, run.edges.now))
    columns = (
        _aligned([one_line(header.name, NAME_WIDTH) for header in found]),
        _aligned([header.type for header in found]),
        _aligned([shown(f"{header.scope}/{header.agent}") for header in found]),
        _aligned([aged(header.time) for header in found]),
        [
            "(came with a secret: git mem show)"
            if header.secret
            else one_line(header.description, DESCRIPTION_WIDTH)
            for header in found
        ],
    )
    run.out.data("\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True)))


def _aligned(cells: list[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def as_value(header: Listed) -> dict[str, object]:
    """One memory for `--json`; `taught` is null where unknown."""
    return {
        "name": sound(header.name),
        "type": header.type,
        "scope": header.scope,
        "agent": sound(header.agent),
        "file": sound(header.file),
        "description": sound(header.description),
        "taught": iso(header.time) if header.time else None,
        "archived": is_archived(header.file),
        "secret": header.secret,
    }
