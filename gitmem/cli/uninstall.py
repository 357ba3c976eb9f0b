"""`git mem uninstall`: take gitmem out of this repository; memory stays."""

from __future__ import annotations

import typer

from gitmem.app.uninstall import carry_out_uninstall, plan_uninstall
from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Json, Quiet, Yes
from gitmem.cli.output import sound


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(uninstall)


def uninstall(
    ctx: typer.Context,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Takes gitmem out of this repository.

    Removes gitmem's own hooks and settings and nothing else. Memory files stay as they are, archived ones
    are written out, and the refs that remain are named. `git mem purge` takes a memory out of them, before.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.any_workspace
    plan = plan_uninstall(workspace)
    value = {
        "steps": [sound(line) for line in plan.lines()],
        "remaining": [sound(line) for line in plan.remaining()],
        "dry_run": dry_run,
    }
    if run.out.as_json and (dry_run or not plan.lines()):
        run.out.json(value)
        return
    if not plan.lines():
        run.out.say("nothing of gitmem is in this repository")
        return
    for line in plan.lines():
        (run.out.data if dry_run else run.out.say)(f"  {line}")
    if dry_run:
        return
    run.out.ask("Do this?")
    carry_out_uninstall(workspace, run.edges, plan)
    if run.out.as_json:
        run.out.json(value)
        return
    run.out.data("gitmem is out of this repository; memory files and refs stay")
    for line in plan.remaining():
        run.out.say(f"  {line}")
    if plan.refs:
        run.out.say(
            "git mem init takes them up again; what is to be gone for good: git mem purge, after that"
        )
    run.out.say("undo: git mem init")
