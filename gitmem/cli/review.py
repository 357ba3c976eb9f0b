"""`git mem review`: decide on dreams, suggestions, disputes and what was held; ask others to decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
import typer.core

from gitmem.cli.context import Context, DryRun, Json, Quiet, Yes, context
from gitmem.cli.words import sound
from gitmem.errors import CheckFailed, UsageError
from gitmem.guard.text import counted
from gitmem.integrations.review import Decided, find_item, queue
from gitmem.integrations.review import accept as carry_out_accept
from gitmem.integrations.review import reject as carry_out_reject
from gitmem.share.leaving import Leaving

Id = Annotated[str, typer.Argument(help="Id of the item, or its beginning.")]
Numbers = Annotated[
    list[int] | None,
    typer.Argument(
        metavar="[N]...",
        help="Only these changes of a dream, memories of an inbox, or claims of a dispute.",
    ),
]


class OpenGroup(typer.core.TyperGroup):
    """Takes the word after `--open` for an id, where it is no verb."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a word stands for."""
        if ctx.params.get("open_it"):
            return "open", self.get_command(ctx, "open"), args
        return super().resolve_command(ctx, args)


def register(app: typer.Typer) -> None:
    """Adds the verb and what can be done with an item."""
    app.callback(invoke_without_command=True, cls=OpenGroup)(review)
    app.command()(show)
    app.command()(accept)
    app.command()(reject)
    app.command(name="open")(open_)


def review(
    ctx: typer.Context,
    open_it: Annotated[
        bool,
        typer.Option("--open", help="Ask others: push your inbox, or the dream ID, and open a request."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Lists what waits for you: dreams, inboxes, suggestions, disputes, snapshots, and what was held."""
    ctx.meta["gitmem.review"] = given = {
        "dry_run": dry_run,
        "yes": yes,
        "quiet": quiet,
        "as_json": as_json,
    }
    if ctx.invoked_subcommand is not None:
        return
    if open_it:
        _open(ctx, "", **given)
        return
    if dry_run:
        raise UsageError("--dry-run belongs to --open")
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    items = queue(run.workspace, run.edges)
    if run.out.as_json:
        run.out.json(
            [{"id": item.id or None, "kind": item.kind, "title": item.title} | item.value for item in items]
        )
        return
    for item in items:
        run.out.data(run.out.safe(f"{item.id or '-':10} {item.kind:10} {item.title}"))
    if not items:
        run.out.say("nothing waits for you")
    elif any(item.id for item in items):
        run.out.say("look: git mem review show ID; decide: git mem review accept|reject ID")


def show(ctx: typer.Context, id: Id, as_json: Json = False) -> None:
    """Shows one item whole: claim by claim, before and after, and why."""
    run = context(ctx, as_json=as_json)
    item = find_item(run.workspace, run.edges, id)
    if run.out.as_json:
        run.out.json({"id": item.id, "kind": item.kind, "title": item.title} | item.value)
        return
    for line in item.lines:
        run.out.data(run.out.safe(line))


def accept(
    ctx: typer.Context,
    id: Id,
    numbers: Numbers = None,
    how: Annotated[
        Literal["merge", "replace"], typer.Option("--how", help="How a snapshot is taken in.")
    ] = "merge",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accepts an item, or some of its changes; of a dispute, the claims that stand."""
    run = context(ctx, as_json=as_json, quiet=quiet)
    _show(run, carry_out_accept(run.workspace, run.edges, id, tuple(numbers or ()), how))


def reject(
    ctx: typer.Context,
    id: Id,
    numbers: Numbers = None,
    why: Annotated[str, typer.Option("-m", "--message", help="Why; kept with the decision.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rejects an item, or some of its changes; it is remembered and does not come back."""
    run = context(ctx, as_json=as_json, quiet=quiet)
    _show(run, carry_out_reject(run.workspace, run.edges, id, tuple(numbers or ()), why))


def open_(
    ctx: typer.Context,
    id: Annotated[
        str, typer.Argument(help="A dream, or `inbox`; the inbox unless given.", show_default=False)
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
    _open(ctx, id, **{name: value or before.get(name, False) for name, value in given.items()})


def _open(ctx: typer.Context, id: str, *, dry_run: bool, yes: bool, quiet: bool, as_json: bool) -> None:
    from gitmem.integrations.requests import open_request

    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    out = run.out
    made = open_request(run.workspace, run.edges, id, lambda leaves: _agreed(run, leaves), dry_run=dry_run)
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
        out.data(out.safe(f"would ask: {made.title} ({made.branch} into {made.base})"))
        out.data()
        for line in made.body.splitlines():
            out.data(out.safe(line))
        return
    if made.outcome in ("created", "updated"):
        out.data(out.safe(f"{made.outcome} {made.url}"))
        out.say("undo: close it there, and delete its branch")
        return
    out.data(out.safe(made.url or f"open a request from {made.branch} into {made.base} at {made.remote}"))
    out.say(f"{made.branch} is pushed; a person opens the request there")
    out.say(f"undo: git push {out.safe(made.remote)} --delete {made.branch}")


def _agreed(run: Context, leaves: tuple[Leaving, ...]) -> bool:
    for memory in leaves:
        run.out.say(run.out.safe(f"  leaves for the first time: {memory}"))
    try:
        run.out.ask(f"Share {counted(len(leaves), 'memory')}?")
    except CheckFailed:
        return False
    return True


def _show(run: Context, done: Decided) -> None:
    if run.out.as_json:
        run.out.json({"done": sound(done.line), "commit": done.written.commit if done.written else None})
        return
    commit = f"{done.written.commit[:8]} " if done.written else ""
    run.out.data(run.out.safe(commit + done.line))
    if done.written:
        run.out.say(f"undo: git mem undo {done.written.commit[:12]}")
