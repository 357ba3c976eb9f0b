"""`git mem init`: start keeping memory in this repository."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import DryRun, Json, Quiet, Yes, context
from gitmem.errors import UsageError
from gitmem.integrations.setup import carry_out_init, plan_init
from gitmem.store.settings import CHOICES


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(init)


def init(
    ctx: typer.Context,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="offline, anthropic or claude-code.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Starts keeping memory in this repository.

    Lists what it will touch and asks. Adopts every memory directory that is there, with nothing changed on
    disk; installs git hooks and Claude Code hooks. Running it twice changes nothing.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    if engine is not None and engine not in CHOICES["engine"]:
        raise UsageError(f"There is no engine {engine!r}", f"Engines are: {', '.join(CHOICES['engine'])}.")
    workspace = run.any_workspace
    plan = plan_init(workspace, engine or "")
    lines = plan.lines(workspace)
    if run.out.as_json and dry_run:
        run.out.json({"project": plan.project_id, "changes": plan.changes, "steps": lines})
        return
    for line in lines:
        (run.out.data if dry_run else run.out.say)(run.out.safe(f"  {line}"))
    for problem in plan.problems:
        run.out.warn(run.out.safe(f"left alone: {problem}"))
    if dry_run:
        return
    if plan.changes:
        run.out.ask("Do this?")
    done = carry_out_init(workspace, run.edges, plan)
    for saved in done.adopted:
        for refusal in saved.plan.refusals:
            run.out.warn(run.out.safe(f"not stored: {refusal.path} {refusal.reason}"))
    if run.out.as_json:
        run.out.json(
            {
                "project": plan.project_id,
                "changed": plan.changes,
                "adopted": [
                    {"scope": saved.live.scope.name, "agent": saved.live.agent, "commit": w.commit}
                    for saved in done.adopted
                    for w in saved.written
                ],
            }
        )
        return
    for note in done.notes:
        run.out.say(run.out.safe(f"  {note}"))
    for saved in done.laid_out:
        run.out.say(run.out.safe(f"  laid out {len(saved.laid_out)} files in {saved.live.path}"))
    if plan.changes:
        run.out.data(f"gitmem keeps memory for {plan.project_id}; nothing leaves this machine")
        run.out.say("undo: git mem uninstall")
    else:
        run.out.data(f"gitmem was here already ({plan.project_id}); nothing changed")
