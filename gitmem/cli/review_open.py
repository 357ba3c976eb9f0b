"""`git mem review --open`: others are asked, by a branch that is pushed and a request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import Context, DryRun, Json, Quiet, Yes, context
from gitmem.cli.words import sound
from gitmem.core.errors import CheckFailed
from gitmem.core.text import counted

if TYPE_CHECKING:
    from gitmem.ledger.push_plan import Leaving


def open_(
    ctx: typer.Context,
    id: Annotated[
        str, typer.Argument(help="A dream, `inbox` or `docs`; the inbox unless given.", show_default=False)
    ] = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Pushes a dream or your inbox branch and opens a request for it, or prints the link to open one.

    With `gh` on PATH and a remote at GitHub the request is opened, or brought up to date where one is open.
    """
    before = ctx.meta.get("gitmem.review", {})
    given = {"dry_run": dry_run, "yes": yes, "quiet": quiet, "as_json": as_json}
    open_request(ctx, id, **{name: value or before.get(name, False) for name, value in given.items()})


def open_request(
    ctx: typer.Context, id: str, *, dry_run: bool, yes: bool, quiet: bool, as_json: bool
) -> None:
    """The same, for `git mem review --open`."""
    from gitmem.flows import pull_request
    from gitmem.flows.document_branch import means_documents, open_documents

    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    out = run.out
    if means_documents(run.workspace, id):
        made = open_documents(run.workspace, run.edges, id, dry_run=dry_run)
    else:
        made = pull_request.open_request(
            run.workspace, run.edges, id, lambda leaves: _agreed(run, leaves), dry_run=dry_run
        )
    if out.as_json:
        out.json(
            {
                "id": made.id,
                "remote": sound(made.remote),
                "branch": made.branch,
                "base": made.base,
                "title": made.title,
                "body": sound(made.body),
                "outcome": made.outcome,
                "url": made.url or None,
                "dry_run": dry_run,
            }
        )
        return
    if dry_run:
        out.data(f"would ask: {made.title} ({made.branch} into {made.base})")
        out.data()
        for line in made.body.splitlines():
            out.data(line)
        return
    if made.outcome in ("created", "updated"):
        out.data(f"{made.outcome} {made.url}")
        out.say("undo: close it there, and delete its branch")
        return
    out.data(made.url or f"open a request from {made.branch} into {made.base} at {made.remote}")
    out.say(f"{made.branch} is pushed; a person opens the request there")
    out.say(f"undo: git push {made.remote} --delete {made.branch}")


def _agreed(run: Context, leaves: tuple[Leaving, ...]) -> bool:
    for memory in leaves:
        run.out.say(f"  leaves for the first time: {memory}")
    try:
        run.out.ask(f"Share {counted(len(leaves), 'memory')}?")
    except CheckFailed:
        return False
    return True
