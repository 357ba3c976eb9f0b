"""What speaks for a memory besides its own words: links, and the time that a question names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from gitmem.search.entries import DAY, Entry, Ground

LINKED = 0.15
"""Share of a candidate's score that its neighbours by link get, the best of several."""

LINKING = 10
"""Best candidates whose links are followed."""

MOST_LINKS = 200
"""Links followed at most: an index of everything links to everything, and says nothing."""

TIMED = 1.5
"""What matching the time is worth, against a word that as many memories have: who names a day means it."""

TAUGHT = 0.6
"""Share of that for a memory that was taught then, and does not name it."""

MOST_TIMED = 200
"""Memories that are found by their time alone, the newest ones."""


def linked(
    ground: Ground, candidates: Iterable[tuple[Entry, float]], entries: dict[int, Entry]
) -> Mapping[int, float]:
    """Finds what is one link away, within the same ref and agent.

    Args:
        candidates: the best first.
        entries: those that were found, by `id`; what this finds is put in.

    Returns:
        The `id` of each entry to what it gets.
    """
    found: dict[int, float] = {}
    sources = list(candidates)[:LINKING]
    if not sources:
        return found
    beside = _beside(ground, {entry.blob for entry, _ in sources})
    if not beside:
        return found
    where: dict[int, list[Entry]] = {}
    for entry in ground.entries({other for others in beside.values() for other in others}):
        where.setdefault(entry.blob, []).append(entry)
    for source, score in sources:
        for other in beside.get(source.blob, ()):
            for entry in where.get(other, ()):
                if (entry.ref, entry.agent) == (source.ref, source.agent) and entry.id != source.id:
                    entries[entry.id] = entry
                    found[entry.id] = max(found.get(entry.id, 0.0), LINKED * score)
    return found


def _beside(ground: Ground, blobs: set[int]) -> dict[int, set[int]]:
    """Texts that each text links to or is linked from."""
    numbers = ",".join(map(str, sorted(blobs)))
    rows = ground.catalog.read(
        "SELECT l.blob, c.blob FROM link l CROSS JOIN called c ON c.name = l.name"  # noqa: S608
        f" WHERE l.blob IN ({numbers}) UNION ALL "
        "SELECT c.blob, l.blob FROM called c CROSS JOIN link l ON l.name = c.name"
        f" WHERE c.blob IN ({numbers}) LIMIT {MOST_LINKS}"
    )
    found: dict[int, set[int]] = {}
    for blob, other in rows:
        if blob != other:
            found.setdefault(blob, set()).add(other)
    return found


_MONTHS = re.compile(
    r"(?<![a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
_UNITS = ("day", "week", "month", "quarter", "year", "tonight", "19", "20")


def may_name_time(query: str) -> bool:
    """Whether a question may name a time at all; most do not, and need no look at how."""
    lower = query.casefold()
    return any(unit in lower for unit in _UNITS) or bool(_MONTHS.search(lower))


def spans(query: str, now: int | None) -> tuple[tuple[int, int], ...]:
    """Lists the spans of days (proleptic ordinals, UTC) that a question names.

    Args:
        now: epoch seconds; None where nothing may be counted from the present: then no span is named.
    """
    if now is None or not may_name_time(query):
        return ()
    from gitmem.core.dates import asked_days  # its patterns take a tenth of a short process to build

    today = datetime.fromtimestamp(now, UTC).date()
    return tuple((first.toordinal(), last.toordinal()) for first, last in asked_days(query, today))


def timed(
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


def _naming(ground: Ground, condition: str) -> set[int]:
    """Texts that name a day or month within a span; one that names a longer time than asked does not."""
    return {row[0] for row in ground.catalog.read(f"SELECT blob FROM period WHERE {condition}")}  # noqa: S608


def _seconds(ordinal: int) -> int:
    return (ordinal - 719_163) * DAY
