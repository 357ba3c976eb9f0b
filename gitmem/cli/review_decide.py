"""`git mem review accept` and `reject`: one item or many, each decided on its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import typer

from gitmem.cli.context import CommandContext
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.dream.review import ANSWERS, as_answered, to_accept
from gitmem.flows.decide import (
    DIFFERENT,
    Batch,
    Decided,
    DecidingSession,
    ItemChoice,
    Verdict,
    bulk,
    chosen,
    decide,
)
from gitmem.flows.redaction import redact
from gitmem.flows.review import queue
from gitmem.flows.review_items import ReviewItem
from gitmem.ledger.dreams import Dream, DreamCommit
from gitmem.values import dataclass


@dataclass(frozen=True)
class TypedAnswer:
    """What a person typed.

    Attributes:
        words: ids, each perhaps followed by numbers.
        everything: instead of ids, all that `bulk` finds of this kind and from there.
        at: commit of the one dream that is named, as it was shown.
        answers: options by which questions of one dream were answered.
    """

    verdict: Verdict
    words: tuple[str, ...] = ()
    everything: bool = False
    kind: str = ""
    who: str = ""
    how: Literal["merge", "replace"] = "merge"
    why: str = ""
    allowed: bool = False
    at: str = ""
    answers: tuple[str, ...] = ()


def decide_on(run: CommandContext, asked: TypedAnswer, *, dry_run: bool) -> None:
    """Decides, and tells what came of it; one item by its own words, several by how many there were.

    Raises:
        UsageError: no item is named, or ids and `--all` are mixed.
        Exit: some of several could not be decided; the code is the first one's.
    """
    named = _named(asked.words)
    if asked.everything and named:
        raise UsageError("Give ids or --all, not both")
    if asked.at and len(named) != 1:
        raise UsageError("--at is the commit of one dream that was shown", "Name that dream alone.")
    if asked.answers and (len(named) != 1 or not named[0][1] or len(asked.answers) > 1):
        raise UsageError(
            "--same, --newer, --older and --different each answer questions of one dream",
            f"git mem review accept ID N --{asked.answers[0]}",
        )
    if "different" in asked.answers:  # one answer is a rejection: both stay
        asked = replace(asked, verdict="reject", why=DIFFERENT)
    if (asked.kind or asked.who) and not asked.everything:
        raise UsageError("--kind and --from choose among --all", f"git mem review {asked.verdict} --all")
    if not named and not asked.everything:
        raise UsageError(f"Say what to {asked.verdict}: ids, or --all", "See what waits: git mem review")
    alone = len(named) == 1
    why = _reason(run, asked, named[0][0]) if alone and not dry_run else ""
    items = queue(run.workspace, run.edges)
    left: list[ReviewItem] = []
    if asked.everything:
        wanted, left = bulk(items, asked.kind, asked.who)
        named = [(item.id, ()) for item in wanted]
    if named and not alone and not dry_run:
        why = _reason(run, asked, f"these {len(named)}")
    answer = next((one for one in ANSWERS if one in asked.answers), None)
    choices = [ItemChoice(id, asked.verdict, some, why, asked.at, answer) for id, some in named]
    if dry_run:
        _foretell(run, asked, items, choices, left)
        return
    session = DecidingSession(run.workspace, run.edges, run.out.ask, asked.how, asked.allowed)
    batch = decide(session, items, choices)
    if alone and not batch.done:
        raise batch.failed[0][1]
    if alone and not batch.failed:
        _show_one(run, batch.done[0][2])
    else:
        show_batch(run, batch, left)


def show_batch(run: CommandContext, batch: Batch, left: list[ReviewItem]) -> None:
    """Tells what a batch did, what went on waiting and why, and the one undo of it.

    Args:
        left: what `--all` left to be decided by name.

    Raises:
        Exit: something could not be decided.
    """
    out = run.out
    if out.as_json:
        out.json(batch.as_value(left))
    else:
        out.data(batch.line)
        for _, item, made in batch.done:
            for note in made.notes:
                out.say(f"  {item.id}: {note}")
        for id, error in batch.failed:
            out.warn(f"{id} was not decided: {error.message}{f' ({error.hint})' if error.hint else ''}")
        _tell_left(run, left)
        for oid in batch.undo:
            out.say(f"undo: git mem undo {oid[:12]}")
        for command in [command for _, _, made in batch.done for command in made.undo]:
            out.say(f"undo: {command}")
    if batch.failed:
        raise typer.Exit(batch.failed[0][1].exit_code)


def _named(words: tuple[str, ...]) -> list[tuple[str, tuple[int, ...]]]:
    found: list[tuple[str, tuple[int, ...]]] = []
    for word in words:
        if word.isascii() and word.isdecimal():
            if not found:
                raise UsageError(f"The number {word} follows no id", "See the ids: git mem review")
            id, numbers = found.pop()
            found.append((id, (*numbers, int(word))))
        else:
            found.append((word, ()))
    return found


def _reason(run: CommandContext, asked: TypedAnswer, what: str) -> str:
    if asked.why or asked.verdict == "accept":
        return asked.why
    verb = "is" if len(_named(asked.words)) == 1 else "are"
    return asked_why(run, f"Why {verb} {what} rejected?")


def _foretell(
    run: CommandContext,
    asked: TypedAnswer,
    items: Sequence[ReviewItem],
    choices: list[ItemChoice],
    left: list[ReviewItem],
) -> None:
    would = [(chosen(items, one), one) for one in choices]
    changes = {item.id: _changes(item.subject, one) for item, one in would}
    if run.out.as_json:
        told = [{"id": item.id, "kind": item.kind, "numbers": list(one.numbers)} for item, one in would]
        run.out.json({"would": asked.verdict, "items": told, "left": [item.id for item in left]})
        return
    for item, one in would:
        some = f" {' '.join(map(str, one.numbers))}" if one.numbers else ""
        what = [f" {one.n}. {one.subject}" for one in changes[item.id]] or [
            f"{some} {item.kind} {item.title}"
        ]
        for each in what:
            run.out.data(f"would {asked.verdict} {item.id}{each}")
    if not would:
        run.out.say(f"nothing to {asked.verdict}")
    _tell_left(run, left)


def _changes(subject: object, choice: ItemChoice) -> tuple[DreamCommit, ...]:
    """The changes that a dream's answer is about; none of anything else.

    Raises:
        UsageError: as deciding it would.
    """
    if not isinstance(subject, Dream):
        return ()
    numbers = choice.numbers or None
    dream = as_answered(subject, choice.answers)
    return to_accept(dream, numbers) if choice.verdict == "accept" else dream.chosen(numbers)


def _tell_left(run: CommandContext, left: list[ReviewItem]) -> None:
    if left:
        ids = ", ".join(item.id for item in left)
        run.out.say(f"{counted(len(left), 'item')} to be decided by name: {ids}")


def _show_one(run: CommandContext, done: Decided) -> None:
    if run.out.as_json:
        run.out.json(done.as_value())
        return
    commit = f"{done.commits[-1][:8]} " if done.commits else ""
    run.out.data(commit + done.line)
    for note in done.notes:
        run.out.say(f"  {note}")
    for oid in reversed(done.commits):
        run.out.say(f"undo: git mem undo {oid[:12]}")
    for command in done.undo:
        run.out.say(f"undo: {command}")


def asked_why(run: CommandContext, question: str) -> str:
    """A reason from whoever sits at the terminal; empty where nobody does, or they give none."""
    out = run.out
    if out.yes or out.as_json or out.quiet or not sys.stdin.isatty():
        return ""
    sys.stderr.write(f"{redact(question)} (empty for no reason) ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()
