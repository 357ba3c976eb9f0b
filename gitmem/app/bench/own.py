"""Asks every memory's own description, and finds out which are not found by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from gitmem.app.bench.recall import PROGRESS_SECONDS
from gitmem.core.limits import CANDIDATES, RECALLED
from gitmem.flows.recall import opened_sources
from gitmem.ledger.workspace import Workspace
from gitmem.search.gate import Selection, select
from gitmem.search.index import Place
from gitmem.search.query import Candidate
from gitmem.search.recall import Source, gather
from gitmem.search.words import terms

AHEAD = 3
"""Memories that are named of those that come first."""


@dataclass(frozen=True)
class Own:
    """One memory, asked for by its own description.

    Attributes:
        query: its description, else its name.
        rank: among the candidates, from 1 on; None where it is none.
        found: it, or one with the same content, is among the five that are shown.
        why: why not, for a person; empty where it is found.
    """

    scope: str
    path: str
    query: str
    rank: int | None
    found: bool
    why: str = ""


def ask_own(workspace: Workspace, say: Callable[[str], None]) -> tuple[Own, ...]:
    """Asks for every memory of all scopes and agents, as a recall sees them.

    Args:
        say: told how far it is, every two seconds.
    """
    with opened_sources(workspace) as (sources, _):
        gather("", sources)  # brings every catalog up to date
        memories = [
            (source, place)
            for source in sources
            for ref in sorted(source.scopes, key=lambda ref: source.scopes[ref])
            for place in source.catalog.places(ref)
        ]
        asked: list[Own] = []
        told = perf_counter()
        for source, place in memories:
            asked.append(_ask(sources, source, place))
            if perf_counter() - told > PROGRESS_SECONDS:
                told = perf_counter()
                say(f"{len(asked)} of {len(memories)} memories")
        return tuple(asked)


def as_value(asked: Sequence[Own]) -> dict[str, Any]:
    """The answer as JSON."""
    return {
        "memories": len(asked),
        "found": sum(one.found for one in asked),
        "not_found": [
            {
                "scope": one.scope,
                "path": one.path,
                "query": one.query,
                "rank": one.rank,
                "why": one.why,
            }
            for one in asked
            if not one.found
        ],
    }


def _ask(sources: Sequence[Source], source: Source, place: Place) -> Own:
    scope = source.scopes[place.ref]
    head = source.catalog.heads(source.repo, [place.blob]).get(place.blob)
    query = (head.description or head.name) if head else ""
    if head is None:
        return Own(scope, place.path, query, None, False, "its content is missing from the repository")
    if not query.strip():
        return Own(scope, place.path, query, None, False, "it has no description and no name")
    candidates = [one for _, one in gather(query, sources, None, CANDIDATES)]
    selection = select(candidates)
    shown = selection.chosen[:RECALLED]
    rank = next((at for at, one in enumerate(candidates, 1) if _is(one, place)), None)
    if any(_is(one, place) or one.blob == place.blob for one in shown):
        return Own(scope, place.path, query, rank, True)
    return Own(scope, place.path, query, rank, False, _why(query, place, candidates, selection))


def _why(query: str, place: Place, candidates: Sequence[Candidate], selection: Selection) -> str:
    if not terms(query):
        return "its description has no word that could be looked for"
    left = next((one for one in selection.left if _is(one.candidate, place)), None)
    if left is not None:
        return f"the choice leaves it out: {left.words}"
    if any(_is(one, place) for one in candidates):
        ahead = ", ".join(one.path for one in selection.chosen[:AHEAD])
        return f"others come first: {ahead}, …"
    if not candidates:
        return "no memory has a word of its description"
    return f"{len(candidates)} others match better: {', '.join(one.path for one in candidates[:AHEAD])}, …"


def _is(candidate: Candidate, place: Place) -> bool:
    return candidate.ref == place.ref and candidate.path == place.path
