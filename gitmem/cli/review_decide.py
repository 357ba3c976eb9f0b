"""`git mem review accept` and `reject`: one item or many, each decided on its own."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import typer

from gitmem.cli.context import CommandContext
from gitmem.cli.output import sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.dream.review import ANSWERS
from gitmem.flows.decide import (
    DIFFERENT,
    Batch,
    Decided,
    DecidingSession,
    ItemChoice,
    Verdict,
    bulk,
    decide,
)
from gitmem.flows.exit import shown
from gitmem.flows.review import pick, queue
from gitmem.flows.review_items import ReviewItem
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
    asked = _answered(asked)
    if (asked.kind or asked.who) and not asked.everything:
        raise UsageError("--kind and --from choose among --all", f"git mem review {asked.verdict} --all")
    if not named and not asked.everything:
        raise UsageError(f"Say what to {asked.verdict}: ids, or --all", "See what waits: git mem review")
    if not (dry_run or asked.everything or len(named) > 1):
        (id, numbers) = named[0]
        answer = next((one for one in ANSWERS if one in asked.answers), None)
        choice = ItemChoice(id, asked.verdict, numbers, _reason(run, asked, id), asked.at, answer)
        batch = decide(_session(run, asked), queue(run.workspace, run.edges), [choice])
        if not batch.done:
            raise batch.failed[0][1]
        if batch.failed:
            show_batch(run, batch, [])
        else:
            _show_one(run, batch.done[0][2])
        return
    items = queue(run.workspace, run.edges)
    left: list[ReviewItem] = []
    if asked.everything:
        wanted, left = bulk(items, asked.kind, asked.who)
        named = [(item.id, ()) for item in wanted]
    if dry_run:
        _foretell(run, asked, items, named, left)
    else:
        why = _reason(run, asked, f"these {len(named)}") if named else ""
        choices = [ItemChoice(id, asked.verdict, numbers, why) for id, numbers in named]
        show_batch(run, decide(_session(run, asked), items, choices), left)


def _answered(asked: TypedAnswer) -> TypedAnswer:
    """What was asked for, where one answer is a rejection: two different things both stay."""
    return replace(asked, verdict="reject", why=DIFFERENT) if "different" in asked.answers else asked


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


def _session(run: CommandContext, asked: TypedAnswer) -> DecidingSession:
    return DecidingSession(run.workspace, run.edges, run.out.ask, asked.how, asked.allowed)


def _reason(run: CommandContext, asked: TypedAnswer, what: str) -> str:
    if asked.why or asked.verdict == "accept":
        return asked.why
    verb = "is" if len(_named(asked.words)) == 1 else "are"
    return asked_why(run, f"Why {verb} {what} rejected?")


def _foretell(
    run: CommandContext,
    asked: TypedAnswer,
    items: Sequence[ReviewItem],
    named: list[tuple[str, tuple[int, ...]]],
    left: list[ReviewItem],
) -> None:
    would = [(pick(items, id), numbers) for id, numbers in named]
    if run.out.as_json:
        chosen = [{"id": item.id, "kind": item.kind, "numbers": list(numbers)} for item, numbers in would]
        run.out.json({"would": asked.verdict, "items": chosen, "left": [item.id for item in left]})
        return
    for item, numbers in would:
        some = f" {' '.join(map(str, numbers))}" if numbers else ""
        run.out.data(f"would {asked.verdict} {item.id}{some} {item.kind} {item.title}")
    if not would:
        run.out.say(f"nothing to {asked.verdict}")
    _tell_left(run, left)


def _tell_left(run: CommandContext, left: list[ReviewItem]) -> None:
    if left:
        ids = ", ".join(item.id for item in left)
        run.out.say(f"{counted(len(left), 'item')} to be decided by name: {ids}")


def _show_one(run: CommandContext, done: Decided) -> None:
    if run.out.as_json:
        run.out.json(
            {
                "done": sound(done.line),
                "commit": done.commits[-1] if done.commits else None,
                "notes": [sound(note) for note in done.notes],
                "undo": [sound(command) for command in done.undo],
            }
        )
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
    sys.stderr.write(f"{shown(question)} (empty for no reason) ")
    sys.stderr.flush()
    return sys.stdin.readline().strip()
