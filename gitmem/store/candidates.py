"""Which memories may answer a question: lexical search over the catalog."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gitmem.store.catalog import Catalog
from gitmem.store.catalog.texts import COMMON_FROM
from gitmem.store.catalog.words import terms

WEIGHTS = (3.0, 2.0, 1.0)
"""Weights of name, description and body in bm25: the first two were written to be found by."""

COVERAGE_WEIGHT = 1.0
"""How much the sum of the matched terms' rarity adds to bm25: many different terms beat one repeated.
In a catalog of a handful of texts SQLite's bm25 is zero for a term in half of them; there this ranks."""

HEADED_WEIGHT = 0.5
"""What a term adds of its rarity once more where it is in the name or description."""

WINDOW = 64
"""Texts that are scored closely, at least; twice the limit where that is more."""

SHORTEST_PREFIX = 3


@dataclass(frozen=True)
class Candidate:
    """A memory that shares terms with a question.

    Attributes:
        path: in the tree of the ref, beginning with the agent's folder.
        blob: object name of its content.
        score: the higher the better; comparable between catalogs only roughly.
        parts: what made the score: `text` (bm25), `rarity` (sum over matched terms), `covered` (0 to 1,
            share of the question's rarity that the memory matches), `matched` (number of terms),
            `headed` (of these, in the name or description), `asked` (terms in the question).
        time: author time of the last taught change, epoch seconds; 0 where unknown.
        commit: the commit it was read at, for a search as of then; empty for the tip.
    """

    ref: str
    agent: str
    path: str
    blob: str
    score: float
    parts: Mapping[str, float]
    name: str
    description: str
    type: str
    archived: bool
    time: int
    commit: str = ""

    @property
    def file(self) -> str:
        """Path inside the agent's folder."""
        return self.path.partition("/")[2]


def search(
    catalog: Catalog,
    query: str,
    refs: Collection[str],
    agents: Collection[str] | None = None,
    limit: int = 50,
    when: Mapping[str, str] | None = None,
) -> tuple[Candidate, ...]:
    """Finds the memories that best match a question.

    Args:
        query: any text: it is cut into terms, and nothing in it is query syntax.
        refs: full names of the refs to search.
        agents: name spaces to search; None for all.
        when: ref to commit, for refs to be searched as of then; each must have been laid out.

    Returns:
        At most `limit` candidates, best first; equal scores by ref and path. Empty where no term matches.
    """
    total = _count(catalog, "SELECT count(*) FROM blob")
    asked, sought = _telling(catalog, terms(query), total)
    past = when or {}
    sources = {f"{ref}@{past[ref]}" if ref in past else ref: (ref, past.get(ref, "")) for ref in refs}
    if not asked or not sources or limit < 1:
        return ()
    phrases = [_quoted(term) for term in asked]
    found = _ranked(catalog, [_quoted(term) for term in sought], sources, agents, limit)
    if not found:  # the beginning of a word may match where the word does not
        phrases = [f"{_quoted(term)}*" for term in asked if len(term) >= SHORTEST_PREFIX]
        found = _ranked(catalog, phrases, sources, agents, limit) if phrases else []
    matches = _matches(catalog, phrases, {row.blob for row in found})
    rarities = [math.log(1 + (total - count + 0.5) / (count + 0.5)) for count, _, _ in matches]
    candidates = [_candidate(row, matches, rarities, sources) for row in found]
    candidates.sort(key=lambda c: (-c.score, c.ref, c.path))
    return tuple(candidates[:limit])


@dataclass(frozen=True)
class _Row:
    blob: int
    bm25: float
    key: str
    agent: str
    path: str
    oid: str
    name: str
    description: str
    type: str
    archived: bool
    time: int


def _ranked(
    catalog: Catalog, asked: list[str], sources: Collection[str], agents: Collection[str] | None, limit: int
) -> list[_Row]:
    """Best texts by bm25 that stand in one of the sources; looks further down until enough do."""
    window = max(WINDOW, 2 * limit)
    while True:
        hits = {
            rowid: -score
            for rowid, score in catalog.read(
                "SELECT rowid, bm25(text, ?, ?, ?) AS score FROM text WHERE text MATCH ?"
                " ORDER BY score LIMIT ?",
                (*WEIGHTS, " OR ".join(asked), window),
            )
        }
        rows = [row for row in _standing(catalog, hits, sources) if agents is None or row.agent in agents]
        if len(rows) >= limit or len(hits) < window:
            return rows
        window *= 8


