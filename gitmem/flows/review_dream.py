"""One dream whole, for whoever decides on it: claim by claim, who taught each, and what it proves."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gitmem.core.errors import UsageError
from gitmem.core.text import iso
from gitmem.core.trailers import body_of
from gitmem.dream.cards import (
    Card,
    Origins,
    Worth,
    by_kind,
    cards_of,
    claim_origins,
    kind_of,
    show,
    untold,
    worth,
)
from gitmem.dream.proof import by_hand, failures_of
from gitmem.dream.review import outdated
from gitmem.flows.blame import line_value
from gitmem.flows.context import Edges
from gitmem.flows.dream_sources import evidence
from gitmem.flows.json_values import sound
from gitmem.flows.notices import withdraw_proposal
from gitmem.git.repository import short_name
from gitmem.ledger.blame import ClaimOrigin
from gitmem.ledger.dream_branch import Rejected, close_landed, rejected_dreams
from gitmem.ledger.dreams import Dream, DreamCommit
from gitmem.ledger.inbox import remember
from gitmem.ledger.sync import Synced
from gitmem.ledger.workspace import DREAMS, Workspace
from gitmem.rules.account import errors
from gitmem.rules.rule import Finding
from gitmem.values import dataclass


@dataclass(frozen=True)
class DreamText:
    """A dream as it is told.

    Attributes:
        lines: for a person.
        value: the same for a program; added to what the queue says of the dream.
    """

    lines: tuple[str, ...]
    value: dict[str, Any]


def tell(workspace: Workspace, edges: Edges, dream: Dream, *, whole: bool = False) -> DreamText:
    """Tells a dream that waits, with the proof of its branch as it is now.

    Args:
        whole: long claims to their end.
    """
    origins = claim_origins(dream)
    failures = _failures(workspace, edges, dream) + by_hand(dream)
    lines = tuple(show(dream, origins, failures, whole=whole))
    cards = [card_value(card) for card in cards_of(dream.changes, origins, failures)]
    value = _value(dream, origins) | {"cards": cards, "proof": proof_value(failures), "rejected": None}
    return DreamText(lines, value)


def dream_cards(workspace: Workspace, edges: Edges, dream: Dream) -> tuple[Card, ...]:
    """The open changes of a dream as cards, proved as they are now."""
    return cards_of(dream.open, claim_origins(dream), _failures(workspace, edges, dream))


def _failures(workspace: Workspace, edges: Edges, dream: Dream) -> tuple[Finding, ...]:
    found = failures_of(dream, evidence(workspace, edges, dream.scope))
    return (*found, *outdated(dream, workspace.allowed))


def find_rejected(workspace: Workspace, id: str) -> Rejected | None:
    """The dream that was turned down in the last 90 days, by its id or the beginning of one.

    Raises:
        UsageError: several begin so.
    """
    found = rejected_dreams(workspace, id) if id.startswith("d-") else ()
    exact = [one for one in found if one.dream.id == id] or list(found)
    if len(exact) > 1:
        listed = ", ".join(one.dream.id for one in exact)
        raise UsageError(f"Several rejected dreams have ids that begin with {id!r}", f"They are: {listed}.")
    return exact[0] if exact else None


def tell_rejected(one: Rejected, *, whole: bool = False) -> DreamText:
    """Tells a dream that was turned down: what it would have done, and why it did not."""
    origins = claim_origins(one.dream)
    by, time, reason = "", 0, ""
    said = "decided" if any(one.decided == "accepted" for one in one.dream.changes) else "rejected"
    if one.decision is not None:
        by, time = one.decision.author.name, one.decision.author.time
        reason, said = body_of(one.decision.message), f"rejected by {by} on {_day(time)}"
    why = f"{said}: {reason}" if reason else said
    lines = (*show(one.dream, origins, whole=whole, rejected=True), "", *why.splitlines())
    value = {"by": sound(by), "time": iso(time) if time else None, "why": sound(reason)}
    return DreamText(lines, _value(one.dream, origins) | {"proof": None, "rejected": value})


def proof_value(failures: tuple[Finding, ...]) -> dict[str, Any]:
    """What came of a proof, for a program."""
    wrong = errors(failures)
    return {
        "proved": not wrong,
        "failures": [_finding_value(one) for one in wrong],
        "unchecked": [_finding_value(one) for one in failures if one not in wrong],
    }


def _finding_value(one: Finding) -> dict[str, Any]:
    said = {"path": one.path, "rule": one.rule, "message": one.message, "claim": one.claim}
    return {key: sound(text) for key, text in said.items()}


def _value(dream: Dream, origins: Origins) -> dict[str, Any]:
    return {
        "base": dream.base,
        "tip": dream.tip,
        "time": iso(dream.time),
        "summary": sound(dream.summary),
        "kinds": by_kind(dream.open),
        "saves": worth_value(worth(dream.open)),
        "changes": [_change_value(change, origins) for change in dream.changes],
    }


def card_value(card: Card) -> dict[str, Any]:
    """A card, for a program."""
    return {
        "n": card.n,
        "title": sound(card.title),
        "kind": card.kind,
        "state": sound(card.state),
        "reason": sound(card.reason),
        "sides": [
            {"mark": side.mark, "text": sound(side.text), "notes": list(map(sound, side.notes))}
            for side in card.sides
        ],
        "proof": list(map(sound, card.proof)),
        "later": card.later,
    }


def worth_value(saved: Worth) -> dict[str, int]:
    """What changes save, for a program."""
    return {"lines": saved.lines, "tokens": saved.tokens, "stale": saved.stale}


def _change_value(change: DreamCommit, origins: Origins) -> dict[str, Any]:
    return {
        "n": change.n,
        "kind": kind_of(change),
        "commit": change.commit,
        "subject": sound(change.subject),
        "reason": sound(change.reason),
        "decided": change.decided or None,
        "by": sound(change.by) or None,
        "files": list(map(sound, change.files)),
        "claims": [
            {
                "fate": story.fate.kind,
                "source": sound(story.fate.source),
                "target": sound(story.fate.target) or None,
                "reason": sound(story.fate.reason),
                "before": sound(story.before),
                "after": sound(story.after) or None,
                "line": line_value(story.line) if story.line else None,
                "origins": [_origin_value(one) for one in origins.get(story.fate.source, ())],
            }
            for story in change.claims
        ],
        "untold": [
            {
                "kind": one.kind,
                "path": sound(one.path),
                "before": sound(one.old.text) if one.old else None,
                "after": sound(one.new.text) if one.new else None,
            }
            for one in untold(change)
        ],
    }


def _origin_value(origin: ClaimOrigin) -> dict[str, Any]:
    told = origin.told[0] if origin.told else None
    return {
        "commit": origin.commit,
        "time": iso(origin.time),
        "author": sound(told.author) if told else "",
        "writer": told.provenance.writer if told else "",
        "engine": sound(told.provenance.engine) if told else "",
        "session": sound(told.provenance.session) if told else "",
    }


def _day(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).date().isoformat()


def settle_landed(workspace: Workspace, edges: Edges, done: Synced) -> None:
    """Closes what a sync found decided at the host, remembers what was not taken, and says both."""
    who = workspace.author(edges.now)
    for dream in close_landed(workspace, dict(done.landed), who, edges.now):
        edges.say(f"dream {dream.id} was merged at {done.remote}")
        withdraw_proposal(workspace.state, dream.id)
        for change in dream.left_out:
            edges.say(f"  not taken, and not proposed again: {change.subject}")
    for branch, landing in done.landed:
        if branch.startswith(DREAMS):
            continue
        edges.say(f"{short_name(branch)} was merged at {done.remote}")
        for one in landing.left_out:
            claim = one.new or one.old
            words = " ".join(claim.text.split())[:80] if claim else ""
            edges.say(f"  not taken ({one.kind} in {one.path}): {words}")
        remember(workspace, landing.left_out, who, "a reviewer did not take")
