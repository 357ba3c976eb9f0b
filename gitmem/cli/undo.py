"""`git mem undo`: take a change back, as a new commit."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Json, Quiet, ScopeOption
from gitmem.cli.output import Output, day
from gitmem.core.text import counted, one_line
from gitmem.flows.undo import Undone
from gitmem.flows.undo import undo as take_back
from gitmem.ledger.restore import Undoing, still_there


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(undo)


def undo(
    ctx: typer.Context,
    commit: Annotated[
        str | None,
        typer.Argument(
            metavar="[COMMIT]",
            help="A commit from git mem log; e-… of a purge that you agreed to; i-… of a rejected inbox.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Takes the newest change back, as a new commit; run again, it goes one further back.

    What one command changed goes back as one: both halves of a move, all that review decided at once. What
    was learned since stays: the change is taken out by a merge. An undo can itself be undone by naming
    its commit. What `init` adopted, what was purged, and merges with other clones are left alone.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    done = take_back(run.workspace, run.edges, commit, scope, dry_run=dry_run)
    if run.out.as_json:
        run.out.json(done.as_value())
        return
    verb = "would undo" if dry_run else "undid"
    if done.planned is None:
        run.out.data(f"{verb} {done.target.oid[:12]} {one_line(done.target.subject, 100)} ({done.of})")
        return
    _show(run.out, done, done.planned, verb, dry_run=dry_run)


def _show(out: Output, done: Undone, found: Undoing, verb: str, *, dry_run: bool) -> None:
    target = found.target
    told = one_line(f"{target.subject} ({found.scope.name}, {day(target.author.time)})", 160)
    more = f", with {counted(len(done.others), 'change')} of the same command" if done.others else ""
    out.data(f"{verb} {target.oid[:12]} {told}{more}")
    for one in found.passed:
        out.say(f"left alone: {one.oid[:12]} {one_line(one.subject, 80)} (undo takes none of these back)")
    for path in still_there(found, dry_run=dry_run):
        out.say(f"stays: {found.scope.name}/{path} (edited since; delete it with git mem forget)")
    for path, _ in found.buried:
        out.say(f"stays forgotten: {found.scope.name}/{path}")
    for line in done.notes:
        out.say(line)
    if done.commits:
        out.say(f"undo: git mem undo {done.commits[0][:12]}")