def _standing(catalog: Catalog, hits: Mapping[int, float], keys: Collection[str]) -> Iterator[_Row]:
    """Entries of the given texts under the given keys (`+` has SQLite look up by text, not by ref)."""
    numbers, slots = ",".join(map(str, sorted(hits))), ",".join("?" * len(keys))
    for table in ("main.entry", "temp.past"):
        for blob, *rest in catalog.read(
            "SELECT e.blob, e.ref, e.agent, e.path, lower(hex(b.oid)), b.name, b.description, b.type,"  # noqa: S608
            f" e.archived, e.time FROM {table} e JOIN blob b ON b.id = e.blob"
            f" WHERE e.blob IN ({numbers}) AND +e.ref IN ({slots})",
            keys,
        ):
            yield _Row(blob, hits[blob], *rest)


def _matches(catalog: Catalog, asked: list[str], ids: set[int]) -> list[tuple[int, set[int], set[int]]]:
    """For each term: number of texts with it, which of `ids` have it, and which in name or description."""
    if not ids:
        return []
    numbers = ",".join(map(str, sorted(ids)))
    found = []
    for term in asked:
        where = f"FROM text WHERE text MATCH ? AND +rowid IN ({numbers})"
        having = {row[0] for row in catalog.read(f"SELECT rowid {where}", (term,))}
        headed: set[int] = set()
        if having:
            column = "{name description} : " + term
            headed = {row[0] for row in catalog.read(f"SELECT rowid {where}", (column,))}
        count = _count(catalog, "SELECT count(*) FROM text WHERE text MATCH ?", term)
        found.append((count, having, headed))
    return found


def _candidate(
    row: _Row,
    matches: list[tuple[int, set[int], set[int]]],
    rarities: list[float],
    sources: Mapping[str, tuple[str, str]],
) -> Candidate:
    ref, commit = sources[row.key]
    weighed = list(zip(rarities, matches, strict=True))
    rarity = sum(weight for weight, (_, having, _) in weighed if row.blob in having)
    heading = sum(weight for weight, (_, _, headed) in weighed if row.blob in headed)
    return Candidate(
        ref=ref,
        agent=row.agent,
        path=row.path,
        blob=row.oid,
        score=round(row.bm25 + COVERAGE_WEIGHT * (rarity + HEADED_WEIGHT * heading), 6),
        parts={
            "text": row.bm25,
            "rarity": rarity,
            "covered": rarity / sum(rarities),
            "matched": float(sum(row.blob in having for _, having, _ in matches)),
            "headed": float(sum(row.blob in headed for _, _, headed in matches)),
            "asked": float(len(matches)),
        },
        name=row.name,
        description=row.description,
        type=row.type,
        archived=bool(row.archived),
        time=row.time,
        commit=commit,
    )


def _telling(catalog: Catalog, asked: tuple[str, ...], total: int) -> tuple[list[str], list[str]]:
    """Drops repeats of a stem; says which terms count, and which of them are sought.

    Not sought are terms that are everywhere, where any other term is found at all: ranking reads every
    text that has one of the terms sought.
    """
    stems: dict[str, str] = {}
    for term, stem in zip(asked, catalog.stems(asked), strict=True):
        if stem:
            stems.setdefault(stem, term)
    counted = list(stems.values())
    if total <= COMMON_FROM:
        return counted, counted
    rare = [t for s, t in stems.items() if not catalog.read("SELECT 1 FROM common WHERE term = ?", (s,))]
    found = rare and catalog.read(
        "SELECT 1 FROM text WHERE text MATCH ? LIMIT 1", (" OR ".join(map(_quoted, rare)),)
    )
    return counted, rare if found else counted


def _count(catalog: Catalog, query: str, *values: str) -> int:
    rows = catalog.read(query, values)
    return int(rows[0][0]) if rows else 0


def _quoted(term: str) -> str:
    """A term as an FTS5 string, in which nothing is an operator."""
    return '"' + term.replace('"', '""') + '"'
