"""`git mem snapshot`: copy project memory into the code tree, or show where that stands."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, DryRun, Json, Quiet, context
from gitmem.errors import UsageError
from gitmem.integrations.refresh import make_snapshots, snapshot_standings


def register(app: typer.Typer) -> None:
    """Adds the verb with its two words."""
    app.command()(create)
    app.command()(status)


def create(
    ctx: typer.Context,
    agent: AgentOption = None,
    every: Annotated[bool, typer.Option("--all", help="Of every agent that has project memory.")] = False,
    to: Annotated[
        str, typer.Option("--to", metavar="DIR", help="A folder of the work tree.", show_default=False)
    ] = "",
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Copies project memory into the code tree; you commit it.

    Of `main` unless said otherwise. Memories about a person and those that hold a secret stay here.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if every and agent:
        raise UsageError("--all and --agent do not go together")
    agents = () if every else (agent or "main",)
    done = make_snapshots(run.workspace, run.edges, agents, to, dry_run)
    for made in done:
        for name in made.left_out:
            run.out.warn(run.out.safe(f"left out of the snapshot of {made.agent}: {name}"))
    if run.out.as_json:
        run.out.json(
            [
                {
                    "agent": made.agent,
                    "path": str(made.folder),
                    "memories": made.count,
                    "written": made.written,
                    "left_out": list(made.left_out),
                }
                for made in done
            ]
        )
        return
    top = run.workspace.layout.worktree
    for made in done:
        folder = made.folder.relative_to(top) if top else made.folder
        what = "would write" if dry_run else "wrote" if made.written else "unchanged:"
        run.out.data(run.out.safe(f"{what} {made.count} memories of {made.agent} in {folder}"))
        if made.written:
            run.out.say(run.out.safe(f"commit it: git add {folder}"))
            run.out.say(run.out.safe(f"undo: git stash push -u -- {folder}"))
    if not done:
        run.out.data("no agent has project memory")


def status(ctx: typer.Context, as_json: Json = False) -> None:
    """Shows how each snapshot stands to the memory here: none, initialize, prompt-update or current."""
    run = context(ctx, as_json=as_json)
    found, problems = snapshot_standings(run.workspace)
    if run.out.as_json:
        run.out.json(
            {
                "snapshots": [
                    {
                        "agent": one.agent,
                        "state": one.state,
                        "reason": one.reason,
                        "folder": one.snapshot.folder if one.snapshot else None,
                        "source": one.source,
                        "updatedAt": one.updated_at or None,
                        "edited": bool(one.snapshot and one.snapshot.edited),
                        "review": one.id if one.waits else None,
                    }
                    for one in found
                ],
                "problems": problems,
            }
        )
        return
    for one in found:
        where = f"{one.source}, {one.snapshot.folder}" if one.snapshot else one.source
        line = f"{one.agent}: {one.state} ({one.reason}; {where}, {one.updated_at})"
        run.out.data(run.out.safe(line))
        if one.waits:
            run.out.say(run.out.safe(f"  decide: git mem review accept {one.id}"))
    for folder, why in problems.items():
        run.out.warn(run.out.safe(f"{folder}: {why}"))
    if not found:
        run.out.data("there is no snapshot")
