"""`git mem review`: decide on dreams, suggestions, disputes and what was held; ask others to decide."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Allow, DryRun, Json, Quiet, Yes
from gitmem.cli.output import sound
from gitmem.cli.save import OF_HELD
from gitmem.core.errors import UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.text import counted, one_line
from gitmem.flows.review import queue, tell_item
from gitmem.ledger.save_plan import ABSENT

if TYPE_CHECKING:
    from gitmem.flows.review_edit import EditedFile
    from gitmem.ledger.dream_branch import HandEdit, LostClaim

DECIDE = {"inbox": "accept|reject {} [N...]", "dispute": "accept {} N...", "suggestion": "accept|reject {}"}
"""What decides on an item, by its kind; the others say so themselves."""


def _ids(ctx: typer.Context, incomplete: str) -> list[str]:
    from gitmem.cli.options import review_ids

    return review_ids(ctx, incomplete)


Id = Annotated[str, typer.Argument(help="Id of the item, or its beginning.", autocompletion=_ids)]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID [N]...",
        help="Ids, or their beginnings; numbers after one stand for changes of that dream, memories of "
        "that inbox, or claims of that dispute.",
        show_default=False,
        autocompletion=_ids,
    ),
]
All = Annotated[bool, typer.Option("--all", help="All that a yes or no decides.")]
AsShown = Annotated[
    str,
    typer.Option(
        "--at",
        metavar="COMMIT",
        help="Decide on the dream as this commit showed it; refuse one that moved since.",
        show_default=False,
    ),
]
Kind = Annotated[
    Literal["suggestion", "import", "dream", "promotion", "snapshot"] | None,
    typer.Option("--kind", help="With --all, only this kind.", show_default=False),
]
From = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="WHO",
        help="With --all, only what comes from there: offline, anthropic, agent, a session, a remote.",
        show_default=False,
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
    app.command()(settle)
    app.command()(edit)
    app.command(name="open")(open_)


def review(
    ctx: typer.Context,
    open_it: Annotated[
        bool,
        typer.Option("--open", help="Ask others: push your inbox, a dream or documents; open a request."),
    ] = False,
    interactive: Annotated[
        bool,
        typer.Option("--interactive", "-i", help="Walk through it in the terminal, one key for each."),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Lists what waits for you: dreams, inboxes, suggestions, disputes, documents, what was held back."""
    ctx.meta["gitmem.review"] = given = {
        "dry_run": dry_run,
        "yes": yes,
        "quiet": quiet,
        "as_json": as_json,
    }
    if interactive and (open_it or as_json or ctx.invoked_subcommand is not None):
        from gitmem.cli.review_walk import BY_ID

        raise UsageError("-i goes through the whole queue, for a person", BY_ID)
    if ctx.invoked_subcommand is not None:
        return
    if interactive:
        from gitmem.cli.review_walk import terminal_keys, walk

        run = context(ctx, quiet=quiet, yes=yes)
        walk(run, terminal_keys, dry_run=dry_run)
        return
    if open_it:
        _open_request(ctx, "", **given)
        return
    if dry_run:
        raise UsageError("--dry-run belongs to -i, --open, accept or reject")
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes, pages=True)
    items = queue(run.workspace, run.edges)
    if run.out.as_json:
        run.out.json([item.as_value() for item in items])
        return
    for item in items:
        id = f"{item.id or '-':10}"
        run.out.data(f"{run.out.paint(id, 'yellow')} {item.kind:10} {item.title}")
    if not items:
        run.out.say("nothing waits for you")
    if any(item.kind == "held" and ABSENT in item.title for item in items):
        run.out.say(OF_HELD)
    if any(item.id for item in items):
        run.out.say("look: git mem review show ID; decide: git mem review accept|reject ID...; all: -i")


def show(
    ctx: typer.Context,
    id: Id,
    whole: Annotated[bool, typer.Option("--all", help="Long claims to their end.")] = False,
    as_json: Json = False,
) -> None:
    """Shows one item whole: claim by claim, before and after, why, who taught it, and whether it is proved.

    A dream that was rejected can be shown for 90 days.
    """
    run = context(ctx, as_json=as_json, pages=True)
    told = tell_item(run.workspace, run.edges, id, whole=whole)
    if run.out.as_json:
        run.out.json(told.value)
        return
    for line in run.out.claims(told.lines):
        run.out.data(line)
    words = "" if told.value.get("closed") else DECIDE.get(told.value["kind"], "")
    if words:
        run.out.say(f"decide: git mem review {words.format(told.value['id'])}")


def settle(ctx: typer.Context, dry_run: DryRun = False) -> None:
    """Walks through contradictions: disputes, and questions of dreams; one key for each.

    It is git mem review -i without all that asks for a yes or no alone.
    """
    from gitmem.cli.review_walk import is_contrary, terminal_keys, walk

    dry = dry_run or _given(ctx, "dry_run")
    walk(context(ctx), terminal_keys, dry_run=dry, only=is_contrary)


