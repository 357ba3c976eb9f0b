"""`git mem merge`: put one memory into another."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption, memory_names
from gitmem.cli.output import place_value
from gitmem.core.text import counted
from gitmem.flows.edit import merge_memories
from gitmem.ledger.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(merge)


def merge(
    ctx: typer.Context,
    into: Annotated[
        str, typer.Argument(metavar="INTO", help="The memory that stays.", autocompletion=memory_names)
    ],
    other: Annotated[
        str, typer.Argument(metavar="FROM", help="The one that goes.", autocompletion=memory_names)
    ],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Puts one memory into another of the same agent and scope; no claim of either is lost.

    What FROM says and INTO does not is added to INTO, what both say stands once, and links to FROM lead to
    INTO. A dream proposes this where it can prove it; here you say it.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    first = find(workspace, into, scope, agent, whole=True)
    second = find(workspace, other, scope, agent, whole=True)
    after, written = merge_memories(workspace, run.edges, first, second, dry_run=dry_run)
    come = len(after.parsed.claims) - len(first.memory.parsed.claims)
    if run.out.as_json:
        commit = written.commit if written else None
        run.out.json(
            place_value(first)
            | {"from": second.address, "added": come, "commit": commit, "dry_run": dry_run}
        )
        return
    verb = "would merge" if written is None else f"{written.commit[:8]} merged"
    run.out.data(f"{verb} {second.address} into {first.address}: {counted(come, 'claim')} added")
    if written:
        run.out.say(f"undo: git mem undo {written.commit[:12]}")
