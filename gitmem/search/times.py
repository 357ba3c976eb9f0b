"""The time strategy: a question that names a time asks for what was learned then, or what names it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from gitmem.search.ground import Entry, Ground

DAY = 86_400

WEIGHT = 1.5
"""What matching the time is worth, against a word that as many memories have: who names a day means it."""

TAUGHT = 0.6
"""Share of that for a memory that was taught then, and does not name it."""

MOST = 200
"""Memories that are found by their time alone, the newest ones."""


def spans(query: str, now: int | None) -> tuple[tuple[int, int], ...]:
    """Lists the spans of days (proleptic ordinals, UTC) that a question names.

    Args:
        now: epoch seconds; None where nothing may be counted from the present: then no span is named.
    """
    if now is None:
        return ()
    from gitmem.core.dates import asked_days  # most questions come from processes that ask but one

    today = datetime.fromtimestamp(now, UTC).date()
    return tuple((first.toordinal(), last.toordinal()) for first, last in asked_days(query, today))


def find(
    ground: Ground, asked: Sequence[tuple[int, int]], entries: dict[int, Entry], total: int
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
    taught: dict[int, Entry] = {}
    for first, last in asked:
        within = f"first BETWEEN {first:d} AND {last:d} AND last <= {last:d}"
        naming |= _naming(ground, f"blob IN ({','.join(map(str, blobs))}) AND {within}")
        others |= _naming(ground, f"{within} ORDER BY first DESC, last DESC, blob LIMIT {MOST}")
        begin, end = _seconds(first), _seconds(last + 1) - 1
        taught.update((entry.id, entry) for entry in ground.between(begin, end, MOST))
        taught.update((entry.id, entry) for entry in known if begin <= entry.time <= end)
    fitting = dict.fromkeys(taught, TAUGHT)
    naming |= others
    more = list(ground.entries(others - blobs)) if others - blobs else []
    fitting.update((entry.id, 1.0) for entry in (*known, *taught.values(), *more) if entry.blob in naming)
    entries.update(taught)
    entries.update((entry.id, entry) for entry in more)
    worth = WEIGHT * math.log(1 + (total + 1) / (len(fitting) + 0.5))
    return {id: worth * share for id, share in fitting.items()}


def _naming(ground: Ground, condition: str) -> set[int]:
    """Texts that name a day or month within a span; one that names a longer time than asked does not."""
    return {row[0] for row in ground.catalog.read(f"SELECT blob FROM period WHERE {condition}")}  # noqa: S608


def _seconds(ordinal: int) -> int:
    return (ordinal - 719_163) * DAY
