"""The search: a question goes to each strategy, and what they say becomes one order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from gitmem.store.candidates import lexical, links, times
from gitmem.store.candidates.candidate import Candidate
from gitmem.store.candidates.fuse import fuse
from gitmem.store.candidates.question import ask
from gitmem.store.candidates.standing import Entry, Ground
from gitmem.store.catalog import Catalog, Head
from gitmem.store.catalog.texts import storable
from gitmem.store.catalog.vocabulary import FIELD

_NO_HEAD = Head("", "", "project", False, 0)


def search(
    catalog: Catalog,
    query: str,
    refs: Collection[str],
    agents: Collection[str] | None = None,
    limit: int = 50,
    when: Mapping[str, str] | None = None,
    now: int | None = None,
) -> tuple[Candidate, ...]:
    """Finds the memories that best match a question.

    Args:
        query: any text: it is cut into terms, and nothing in it is query syntax.
        refs: full names of the refs to search.
        agents: name spaces to search; None for all.
        when: ref to commit, for refs to be searched as of then; each must have been laid out.
        now: epoch seconds, from which times that the question names are counted; None names none.

    Returns:
        At most `limit` candidates, best first; equal scores by ref and path. Empty where nothing matches.
    """
    if not refs or limit < 1:
        return ()
    ground = Ground(catalog, refs, agents, when or {})
    question = ask(catalog, query)
    found = lexical.find(ground, question, limit)
    if not found.scores:  # the beginning of a word may match where the word does not
        completed = ask(catalog, query, completed=True)
        if any(term.ways for term in completed.asked):
            question, found = completed, lexical.find(ground, completed, limit)
    by_words = {
        entry: score for number, score in found.scores.items() for entry in found.entries.get(number, ())
    }
    leading = sorted(by_words.items(), key=_best_first)
    scores = {
        "words": by_words,
        "links": links.find(ground, leading[: links.SOURCES]),
        "times": times.find(ground, times.spans(query, now), by_words, question.corpus.texts),
    }
    fused = fuse(scores)
    order = sorted(((entry, sum(why.values())) for entry, why in fused.items()), key=_best_first)[:limit]
    oids = _oids(catalog, {entry.blob for entry, _ in order})
    parts = lexical.Parts(question)
    heads = catalog.known_heads(oids.values())
    return tuple(
        _candidate(entry, oid, heads.get(oid, _NO_HEAD), score, fused[entry], parts, found)
        for entry, score in order
        if (oid := oids.get(entry.blob, ""))
    )


def _best_first(scored: tuple[Entry, float]) -> tuple[float, str, str]:
    entry, score = scored
    return (-score, entry.ref, entry.path)


def _oids(catalog: Catalog, blobs: Collection[int]) -> dict[int, str]:
    numbers = ",".join(map(str, blobs))
    rows = catalog.read(f"SELECT id, lower(hex(oid)) FROM blob WHERE id IN ({numbers})")  # noqa: S608
    return dict(rows)


def _candidate(
    entry: Entry,
    oid: str,
    head: Head,
    score: float,
    why: Mapping[str, float],
    parts: lexical.Parts,
    found: lexical.Found,
) -> Candidate:
    words = found.words.get(entry.blob, 3 * FIELD)
    return Candidate(
        ref=entry.ref,
        agent=entry.agent,
        path=entry.path,
        blob=oid,
        score=round(score, 6),
        parts=parts.of(words, why.get("words", 0.0)),
        name=storable(head.name) or PurePosixPath(entry.path).stem,
        description=storable(head.description),
        type=storable(head.type),
        archived=bool(entry.archived),
        time=entry.time,
        commit=entry.commit,
        why=why,
    )
