"""One score of several strategies': their sum, for each speaks in the units of the lexical score."""

from __future__ import annotations

from collections.abc import Mapping


def fuse(found: Mapping[str, Mapping[int, float]]) -> dict[int, dict[str, float]]:
    """Gathers what each strategy says of each entry.

    Ranks are not fused: with equal weights that measured worse than the lexical order alone.

    Args:
        found: strategy to an entry's `id` to what it contributes.

    Returns:
        The `id` of each entry to strategy to contribution, rounded, without those that are nothing.
    """
    fused: dict[int, dict[str, float]] = {}
    for strategy, scores in found.items():
        for entry, score in scores.items():
            if rounded := round(score, 6):
                fused.setdefault(entry, {})[strategy] = rounded
    return fused
