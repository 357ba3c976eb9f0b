"""`git mem review`: decide on dreams, suggestions, disputes and what was held; ask others to decide."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer
import typer.core

from gitmem.cli.context import Context, DryRun, Json, Quiet, Yes, context
from gitmem.cli.review_edit import asked_why, edit
from gitmem.cli.review_open import open_, open_request
from gitmem.cli.words import sound
from gitmem.core.errors import UsageError
from gitmem.integrations.deciding import Decided
from gitmem.integrations.deciding import accept as carry_out_accept
from gitmem.integrations.deciding import reject as carry_out_reject
from gitmem.integrations.review import queue, tell_item

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
    app.command()(edit)
    app.command(name="open")(open_)


def review(
    ctx: typer.Context,
    open_it: Annotated[
        bool,
        typer.Option("--open", help="Ask others: push your inbox, a dream or documents; open a request."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Lists what waits for you: dreams, inboxes, suggestions, disputes, documents, and what was held."""
    ctx.meta["gitmem.review"] = given = {
        "dry_run": dry_run,
        "yes": yes,
        "quiet": quiet,
        "as_json": as_json,
    }
    if ctx.invoked_subcommand is not None:
        return
    if open_it:
        open_request(ctx, "", **given)
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
        run.out.data(f"{item.id or '-':10} {item.kind:10} {item.title}")
    if not items:
        run.out.say("nothing waits for you")
    elif any(item.id for item in items):
        run.out.say("look: git mem review show ID; decide: git mem review accept|reject ID")


def show(
    ctx: typer.Context,
    id: Id,
    whole: Annotated[bool, typer.Option("--all", help="Long claims to their end.")] = False,
    as_json: Json = False,
) -> None:
    """Shows one item whole: claim by claim, before and after, why, who taught it, and whether it is proved.

    A dream that was turned down can be shown for 90 days.
    """
    run = context(ctx, as_json=as_json)
    told = tell_item(run.workspace, run.edges, id, whole=whole)
    if run.out.as_json:
        run.out.json(told.value)
        return
    for line in told.lines:
        run.out.data(line)


def accept(
    ctx: typer.Context,
    id: Id,
    numbers: Numbers = None,
    how: Annotated[
        Literal["merge", "replace"], typer.Option("--how", help="How a snapshot is taken in.")
    ] = "merge",
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accepts an item, or some of its changes; of a dispute, the claims that stand."""
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)

    def ask(question: str) -> None:
        run.out.ask(question)

    _show(run, carry_out_accept(run.workspace, run.edges, id, tuple(numbers or ()), ask, how))


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
    why = why or asked_why(run, f"Why is {id} turned down?")
    _show(run, carry_out_reject(run.workspace, run.edges, id, tuple(numbers or ()), why))


def _show(run: Context, done: Decided) -> None:
    if run.out.as_json:
        run.out.json(
            {
                "done": sound(done.line),
                "commit": done.commits[-1] if done.commits else None,
                "notes": [sound(note) for note in done.notes],
            }
        )
        return
    commit = f"{done.commits[-1][:8]} " if done.commits else ""
    run.out.data(commit + done.line)
    for note in done.notes:
        run.out.say(f"  {note}")
    for oid in reversed(done.commits):
        run.out.say(f"undo: git mem undo {oid[:12]}")
