"""`git mem review edit`: a person changes what a dream proposes, in an editor or from standard input."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import Context, Json, Quiet, context
from gitmem.cli.words import sound
from gitmem.core.errors import UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.text import counted, one_line
from gitmem.flows.exit import shown

if TYPE_CHECKING:
    from gitmem.flows.review_edit import Given, HandEdit
    from gitmem.ledger.decide import Lost


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
    from gitmem.flows.review import find_waiting_dream
    from gitmem.flows.review_edit import edit_dream

    run = context(ctx, as_json=as_json, quiet=quiet)
    dream = find_waiting_dream(run.workspace, id)
    done = edit_dream(
        run.workspace,
        run.edges,
        dream,
        number,
        why=why,
        ask_why=lambda gone: _ask_about(run, gone),
        given=_given(file) if file else None,
    )
    if run.out.as_json:
        run.out.json(_value(done))
    else:
        _show(run, done)


def asked_why(run: Context, question: str) -> str:
    """A reason from whoever sits at the terminal; empty where nobody does, or they give none."""
    out = run.out
    if out.yes or out.as_json or out.quiet or not sys.stdin.isatty():
        return ""
    sys.stderr.write(f"{shown(question)} (empty for no reason) ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()


def _ask_about(run: Context, gone: tuple[Lost, ...]) -> str:
    for one in gone:
        run.out.say(f"  takes out: {one_line(one.text, 100)}")
    return asked_why(run, f"Why {'does it' if len(gone) == 1 else 'do they'} go?")


def _given(path: str) -> Given:
    from gitmem.flows.review_edit import Given

    data = sys.stdin.buffer.read(MEMORY_BYTES + 1)
    if not data.strip():
        raise UsageError(
            f"Standard input has no text for {path}", "To keep a memory as it was, reject its change."
        )
    return Given(path, data)


def _value(done: HandEdit) -> dict[str, object]:
    from gitmem.flows.review_dream import proof_value

    written = done.done.written
    return {
        "id": done.dream.id,
        "ref": done.ref,
        "commit": written.commit if written else None,
        "files": sorted(map(sound, written.edits)) if written else [],
        "silent": [{"claim": sound(one.claim), "text": sound(one.text)} for one in done.done.silent],
        "proof": proof_value(done.failures) if written else None,
    }


def _show(run: Context, done: HandEdit) -> None:
    from gitmem.dream.cards import proof_lines

    out, written = run.out, done.done.written
    if written is None:
        out.data(f"nothing was changed in {done.dream.id}")
        return
    files = [path for path in written.edits if path.endswith(".md")]
    out.data(f"{written.commit[:8]} edited {counted(len(files), 'memory')} of {done.dream.id}")
    for caution in done.done.warnings:
        out.say(
            f"may be a secret: {caution.path}: {caution.text} "
            f"(gitmem.allow {' '.join(caution.fingerprints)})"
        )
    for line in proof_lines(done.failures):
        out.say(line)
    for one in done.done.silent:
        out.say(f"  no reason is given for taking out: {one_line(one.text, 100)}")
    if done.done.silent:
        out.say("accept will refuse that; undo it and edit again with -m WHY")
    if done.dream.remote:
        out.say(f"send it: git mem review --open {done.dream.id}")
    out.say(f"undo: git mem undo {written.commit[:12]}")
