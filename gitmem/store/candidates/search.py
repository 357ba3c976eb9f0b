"""The search: a question goes to each strategy, and what they say becomes one order."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from time import gmtime, strftime

from gitmem.core.limits import CANDIDATES
from gitmem.store.candidates import lexical, links, times
from gitmem.store.candidates.candidate import Candidate
from gitmem.store.candidates.fuse import fuse
from gitmem.store.candidates.question import ask
from gitmem.store.candidates.standing import Entry, Ground
from gitmem.store.catalog import Catalog, Head
from gitmem.store.catalog.texts import storable
from gitmem.store.catalog.vocabulary import FIELD


def search(
    catalog: Catalog,
    query: str,
    refs: Collection[str],
    agents: Collection[str] | None = None,
    limit: int = CANDIDATES,
    when: Mapping[str, str] | None = None,
    now: int | None = None,
) -> tuple[Candidate, ...]:
    """Finds the memories that best match a question.

    Args:
        query: any text: it is cut into terms, and nothing in it is query syntax.
        refs: full names of the refs to search.
        agents: name spaces to search; None for all.
        when: ref to commit, for refs to be searched as of then; each must have been laid out.
        now: epoch seconds, from which times that the question names, and the days of logs, are counted;
            None names no times.

    Returns:
        At most `limit` candidates, best first; equal scores by ref and path. Empty where nothing matches.
        Facts of the last days' logs are among them, those left out that a memory which was found says.
    """
    if not refs or limit < 1:
        return ()
    while True:
        times_made = catalog.made_anew
        found = _search(Ground(catalog, refs, agents, when or {}, now), query, limit, now)
        if catalog.made_anew == times_made:
            return found


def _search(ground: Ground, query: str, limit: int, now: int | None) -> tuple[Candidate, ...]:
    question = ask(ground.catalog, query)
    found = lexical.find(ground, question, limit)
    if not found.scores:  # the beginning of a word may match where the word does not
        completed = ask(ground.catalog, query, completed=True)
        if any(term.ways for term in completed.asked):
            question, found = completed, lexical.find(ground, completed, limit)
    entries = dict(found.entries)
    leading = sorted(found.scores.items(), key=lambda one: -one[1])
    if len(leading) > links.SOURCES:  # of equal ones the first by path
        least = leading[links.SOURCES - 1][1]
        leading = [one for one in leading if one[1] >= least]
    leading.sort(key=lambda one: _best_first(entries[one[0]], one[1]))
    scores = {
        "words": found.scores,
        "links": links.find(ground, [(entries[id], score) for id, score in leading], entries),
        "times": times.find(ground, times.spans(query, now), entries, question.corpus.texts),
    }
    fused = fuse(scores)
    order = [(entries[id], sum(why.values())) for id, why in fused.items()]
    if any(entry.is_line for entry, _ in order):
        from gitmem.store.candidates.unsaid import unsaid  # most scopes keep no log

        order = unsaid(order, found.words)
    order = sorted(order, key=lambda one: _best_first(*one))[:limit]
    described = ground.catalog.described({entry.blob for entry, _ in order})
    parts = lexical.Parts(question)
    return tuple(
        _candidate(entry, *described[entry.blob], score, fused[entry.id], parts, found)
        for entry, score in order
        if entry.blob in described
    )


def _best_first(entry: Entry, score: float) -> tuple[float, str, str]:
    return (-score, entry.ref, entry.path)


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
        name=_line_name(entry) if entry.is_line else storable(head.name) or PurePosixPath(entry.path).stem,
        description=storable(head.description),
        type=storable(head.type),
        archived=bool(entry.archived),
        time=entry.time,
        commit=entry.commit,
        why=why,
    )


def _line_name(entry: Entry) -> str:
    return strftime("log %Y-%m-%d %H:%M", gmtime(entry.time))
