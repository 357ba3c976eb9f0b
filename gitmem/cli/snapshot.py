"""`git mem snapshot`: copy project memory into the code tree, or show where that stands."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_folder_name
from gitmem.core.text import counted
from gitmem.flows.snapshots import make_snapshots, snapshot_standings
from gitmem.ledger.workspace import Workspace
from gitmem.rules.screen import doubt_told


def register(app: typer.Typer) -> None:
    """Adds the verb with its two words."""
    app.callback(invoke_without_command=True)(snapshot)
    app.command()(create)
    app.command()(status)


def snapshot(ctx: typer.Context, as_json: Json = False) -> None:
    """Copies project memory into the code tree, or shows where that stands; alone it shows."""
    if ctx.invoked_subcommand is None:
        status(ctx, as_json=as_json)


def create(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[AGENT]...", help="main, or subagents' names.", show_default=False),
    ] = None,
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

    Of `main` unless said otherwise. Memories about a person and those that hold a secret stay here. In a
    plain checkout without gitmem (CI) it is of the remote's memory branch, fetched where it is missing.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    chosen = (*(names or ()), *((agent,) if agent else ()))
    if every and chosen:
        raise UsageError("--all and the name of an agent do not go together")
    agents = () if every else chosen or ("main",)
    workspace = _workspace(run)
    done = make_snapshots(workspace, run.edges, agents, to, dry_run)
    for made in done:
        for name in made.left_out:
            run.out.warn(f"left out of the snapshot of {made.agent}: {name}")
        for one in made.doubts:
            run.out.warn(doubt_told(one, "leaves"))
    if run.out.as_json:
        run.out.json(
            [
                {
                    "agent": made.agent,
                    "path": str(made.folder),
                    "memories": made.count,
                    "changed": made.changed,
                    "written": made.written,
                    "left_out": list(made.left_out),
                    "doubts": [{"path": one.path, "rule": one.rule} for one in made.doubts],
                }
                for made in done
            ]
        )
        return
    top = workspace.layout.worktree
    for made in done:
        folder = made.folder.relative_to(top) if top else made.folder
        what = "unchanged:" if not made.changed else "would write" if dry_run else "wrote"
        run.out.data(f"{what} {counted(made.count, 'memory')} of {made.agent} in {folder}")
        if made.written or made.attributes:
            beside = f" {folder.parent / made.attributes.name}" if made.attributes else ""
            run.out.say(f"commit it: git add {folder}{beside}")
            run.out.say(f"undo: git stash push -u -- {folder}{beside}")
    if not done:
        run.out.data("no agent has project memory")


def status(ctx: typer.Context, as_json: Json = False) -> None:
    """Shows how each snapshot stands to the memory here: none, initialize, prompt-update or current."""
    run = context(ctx, as_json=as_json)
    workspace = _workspace(run)
    found, problems = snapshot_standings(workspace)
    if run.out.as_json:
        run.out.json(
            {
                "snapshots": [
                    {
                        "agent": agent_folder_name(one.agent),
                        "state": one.state,
                        "reason": one.reason,
                        "folder": one.snapshot.folder if one.snapshot else None,
                        "source": one.source,
                        "updatedAt": one.updated_at or None,
                        "edited": one.edited,
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
        line = f"{agent_folder_name(one.agent)}: {one.state} ({one.reason}; {where}, {one.updated_at})"
        run.out.data(line)
        if one.edited:
            run.out.say("  its digest does not fit: it was edited by hand, or merged")
        if one.waits and workspace.initialised:
            run.out.say(f"  decide: git mem review accept {one.id}")
    for folder, why in problems.items():
        run.out.warn(f"{folder}: {why}")
    if not found:
        run.out.data("there is no snapshot")
        run.out.say("make one: git mem snapshot create --all")
    elif not workspace.initialised:
        run.out.say("gitmem is not set up here: git mem init")


def _workspace(run: CommandContext) -> Workspace:
    """Where `init` did not run, snapshots are made and shown all the same."""
    workspace = run.any_workspace
    return run.workspace if workspace.settings.get("projectId") else workspace
