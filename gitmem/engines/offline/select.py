"""Which memories fit a query, by their words alone."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from gitmem.core.change import Header
from gitmem.engines.offline.likeness import words

# Okapi BM25's usual constants; headers are short and alike in length, so length counts less.
K1 = 1.2
B = 0.4
# A name is a handful of chosen words: each counts twice.
NAME_WEIGHT = 2
# A hit must explain this part of what the query's words could explain, and this part of the best hit.
LEAST_SHARE = 0.25
LEAST_OF_BEST = 0.4


def select(query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
    """Picks the memories whose name and description share enough of the query's telling words.

    Args:
        query: what was asked.
        headers: candidates.
        limit: how many at most.

    Returns:
        indices into `headers`, best first, ties in order; empty where nothing fits.
    """
    asked = set(words(query))
    if limit <= 0 or not asked or not headers:
        return ()
    bags = [
        Counter(words(h.name.replace("-", " ").replace("_", " ")) * NAME_WEIGHT + words(h.description))
        for h in headers
    ]
    lengths = [sum(bag.values()) for bag in bags]
    average = (sum(lengths) / len(lengths)) or 1.0
    in_how_many = Counter(word for bag in bags for word in bag)

    def weight(word: str) -> float:
        return math.log(1 + (len(bags) - in_how_many[word] + 0.5) / (in_how_many[word] + 0.5))

    possible = sum(weight(w) for w in asked if in_how_many[w]) + 0.5 * sum(
        weight(w) for w in asked if not in_how_many[w]
    )
    ranked: list[tuple[float, int]] = []
    for i, bag in enumerate(bags):
        shared = [w for w in asked if bag[w]]
        if not shared or sum(weight(w) for w in shared) < LEAST_SHARE * possible:
            continue
        saturation = K1 * (1 - B + B * lengths[i] / average)
        score = sum(weight(w) * bag[w] * (K1 + 1) / (bag[w] + saturation) for w in sorted(shared))
        ranked.append((score, i))
    ranked.sort(key=lambda r: (-r[0], r[1]))
    return tuple(i for score, i in ranked[:limit] if score >= LEAST_OF_BEST * ranked[0][0])
