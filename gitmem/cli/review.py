"""`git mem review`: decide on dreams, suggestions, disputes and what was held back."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gitmem.cli.context import Context, Json, Quiet, context
from gitmem.cli.words import sound
from gitmem.integrations.review import Decided, find_item, queue
from gitmem.integrations.review import accept as carry_out_accept
from gitmem.integrations.review import reject as carry_out_reject

Id = Annotated[str, typer.Argument(help="Id of the item, or its beginning.")]
Numbers = Annotated[
    list[int] | None,
    typer.Argument(metavar="[N]...", help="Only these changes of a dream, or claims of a dispute."),
]


def register(app: typer.Typer) -> None:
    """Adds the verb and what can be done with an item."""
    app.callback(invoke_without_command=True)(review)
    app.command()(show)
    app.command()(accept)
    app.command()(reject)


def review(ctx: typer.Context, as_json: Json = False) -> None:
    """Lists what waits for you: dreams, suggestions, disputes, snapshots, and what was held back."""
    if ctx.invoked_subcommand is not None:
        return
    run = context(ctx, as_json=as_json)
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


def _show(run: Context, done: Decided) -> None:
    if run.out.as_json:
        run.out.json({"done": sound(done.line), "commit": done.written.commit if done.written else None})
        return
    commit = f"{done.written.commit[:8]} " if done.written else ""
    run.out.data(run.out.safe(commit + done.line))
    if done.written:
        run.out.say(f"undo: git mem undo {done.written.commit[:12]}")
