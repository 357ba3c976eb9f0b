"""`git mem remember`: store one memory."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gitmem.cli.context import context, warn_of
from gitmem.cli.options import Allow, DryRun, Json, Quiet, ScopeOption
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.pointer import rule_file
from gitmem.flows.edit import Wanted
from gitmem.flows.edit import remember as carry_out


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(remember)


def remember(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(help="The fact, in markdown; - reads it from standard input.")],
    type: Annotated[
        str,
        typer.Option(
            "--type",
            help="user, feedback, project or reference; without it feedback, or what the memory is.",
        ),
    ] = "",
    name: Annotated[str, typer.Option("--name", help="The same name again updates that memory.")] = "",
    description: Annotated[
        str, typer.Option("--description", help="One line that would find it again.")
    ] = "",
    why: Annotated[str, typer.Option("--why", help="The reason.")] = "",
    how: Annotated[str, typer.Option("--how", help="When and how it applies.")] = "",
    agent: Annotated[str, typer.Option("--agent", help="main, or a subagent's name.")] = "main",
    scope: ScopeOption = None,
    allow: Allow = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Stores one memory: file, index line and commit in one step.

    What memory says already, in any scope, is not stored again: it is said where it stands. With --scope
    that one alone is looked at.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    text = sys.stdin.read(MEMORY_BYTES + 1) if text == "-" else text
    wanted = Wanted(text, type, name, description, why, how, agent, scope or "", allow)
    done = carry_out(run.workspace, run.edges, wanted, dry_run=dry_run)
    commit = done.written.commit if done.written else None
    if run.out.as_json:
        run.out.json(
            {
                "scope": done.scope.name,
                "agent": done.agent,
                "file": done.memory.path,
                "name": done.memory.name,
                "commit": commit,
                "dry_run": dry_run,
                "not_laid_out": done.unwritten or None,
                "warnings": [{"path": one.path, "rule": one.rule} for one in done.warnings],
            }
        )
        return
    where = f"{done.scope.name}/{done.agent}/{done.memory.path}"
    if not done.planned:
        rule = rule_file(done.memory)
        run.out.data(f"{where} says so already{f', as a rule of {rule}' if rule else ''}")
        return
    if commit is None:
        run.out.data(f"would {'update' if done.updated else 'store'} {where}: {done.memory.description}")
        warn_of(run, done.warnings)
        return
    run.out.data(f"{commit[:8]} {'updated ' * done.updated}{where}: {done.memory.description}")
    warn_of(run, done.warnings)
    if done.unwritten:
        run.out.warn(f"stored, but not in the agent's folder: {done.unwritten}")
    run.out.say(f"undo: git mem undo {commit[:12]}")
