"""Which memories may answer a question: lexical search over the catalog."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gitmem.store.catalog import Catalog
from gitmem.store.catalog.texts import COMMON_FROM
from gitmem.store.catalog.words import tells, terms

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

IMAGINED = 20
IMAGINED_WITH = 0.02
IMAGINED_WITH_GENERAL = 0.4
"""For `covered` a catalog counts as if it held this many texts more, and this share of them had the term:
else in one memory the term that it has would be common, and the one that it lacks rare."""


@dataclass(frozen=True)
class Candidate:
    """A memory that shares terms with a question.

    Attributes:
        path: in the tree of the ref, beginning with the agent's folder.
        blob: object name of its content.
        score: the higher the better; comparable between catalogs only roughly.
        parts: what made the score: `text` (bm25), `rarity` (sum over matched terms), `covered` (0 to 1,
            share of the question's rarity that the memory matches), `matched` (number of terms),
            `headed` (of these, in the name or description), `asked` (terms in the question). Of terms
            that tell what it is about (`words.tells`): `telling` (in the question), `told` (matched),
            `decisive` (in the name or description).
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
    asked, telling, sought = _telling(catalog, terms(query), total)
    past = when or {}
    sources = {f"{ref}@{past[ref]}" if ref in past else ref: (ref, past.get(ref, "")) for ref in refs}
    if not asked or not sources or limit < 1:
        return ()
    phrases = [_quoted(term) for term in asked]
    found = _ranked(catalog, [_quoted(term) for term in sought], sources, agents, limit)
    if not found:  # the beginning of a word may match where the word does not
        long = [len(term) >= SHORTEST_PREFIX for term in asked]
        telling = [tell for tell, enough in zip(telling, long, strict=True) if enough]
        phrases = [f"{_quoted(term)}*" for term, enough in zip(asked, long, strict=True) if enough]
        found = _ranked(catalog, phrases, sources, agents, limit) if phrases else []
    matches = _matches(catalog, phrases, telling, total, {row.blob for row in found})
    candidates = [_candidate(row, matches, sources) for row in found]
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


@dataclass(frozen=True)
class _Match:
    """Where a term stands.

    Attributes:
        tells: it says what the question is about.
        rarity: by the texts of the catalog.
        share: the same with `IMAGINED` texts more.
        having, headed: texts with the term, and with it in the name or description.
    """

    tells: bool
    rarity: float
    share: float
    having: set[int]
    headed: set[int]


def _rarity(total: float, count: float) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _matches(
    catalog: Catalog, asked: list[str], telling: list[bool], total: int, ids: set[int]
) -> list[_Match]:
    if not ids:
        return []
    numbers = ",".join(map(str, sorted(ids)))
    found = []
    for term, tell in zip(asked, telling, strict=True):
        where = f"FROM text WHERE text MATCH ? AND +rowid IN ({numbers})"
        having = {row[0] for row in catalog.read(f"SELECT rowid {where}", (term,))}
        headed: set[int] = set()
        if having:
            column = "{name description} : " + term
            headed = {row[0] for row in catalog.read(f"SELECT rowid {where}", (column,))}
        count = _count(catalog, "SELECT count(*) FROM text WHERE text MATCH ?", term)
        imagined = IMAGINED * (IMAGINED_WITH if tell else IMAGINED_WITH_GENERAL)
        share = _rarity(total + IMAGINED, count + imagined)
        found.append(_Match(tell, _rarity(total, count), share, having, headed))
    return found


def _candidate(row: _Row, matches: list[_Match], sources: Mapping[str, tuple[str, str]]) -> Candidate:
    ref, commit = sources[row.key]
    matched = [match for match in matches if row.blob in match.having]
    headed = [match for match in matches if row.blob in match.headed]
    rarity = sum(match.rarity for match in matched)
    heading = sum(match.rarity for match in headed)
    return Candidate(
        ref=ref,
        agent=row.agent,
        path=row.path,
        blob=row.oid,
        score=round(row.bm25 + COVERAGE_WEIGHT * (rarity + HEADED_WEIGHT * heading), 6),
        parts={
            "text": row.bm25,
            "rarity": rarity,
            "covered": sum(match.share for match in matched) / sum(match.share for match in matches),
            "matched": float(len(matched)),
            "headed": float(len(headed)),
            "asked": float(len(matches)),
            "telling": float(sum(match.tells for match in matches)),
            "told": float(sum(match.tells for match in matched)),
            "decisive": float(sum(match.tells for match in headed)),
        },
        name=row.name,
        description=row.description,
        type=row.type,
        archived=bool(row.archived),
        time=row.time,
        commit=commit,
    )


def _telling(
    catalog: Catalog, asked: tuple[str, ...], total: int
) -> tuple[list[str], list[bool], list[str]]:
    """Drops repeats of a stem; says which terms count, whether each tells, and which of them are sought.

    Not sought are terms that are everywhere, where any other term is found at all: ranking reads every
    text that has one of the terms sought.
    """
    stems: dict[str, str] = {}
    for term, stem in zip(asked, catalog.stems(asked), strict=True):
        if stem:
            stems.setdefault(stem, term)
    counted, telling = list(stems.values()), [tells(stem) for stem in stems]
    if total <= COMMON_FROM:
        return counted, telling, counted
    rare = [t for s, t in stems.items() if not catalog.read("SELECT 1 FROM common WHERE term = ?", (s,))]
    found = rare and catalog.read(
        "SELECT 1 FROM text WHERE text MATCH ? LIMIT 1", (" OR ".join(map(_quoted, rare)),)
    )
    return counted, telling, rare if found else counted


def _count(catalog: Catalog, query: str, *values: str) -> int:
    rows = catalog.read(query, values)
    return int(rows[0][0]) if rows else 0


def _quoted(term: str) -> str:
    """A term as an FTS5 string, in which nothing is an operator."""
    return '"' + term.replace('"', '""') + '"'
