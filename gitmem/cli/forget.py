"""`git mem forget`: delete a memory and see to it that it stays away."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, DryRun, Quiet, ScopeOption, context
from gitmem.integrations.editing import forget as carry_out
from gitmem.store.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(forget)


def forget(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.")],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Deletes a memory and marks its claims as forgotten.

    No merge, dream or extraction brings them back; `git mem restore` and `remember` do. History keeps
    the text.
    """
    run = context(ctx, quiet=quiet)
    workspace = run.workspace
    found = find(workspace, name, scope=scope, agent=agent)
    where = f"{found.scope}/{found.agent}/{found.file}"
    if dry_run:
        run.out.data(run.out.safe(f"would forget {where}: {found.memory.description}"))
        return
    done = carry_out(workspace, run.edges, found)
    if done.written is None:
        run.out.data(run.out.safe(f"{where} is gone already"))
        return
    run.out.data(run.out.safe(f"{done.written.commit[:8]} forgot {where}"))
    run.out.say(f"undo: git mem undo {done.written.commit[:12]}")