def accept(
    ctx: typer.Context,
    words: Words = None,
    everything: All = False,
    kind: Kind = None,
    who: From = "",
    how: Annotated[
        Literal["merge", "replace"], typer.Option("--how", help="How a snapshot is applied.")
    ] = "merge",
    allow: Allow = False,
    at: AsShown = "",
    same: Annotated[bool, typer.Option("--same", help="To a dream's question: one is enough.")] = False,
    newer: Annotated[bool, typer.Option("--newer", help="The later one stands, the other goes.")] = False,
    older: Annotated[bool, typer.Option("--older", help="The earlier one stands, the other goes.")] = False,
    different: Annotated[
        bool, typer.Option("--different", help="Both stay, and it is not asked again.")
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Accepts items, or some changes of one; of a dispute, the claims that stand.

    Several are decided each on its own: what cannot be accepted is named and goes on waiting, and one
    git mem undo takes all of it back. --all leaves out what asks more than yes or no, or concerns others.
    """
    from gitmem.cli.review_decide import TypedAnswer, decide_on  # a list decides nothing

    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    given = {"same": same, "newer": newer, "older": older, "different": different}
    answers = tuple(answer for answer, said in given.items() if said)
    named = tuple(words or ())
    decide_on(
        run,
        TypedAnswer(
            "accept", named, everything, kind or "", who, how, allowed=allow, at=at, answers=answers
        ),
        dry_run=dry_run or _given(ctx, "dry_run"),
    )


def reject(
    ctx: typer.Context,
    words: Words = None,
    everything: All = False,
    kind: Kind = None,
    who: From = "",
    why: Annotated[str, typer.Option("-m", "--message", help="Why; kept with the decision.")] = "",
    at: AsShown = "",
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rejects items, or some changes of one; it is remembered, and they do not come back.

    Several are decided each on its own, as by git mem review accept.
    """
    from gitmem.cli.review_decide import TypedAnswer, decide_on  # a list decides nothing

    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    decide_on(
        run,
        TypedAnswer("reject", tuple(words or ()), everything, kind or "", who, why=why, at=at),
        dry_run=dry_run or _given(ctx, "dry_run"),
    )


def edit(
    ctx: typer.Context,
    id: Annotated[str, typer.Argument(help="Id of a dream, or its beginning.")],
    number: Annotated[
        int | None,
        typer.Argument(metavar="[N]", help="Only the memories of this change.", show_default=False),
    ] = None,
    file: Annotated[
        str,
        typer.Option(
            "--file",
            metavar="PATH",
            help="One memory (AGENT/FILE.md), its new text on standard input; no editor.",
            show_default=False,
        ),
    ] = "",
    why: Annotated[str, typer.Option("-m", "--message", help="Why claims go; kept with the edit.")] = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Opens the memories that a dream touches in your editor; what you change is your commit on its branch.

    Memory itself changes with git mem review accept. A claim that you take out needs a reason.
    """
    from gitmem.dream.review import find_dream
    from gitmem.flows.review_edit import edit_dream

    run = context(ctx, as_json=as_json, quiet=quiet)
    dream = find_dream(run.workspace, id)
    done = edit_dream(
        run.workspace,
        run.edges,
        dream,
        number,
        why=why,
        ask_why=lambda gone: _ask_about(run, gone),
        given=_from_stdin(file) if file else None,
    )
    if run.out.as_json:
        run.out.json(_edited(done))
    else:
        _show_edited(run, done)


def _ask_about(run: CommandContext, gone: tuple[LostClaim, ...]) -> str:
    from gitmem.cli.review_decide import asked_why  # as above

    for one in gone:
        run.out.say(f"  takes out: {one_line(one.text, 100)}")
    return asked_why(run, f"Why {'does it' if len(gone) == 1 else 'do they'} go?")


def _from_stdin(path: str) -> EditedFile:
    from gitmem.flows.review_edit import EditedFile

    data = sys.stdin.buffer.read(MEMORY_BYTES + 1)
    if not data.strip():
        raise UsageError(
            f"Standard input has no text for {path}", "To keep a memory as it was, reject its change."
        )
    return EditedFile(path, data)


def _edited(done: HandEdit) -> dict[str, object]:

    from gitmem.flows.review_dream import proof_value

    written = done.written
    return {
        "id": done.dream.id,
        "ref": done.dream.here,
        "commit": written.commit if written else None,
        "files": sorted(map(sound, written.edits)) if written else [],
        "silent": [{"claim": sound(one.claim), "text": sound(one.text)} for one in done.silent],
        "proof": proof_value(done.failures) if written else None,
    }


def _show_edited(run: CommandContext, done: HandEdit) -> None:
    from gitmem.dream.cards import proof_lines

    out, written = run.out, done.written
    if written is None:
        out.data(f"nothing was changed in {done.dream.id}")
        return
    files = [path for path in written.edits if path.endswith(".md")]
    out.data(f"{written.commit[:8]} edited {counted(len(files), 'memory')} of {done.dream.id}")
    for caution in done.warnings:
        out.say(
            f"may be a secret: {caution.path}: {caution.text} "
            f"(gitmem.allow {' '.join(caution.fingerprints)})"
        )
    for line in proof_lines(done.failures):
        out.say(line)
    for one in done.silent:
        out.say(f"  no reason is given for taking out: {one_line(one.text, 100)}")
    if done.silent:
        out.say("accept will refuse that; undo it and edit again with -m WHY")
    if done.dream.remote:
        out.say(f"send it: git mem review --open {done.dream.id}")
    out.say(f"undo: git mem undo {written.commit[:12]}")


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
    given = {"dry_run": dry_run, "yes": yes, "quiet": quiet, "as_json": as_json}
    _open_request(ctx, id, **{name: value or _given(ctx, name) for name, value in given.items()})


def _open_request(
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
            run.workspace,
            run.edges,
            id,
            lambda leaves: out.agrees(leaves, f"Share {counted(len(leaves), 'memory')}?"),
            dry_run=dry_run,
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


def _given(ctx: typer.Context, name: str) -> bool:
    """Whether an option was given before the word: `git mem review -n accept ID`."""
    before: dict[str, bool] = ctx.meta.get("gitmem.review", {})
    return before.get(name, False)
