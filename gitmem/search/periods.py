"""What a time that a question names fits: memories that name it, and those that were taught then."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gitmem.core.dates import asked_days
from gitmem.search.candidates import DAY, SearchEntry, SearchSpace

TIMED = 1.5
"""What matching the time is worth, against a word that as many memories have: who names a day means it."""

TAUGHT = 0.6
"""Share of that for a memory that was taught then, and does not name it."""

MOST_TIMED = 200
"""Memories that are found by their time alone, the newest ones."""


def spans(query: str, now: int) -> tuple[tuple[int, int], ...]:
    """Lists the spans of days (proleptic ordinals, UTC) that a question names.

    Args:
        now: epoch seconds, from which they are counted.
    """
    today = datetime.fromtimestamp(now, UTC).date()
    return tuple((first.toordinal(), last.toordinal()) for first, last in asked_days(query, today))


def timed(
    ground: SearchSpace, asked: Sequence[tuple[int, int]], entries: dict[int, SearchEntry], total: int
) -> Mapping[int, float]:
    """Finds what a time fits: all of `entries`, and the newest others.

    Args:
        asked: spans of days.
        entries: what other strategies have found, by `id`; what this finds is put in.
        total: texts in the catalog.

    Returns:
        The `id` of each entry to what it gets.
    """
    if not asked:
        return {}
    known = list(entries.values())
    blobs = {entry.blob for entry in known}
    naming: set[int] = set()
    others: set[int] = set()
    taught: dict[int, SearchEntry] = {}
    for first, last in asked:
        within = f"first BETWEEN {first:d} AND {last:d} AND last <= {last:d}"
        naming |= _naming(ground, f"blob IN ({','.join(map(str, blobs))}) AND {within}")
        others |= _naming(ground, f"{within} ORDER BY first DESC, last DESC, blob LIMIT {MOST_TIMED}")
        begin, end = _seconds(first), _seconds(last + 1) - 1
        taught.update((entry.id, entry) for entry in ground.between(begin, end, MOST_TIMED))
        taught.update((entry.id, entry) for entry in known if begin <= entry.time <= end)
    fitting = dict.fromkeys(taught, TAUGHT)
    naming |= others
    more = list(ground.entries(others - blobs)) if others - blobs else []
    fitting.update((entry.id, 1.0) for entry in (*known, *taught.values(), *more) if entry.blob in naming)
    entries.update(taught)
    entries.update((entry.id, entry) for entry in more)
    worth = TIMED * math.log(1 + (total + 1) / (len(fitting) + 0.5))
    return {id: worth * share for id, share in fitting.items()}


def _naming(ground: SearchSpace, condition: str) -> set[int]:
    """Texts that name a day or month within a span; one that names a longer time than asked does not."""
    return {row[0] for row in ground.catalog.read(f"SELECT blob FROM period WHERE {condition}")}  # noqa: S608


def _seconds(ordinal: int) -> int:
    return (ordinal - 719_163) * DAY
