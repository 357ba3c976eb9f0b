"""Scores an engine's extraction against labelled sessions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitmem.app.bench.gold import Gold, Label
from gitmem.app.bench.intervals import wilson
from gitmem.core.change import Change
from gitmem.engines.engine import Engine
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.extract.plan import plan_extraction
from gitmem.flows.extract.rules import Rules
from gitmem.ledger.knowledge import Known
from gitmem.transcripts.model import Session


@dataclass(frozen=True)
class Find:
    """What an engine would make of a session.

    Attributes:
        messages: uuids of the messages that it stems from.
        stored: it goes into memory without review.
    """

    change: Change
    messages: tuple[str, ...]
    stored: bool

    @property
    def text(self) -> str:
        """Where key words are looked for, in lower case."""
        change = self.change
        return f"{change.name}\n{change.description}\n{change.body}".casefold()


@dataclass(frozen=True)
class Scored:
    """One session's score.

    Attributes:
        right: finds with a label each that they match.
        wrong: finds that match none.
        missed: labels that nothing matches.
        violations: finds of what must not be kept.
        wide: candidates, of an engine that gives such; None of another.
        spoken: messages of a person.
    """

    name: str
    right: tuple[tuple[Find, Label], ...]
    wrong: tuple[Find, ...]
    missed: tuple[Label, ...]
    labels: tuple[Label, ...]
    violations: tuple[Find, ...]
    spoken: int
    wide: tuple[Find, ...] | None = None


def score(gold: Gold, engine: Engine) -> Scored:
    """Runs an engine over one session and compares.

    Raises:
        EngineError: the engine failed.
    """
    finds, wide = _finds(gold.session, engine)
    right: list[tuple[Find, Label]] = []
    wrong: list[Find] = []
    for find in finds:
        fitting = [label for label in gold.labels if label.holds(find.messages, find.text)]
        taken = [label for _, label in right]
        label = next((one for one in fitting if one not in taken), fitting[0] if fitting else None)
        if label is None:
            wrong.append(find)
        else:
            right.append((find, label))
    found = {label for _, label in right}
    return Scored(
        gold.name,
        tuple(right),
        tuple(wrong),
        tuple(label for label in gold.labels if label not in found),
        gold.labels,
        tuple(find for find in finds if any(one.holds(find.messages, find.text) for one in gold.excluded)),
        sum(message.role == "person" for message in gold.session.messages),
        wide,
    )


def figures(scored: Sequence[Scored]) -> dict[str, Any]:
    """Adds scores up; rates are None where they would divide by nothing."""
    right = [pair for one in scored for pair in one.right]
    wrong = [find for one in scored for find in one.wrong]
    labels = [label for one in scored for label in one.labels]
    missed = [label for one in scored for label in one.missed]
    stored = sum(find.stored for find, _ in right)
    asked = [label for label in labels if label.asked]
    asked_stored = sum(
        label.asked and any(find.stored and by is label for one in scored for find, by in one.right)
        for label in labels
    )
    plain = [label for label in labels if label.plain]
    suggested = sum(not find.stored for find, _ in right)
    unasked = suggested + sum(not find.stored for find in wrong)
    wide = [one for one in scored if one.wide is not None]
    spread = [label for one in wide for label in one.labels if label.plain]
    reached = sum(
        any(label.holds(find.messages, find.text) for find in one.wide or ())
        for one in wide
        for label in one.labels
        if label.plain
    )
    return {
        "sessions": len(scored),
        "messages": sum(one.spoken for one in scored),
        "labels": len(labels),
        "stored": _rate(stored, stored + sum(find.stored for find in wrong)),
        "suggested": _rate(suggested, unasked),
        "suggested_a_session": round(unasked / max(1, len(scored)), 2),
        "stored_and_suggested": _rate(len(right), len(right) + len(wrong)),
        "recall_asked_stored": _rate(asked_stored, len(asked)),
        "recall_plain": _rate(len(plain) - sum(label.plain for label in missed), len(plain)),
        "recall_plain_wide": _rate(reached, len(spread)),
        "candidates_a_session": round(sum(len(one.wide or ()) for one in wide) / max(1, len(wide)), 2),
        "recall": _rate(len(labels) - len(missed), len(labels)),
        "types": _rate(sum(find.change.type == label.type for find, label in right), len(right)),
        "exclusion_violations": sum(len(one.violations) for one in scored),
        "finds_where_nothing_is_to_keep": sum(len(one.wrong) for one in scored if not one.labels),
    }


def _rate(right: int, of: int) -> dict[str, Any]:
    low, high = wilson(right, of)
    share = round(right / of, 3) if of else None
    return {"right": right, "of": of, "share": share, "low": round(low, 3), "high": round(high, 3)}


def _finds(session: Session, engine: Engine) -> tuple[tuple[Find, ...], tuple[Find, ...] | None]:
    """What would be stored, then what would wait in review, as the flow decides; and the candidates."""
    plan = plan_extraction(session, (), Known(), engine, Rules())
    order = {message.uuid: place for place, message in enumerate(session.messages)}
    uuids = [message.uuid for message in session.messages]

    def find(change: Change, stored: bool) -> Find:
        first, last = change.origin.first, change.origin.last
        span = uuids[order.get(first, 0) : order.get(last, -1) + 1]
        return Find(change, tuple(span) or (first, last), stored)

    finds = tuple(find(one.change, one in plan.stored) for one in (*plan.stored, *plan.suggested))
    if not isinstance(engine, OfflineEngine):
        return finds, None
    return finds, tuple(find(one.change, False) for one in engine.candidates(plan.given))
