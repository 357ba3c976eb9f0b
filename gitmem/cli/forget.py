"""`git mem forget`: delete a memory and see to it that it stays away."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.completing import memory_names
from gitmem.cli.context import AgentOption, DryRun, Json, Quiet, ScopeOption, context
from gitmem.cli.words import place_value
from gitmem.integrations.editing import forget as carry_out
from gitmem.store.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(forget)


def forget(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Deletes a memory and marks its claims as forgotten.

    No merge, dream or extraction brings them back; `git mem restore` and `remember` do. History keeps
    the text.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    found = find(workspace, name, scope=scope, agent=agent)
    where = f"{found.scope}/{found.agent}/{found.file}"
    done = None if dry_run else carry_out(workspace, run.edges, found)
    if run.out.as_json:
        commit = done.written.commit if done and done.written else None
        run.out.json(place_value(found) | {"commit": commit, "dry_run": dry_run})
        return
    if done is None:
        run.out.data(run.out.safe(f"would forget {where}: {found.memory.description}"))
        return
    if done.written is None:
        run.out.data(run.out.safe(f"{where} is gone already"))
        return
    run.out.data(run.out.safe(f"{done.written.commit[:8]} forgot {where}"))
    run.out.say(f"undo: git mem undo {done.written.commit[:12]}")
