"""The link strategy: what a good candidate links to, or what links to it, gets a share of its score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitmem.search.ground import Entry, Ground

SHARE = 0.15
"""Share of a candidate's score that its neighbours by link get, the best of several."""

SOURCES = 10
"""Best candidates whose links are followed."""

MOST = 200
"""Links followed at most: an index of everything links to everything, and says nothing."""


def find(
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
    sources = list(candidates)[:SOURCES]
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
                    found[entry.id] = max(found.get(entry.id, 0.0), SHARE * score)
    return found


def _beside(ground: Ground, blobs: set[int]) -> dict[int, set[int]]:
    """Texts that each text links to or is linked from."""
    numbers = ",".join(map(str, sorted(blobs)))
    rows = ground.catalog.read(
        "SELECT l.blob, c.blob FROM link l CROSS JOIN called c ON c.name = l.name"  # noqa: S608
        f" WHERE l.blob IN ({numbers}) UNION ALL "
        "SELECT c.blob, l.blob FROM called c CROSS JOIN link l ON l.name = c.name"
        f" WHERE c.blob IN ({numbers}) LIMIT {MOST}"
    )
    found: dict[int, set[int]] = {}
    for blob, other in rows:
        if blob != other:
            found.setdefault(blob, set()).add(other)
    return found
