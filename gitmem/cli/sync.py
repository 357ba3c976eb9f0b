"""`git mem sync`: fetch, merge and push shared memory."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gitmem.cli.context import DryRun, Json, Quiet, Yes, context
from gitmem.cli.output import Output
from gitmem.errors import CheckFailed
from gitmem.integrations.sharing import synchronise
from gitmem.share.leaving import Leaving
from gitmem.share.sync import Synced


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(sync)


def sync(
    ctx: typer.Context,
    remote: Annotated[str, typer.Argument(help="A configured remote.", show_default=False)] = "",
    pull: Annotated[bool, typer.Option("--pull", help="Only take in.")] = False,
    push: Annotated[bool, typer.Option("--push", help="Only send.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fetches, merges and pushes shared memory.

    A memory that leaves this machine for the first time is named, and asked for. With --dry-run the
    remote's branches are fetched, and nothing else is done.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    out = run.out
    both = pull == push
    done = synchronise(
        run.workspace,
        run.edges,
        lambda leaves: _agreed(out, leaves),
        remote=remote,
        pull=pull or both,
        push=push or both,
        dry_run=dry_run,
    )
    for refusal in done.arrived:
        out.warn(
            out.safe(f"from {done.remote}: {refusal.path} {refusal.reason}; have it rotated and removed")
        )
    for path, text in done.buried:
        out.warn(out.safe(f"stays forgotten: {path}: {text.splitlines()[0] if text else ''}"))
    for path in done.split:
        out.say(out.safe(f"  two memories wanted one file; one is now {path}"))
    if out.as_json:
        out.json(_value(done, dry_run))
    else:
        out.data(out.safe(_line(done, dry_run)))
        if not dry_run and done.fetched:
            out.say(f"undo: git mem restore --all --scope project --at {done.before[:12]}")
    if done.held and not dry_run:
        raise CheckFailed(
            f"Held back: {', '.join(map(str, done.held))}", "Look at them, and say yes: git mem sync -y"
        )


def _agreed(out: Output, leaves: tuple[Leaving, ...]) -> bool:
    for memory in leaves:
        out.say(out.safe(f"  leaves for the first time: {memory}"))
    try:
        out.ask(f"Share {_memories(len(leaves))}?")
    except CheckFailed:
        return False
    return True


def _line(done: Synced, dry_run: bool) -> str:
    counts = f"{done.remote}: {done.fetched} fetched, {done.merged} merged, {done.pushed} pushed"
    if dry_run:
        return f"would sync {counts}"
    if done.in_inbox:
        branch = done.branch.removeprefix("refs/heads/")
        why = f"after {done.lost} lost races " if done.lost else ""
        return f"{counts} {why}to {branch}, where it waits for review"
    return counts


def _value(done: Synced, dry_run: bool) -> dict[str, Any]:
    return {
        "remote": done.remote,
        "dry_run": dry_run,
        "fetched": done.fetched,
        "merged": done.merged,
        "pushed": done.pushed,
        "branch": done.branch or None,
        "lost_races": done.lost,
        "held": [{"agent": memory.agent, "name": memory.name, "path": memory.path} for memory in done.held],
        "secrets": [{"path": refusal.path, "reason": refusal.reason} for refusal in done.arrived],
        "buried": [{"path": path, "text": text} for path, text in done.buried],
        "split": list(done.split),
    }


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"
