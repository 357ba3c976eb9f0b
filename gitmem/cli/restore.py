"""`git mem restore`: bring memories back as they were, as a new commit or into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, At, DryRun, Json, Quiet, ScopeOption, names
from gitmem.cli.output import sound
from gitmem.core.errors import UsageError
from gitmem.core.names import kind
from gitmem.core.text import counted
from gitmem.flows.undo import Back, RestorePlan, choose, files_of
from gitmem.flows.undo import restore as bring_back
from gitmem.ledger.restore import write_out


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(restore)


def restore(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="The memory to bring back; or the date of a daily log.",
            autocompletion=names,
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All memories of the scopes and agents that apply.")
    ] = False,
    at: At = None,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="DIR", help="Only write files, into a new folder.", show_default=False
        ),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Brings memories back as they were at --at, as a new commit; nothing is rewritten.

    One memory comes back by its name, also one that was forgotten; without --at an archived one as it is,
    and one that is gone as it last was. With --all the whole state comes back: memories that came since go,
    and what was forgotten stays away. What is edited but not saved yet is saved first. With --to nothing is
    committed: the files are written into a folder of their own.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if (name is None) == (not everything):
        raise UsageError("Say what to restore: one NAME, or --all")
    if everything and at is None:
        raise UsageError("Say as of when, with --at REV|DATE|TAG", "See what there was: git mem log")
    past = choose(run.workspace, run.edges, name, at, scope, agent)
    if to is not None:
        _write_out(run, past, run.edges.path(to), dry_run)
        return
    done = bring_back(run.workspace, run.edges, past, dry_run=dry_run)
    if run.out.as_json:
        run.out.json([one.as_value() for one in done])
        return
    _report(run, past, done, dry_run)


def _write_out(run: CommandContext, past: RestorePlan, folder: Path, dry_run: bool) -> None:
    files = files_of(past)
    if not dry_run:
        write_out(folder, files)
    if run.out.as_json:
        run.out.json({"folder": sound(str(folder)), "files": sorted(map(sound, files))})
        return
    done = "would write" if dry_run else "wrote"
    run.out.data(f"{done} {counted(len(files), 'file')} to {folder}")
    if not dry_run:
        run.out.say(f"undo: delete {folder}")


def _report(run: CommandContext, past: RestorePlan, done: tuple[Back, ...], dry_run: bool) -> None:
    out = run.out
    verb = "would restore" if dry_run else "restored"
    for one in done:
        memories = sum(kind(path) in ("memory", "log") for path in one.plan.edits)
        if one.plan.edits:
            changed = f"{counted(memories, 'file')} changed"
            out.data(f"{verb} {past.what} in {one.scope.name} as of {one.then[:12]}: {changed}")
        for path in one.plan.forgotten:
            out.say(f"stays forgotten: {one.scope.name}/{path} (bring it back by its name)")
    if not any(one.plan.edits for one in done):
        out.say(f"nothing to restore: it is {'as it was then' if past.at else 'here, and unchanged'}")
    elif not dry_run:
        undo = [f"git mem undo {one.commit[:12]}" for one in done if one.commit]
        out.say(f"undo: {' && '.join(undo)}")
