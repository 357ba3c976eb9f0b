"""What a measured recall comes to, in figures with a stable schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitmem.app.bench.ground import follows
from gitmem.app.bench.intervals import normal
from gitmem.app.bench.recall import DEPTHS, Asked, Measured

INTERVAL = "95 %, normal over queries"


def figures(measured: Measured) -> dict[str, Any]:
    """Adds queries up.

    Shares are means over queries of the share of what is relevant, 0 to 100. Ranking is measured before the
    choice, which may rightly show less; `selected` is measured after it. `threads` counts lines that follow
    another, and are searched as memories of one session are. Queries with nothing relevant, and
    those of which all that is relevant is missing, are counted apart.
    """
    scored = [one for one in measured.asked if one.relevant]
    silent = [one for one in measured.asked if not one.relevant and not one.missing]
    return {
        "spaces": len(measured.given.spaces),
        "memories": sum(len(space.lines) for space in measured.given.spaces),
        "threads": sum(sum(follows(space.lines)) for space in measured.given.spaces),
        "queries": len(scored),
        **{f"recall@{depth}": _mean([one.share(depth) for one in scored]) for depth in DEPTHS},
        "mrr": _rounded([1 / one.first if one.first else 0.0 for one in scored]),
        "selected": {
            "answered": sum(bool(one.selected) for one in scored),
            "shown": round(sum(len(one.selected) for one in scored) / len(scored), 2) if scored else None,
            "recall@5": _mean([one.selected_share for one in scored]),
        },
        "nothing_relevant": {
            "queries": len(silent),
            "answered": sum(bool(one.selected) for one in silent),
        },
        "missing_relevant": sum(len(one.missing) for one in measured.asked),
        "unanswerable": sum(one.unanswerable for one in measured.asked),
        "unread_times": measured.given.unread_times,
        "ms": {
            "p50": _quantile([one.ms for one in measured.asked], 0.5),
            "p95": _quantile([one.ms for one in measured.asked], 0.95),
        },
        "index": {"seconds": round(measured.index_seconds, 3), "bytes": measured.index_bytes},
        "interval": INTERVAL,
    }


def each(measured: Measured) -> list[dict[str, Any]]:
    """Every query with what was found, for `--verbose`."""
    return [
        {
            "space": one.space,
            "id": one.query.id,
            "query": one.query.text,
            "relevant": list(one.relevant),
            "missing": list(one.missing),
            "first": one.first,
            "found": list(one.ranked[: DEPTHS[-1]]),
            "selected": list(one.selected),
        }
        for one in measured.asked
    ]


def not_found(measured: Measured) -> list[Asked]:
    """Queries without all that is relevant among the first five."""
    return [one for one in measured.asked if one.relevant and one.share(5) < 1]


def _mean(shares: Sequence[float]) -> dict[str, float] | None:
    if not shares:
        return None
    mean, low, high = (round(100 * value, 1) for value in normal(shares))
    return {"mean": mean, "low": low, "high": high}


def _rounded(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _quantile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that so many are not above (nearest rank)."""
    if not values:
        return None
    ranked = sorted(values)
    return round(ranked[max(0, -(-int(share * 100) * len(ranked) // 100) - 1)], 2)
