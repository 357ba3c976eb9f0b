"""What nights of dreams come to, in figures with a stable schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import Any

from gitmem.app.bench.dream import Night, Nights, Size
from gitmem.app.bench.dream_claims import Survival
from gitmem.app.bench.dream_recall import Shares

RECALL = "share of questions whose memory is among the first five, 0 to 100"


def dream_figures(done: Nights) -> dict[str, Any]:
    """The answer as JSON.

    Claims: `by_hash` stand word for word, `by_account` in what took them up, `dropped` were given up with a
    reason; `lost` must be 0. Recall is asked with what memories said when they arrived. A night's `before`
    is its memory before the dream; that of all nights is what arrived, had nobody dreamt.
    """
    proposals: Counter[str] = Counter()
    for night in done.nights:
        proposals.update(night.proposals)
    return {
        "engine": done.engine,
        "seed": done.seed,
        "new_a_night": done.new,
        "corpus": done.memories,
        "arrived": sum(night.arrived for night in done.nights),
        "used_up": done.used_up or None,
        "nights": [_night(night) for night in done.nights],
        "all": {
            "claims": _claims(done.survival),
            "lost": [
                {"claim": one.came, "text": one.claim.text, "why": one.lost or "it is gone"}
                for one in done.lost
            ],
            "recall": _both(*map(_shares, done.recall)),
            "size": _both(*map(_size, done.size)),
            "proposals": dict(sorted(proposals.items())),
            "notes": sum(night.notes for night in done.nights),
            "failures": sum(len(night.failures) for night in done.nights),
            "seconds": round(sum(night.seconds for night in done.nights), 3),
        },
        "stopped": done.stopped.message if done.stopped else None,
        "recall": RECALL,
    }


def _night(night: Night) -> dict[str, Any]:
    usage = night.usage
    return {
        "night": night.number,
        "arrived": night.arrived,
        "proposals": dict(night.proposals),
        "accepted": night.accepted,
        "notes": night.notes,
        "failures": list(night.failures),
        "claims": _claims(night.survival),
        "recall": _both(*map(_shares, night.recall)),
        "size": _both(*map(_size, night.size)),
        "seconds": round(night.seconds, 3),
        "requests": usage.requests if usage else 0,
        "dollars": usage.dollars if usage else 0.0,
    }


def _claims(found: Survival) -> dict[str, int]:
    named = asdict(found)
    return {"arrived": named.pop("claims"), **named}


def _size(size: Size) -> dict[str, int]:
    return asdict(size)


def _shares(found: Shares) -> dict[str, Any]:
    return {
        "descriptions": _share(found.descriptions_found, found.descriptions),
        "sentences": _share(found.sentences_found, found.sentences),
    }


def _share(right: int, of: int) -> dict[str, Any]:
    return {"found": right, "of": of, "share": round(100 * right / of, 1) if of else None}


def _both(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}
