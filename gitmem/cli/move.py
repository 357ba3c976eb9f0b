"""`git mem move`: move a memory to another scope."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context, warn_of
from gitmem.cli.options import AgentOption, Allow, DryRun, Json, Quiet, ScopeOption, Yes, memory_names
from gitmem.cli.output import place_value
from gitmem.flows.edit import move as carry_out
from gitmem.ledger.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(move)


def move(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)],
    to: Annotated[str, typer.Option("--to", metavar="SCOPE", help="project, local or user.")],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    allow: Allow = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Moves a memory to another scope.

    Where project memory is shared, a memory that goes there leaves this machine with the next sync: it is
    named, and asked for.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.workspace
    found = find(workspace, name, scope, agent, whole=True)
    where = f"{found.scope}/{found.agent}/{found.file}"
    value = place_value(found) | {"to": to, "commit": None, "dry_run": dry_run}
    if dry_run:
        if run.out.as_json:
            run.out.json(value)
        else:
            run.out.data(f"would move {where} to {to}")
        return
    if to == "project" and workspace.sharing != "off":
        run.out.ask(f"{found.memory.name} will be shared with the next sync. Move it?")
    done = carry_out(workspace, run.edges, found, to, allowed=allow)
    if run.out.as_json:
        run.out.json(value | {"commit": done.written.commit if done.written else None})
        return
    commit = done.written.commit[:8] if done.written else ""
    run.out.data(f"{commit} moved {where} to {to}")
    warn_of(run, done.warnings)
    if done.written:
        run.out.say(f"undo: git mem undo {done.written.commit[:12]}")
