"""The time strategy: a question that names a time asks for what was learned then, or what names it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from gitmem.store.candidates.standing import Entry, Ground

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
    from gitmem.memory.periods import asked_days  # most questions come from processes that ask but one

    today = datetime.fromtimestamp(now, UTC).date()
    return tuple((first.toordinal(), last.toordinal()) for first, last in asked_days(query, today))


def find(
    ground: Ground, asked: Sequence[tuple[int, int]], entries: Iterable[Entry], total: int
) -> Mapping[Entry, float]:
    """Finds what a time fits: all of `entries`, and the newest others.

    Args:
        asked: spans of days.
        entries: what other strategies have found.
        total: texts in the catalog.
    """
    if not asked:
        return {}
    known = list(entries)
    naming: set[int] = set()
    taught: dict[Entry, None] = {}
    for first, last in asked:
        naming |= _naming(ground, first, last)
        begin, end = _seconds(first), _seconds(last + 1) - 1
        taught.update(dict.fromkeys(ground.between(begin, end, MOST)))
        taught.update(dict.fromkeys(entry for entry in known if begin <= entry.time <= end))
    fitting = dict.fromkeys(taught, TAUGHT)
    for entry in [*known, *ground.entries(sorted(naming)[-MOST:])]:
        if entry.blob in naming:
            fitting[entry] = 1.0
    worth = WEIGHT * math.log(1 + (total + 1) / (len(fitting) + 0.5))
    return {entry: worth * share for entry, share in fitting.items()}


def _naming(ground: Ground, first: int, last: int) -> set[int]:
    """Texts that name a day or month within a span; one that names a longer time than asked does not."""
    rows = ground.catalog.read(
        "SELECT blob FROM period WHERE first BETWEEN ? AND ? AND last <= ?", (first, last, last)
    )
    return {row[0] for row in rows}


def _seconds(ordinal: int) -> int:
    return (ordinal - 719_163) * DAY
