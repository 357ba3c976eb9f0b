"""A model's choice: of the best candidates it is told one line each, and nothing that is to stay here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitmem.core.change import Header
from gitmem.core.limits import CANDIDATES
from gitmem.engines.engine import Engine
from gitmem.recall.choose import Left, Selection
from gitmem.rules.secrets import scan
from gitmem.store.candidates import Candidate
from gitmem.transcripts.privacy import Ignore, without_private


def kept_here(query: str, ignore: Ignore, allow: frozenset[str] = frozenset()) -> str:
    """Why a question must not be sent to a model; empty where it may be.

    Args:
        ignore: what the person keeps from being learned (`gitmem.ignore`).
        allow: fingerprints of secrets that the person accepted.
    """
    if without_private([query]) != [query]:
        return "it holds <private>"
    if ignore.matches(query):
        return "gitmem.ignore matches it"
    if scan([query], allow)[0]:
        return "it holds what looks like a secret"
    return ""


def select_by(
    engine: Engine,
    query: str,
    candidates: Sequence[Candidate],
    scopes: Mapping[str, str],
    limit: int,
    ignore: Ignore,
    allow: frozenset[str] = frozenset(),
) -> Selection:
    """Has an engine choose; memories whose name or description must not be sent are left out.

    Args:
        query: what `kept_here` let pass.
        candidates: best first; of more than `CANDIDATES` the engine is told of the first.
        scopes: full ref name to scope.
        limit: how many at most.

    Raises:
        EngineError: no answer that can be used.
    """
    told = [f"{one.name}: {one.description}" for one in candidates[:CANDIDATES]]
    found = scan(told, allow)
    listed = [
        one
        for one, text, secrets in zip(candidates[:CANDIDATES], told, found, strict=True)
        if not secrets and not ignore.matches(text) and without_private([text]) == [text]
    ]
    if not listed:
        return Selection((), tuple(Left(one, "not-chosen") for one in candidates))
    headers = [
        Header(scopes[one.ref], one.agent, one.file, one.name, one.description, one.type, one.time)
        for one in listed
    ]
    chosen = tuple(listed[at] for at in engine.choose(query, headers, limit))
    places = {(one.ref, one.path) for one in chosen}
    return Selection(
        chosen,
        tuple(Left(one, "not-chosen") for one in candidates if (one.ref, one.path) not in places),
    )
