"""`git mem demote`: make a memory again out of a rule that was one."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from gitmem.cli.completing import memory_names
from gitmem.cli.context import AgentOption, DryRun, Json, Quiet, ScopeOption, Yes, context
from gitmem.cli.words import sound
from gitmem.flows.last_decided import forget
from gitmem.flows.promote import demote as carry_out
from gitmem.ledger.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(demote)


def demote(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Takes a memory's rule out of the work tree's file, for you to commit, and brings the memory back.

    The memory stands where the agent sees it at once; the section goes where nothing else is left in it.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.workspace
    done = carry_out(workspace, run.edges, find(workspace, name, scope, agent, whole=True), dry_run=dry_run)
    at, out = done.at, run.out
    commit = done.written.commit if done.written else None
    if not dry_run:
        forget(workspace.state, f"git mem demote {shlex.quote(at.address)}")
    if out.as_json:
        out.json(
            {
                "name": sound(at.memory.name),
                "scope": at.scope,
                "agent": sound(at.agent),
                "memory": sound(at.home),
                "file": sound(done.file),
                "edited": done.edited,
                "commit": commit,
                "message": sound(done.message) or None,
                "command": sound(done.command) or None,
                "dry_run": dry_run,
            }
        )
        return
    verb = "would take" if dry_run else "took"
    if done.edited:
        out.data(f"{verb} the rule {at.address} out of {done.file}")
    for note in done.notes:
        out.data(note)
    if commit:
        out.data(f"{commit[:8]} {at.address} is a memory again")
    if done.command:
        out.say(f"commit it: {done.command}")
    if not dry_run:
        out.say(f"undo: git mem promote {shlex.quote(at.address)} --to {shlex.quote(done.file)}")
