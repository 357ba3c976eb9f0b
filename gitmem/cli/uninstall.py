"""`git mem uninstall`: take gitmem out of this repository; memory stays."""

from __future__ import annotations

import typer

from gitmem.cli.context import DryRun, Quiet, Yes, context
from gitmem.integrations.setup import carry_out_uninstall, plan_uninstall


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(uninstall)


def uninstall(ctx: typer.Context, dry_run: DryRun = False, yes: Yes = False, quiet: Quiet = False) -> None:
    """Takes gitmem out of this repository.

    Removes gitmem's own hooks and settings and nothing else. Memory files stay as they are, archived ones
    are written out, and the refs that remain are named with the command that deletes each.
    """
    run = context(ctx, quiet=quiet, yes=yes)
    workspace = run.any_workspace
    plan = plan_uninstall(workspace)
    for line in plan.lines():
        (run.out.data if dry_run else run.out.say)(run.out.safe(f"  {line}"))
    if dry_run:
        return
    run.out.ask("Do this?")
    carry_out_uninstall(workspace, plan)
    run.out.data("gitmem is out of this repository; memory files and refs stay")
    for line in plan.remaining():
        run.out.say(run.out.safe(f"  to delete: {line}"))
    run.out.say("undo: git mem init")
