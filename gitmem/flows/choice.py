"""A model's choice among memories, where one is configured (see `prompt_recall.configured`).

Only a model engine is told anything. What it is told: the question, and one line each of at most fifty
memories, of whatever scope. It is told nothing in a pause or where gitmem is switched off, of a question
that holds `<private>`, matches `gitmem.ignore` or holds a secret, or of a memory whose line does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.core.change import Header
from gitmem.core.errors import EngineError
from gitmem.core.limits import CANDIDATES
from gitmem.flows.context import Edges
from gitmem.ledger.signatures import unproved
from gitmem.ledger.taint_note import read_tainted
from gitmem.ledger.workspace import Workspace
from gitmem.search.gate import LeftOut, Selection
from gitmem.search.query import Candidate, RecallSource

if TYPE_CHECKING:
    from gitmem.engines.anthropic import AnthropicEngine
    from gitmem.engines.task import UnreadyEngine
    from gitmem.transcripts.privacy import Ignore


def by_model(
    workspace: Workspace,
    edges: Edges,
    name: str,
    query: str,
    candidates: Sequence[Candidate],
    scopes: Mapping[str, str],
    limit: int,
) -> tuple[Selection, str]:
    """Has a model choose.

    Args:
        name: the engine, of `prompt_recall.MODELS`.
        candidates: best first; see `told_of`.
        scopes: full ref name to scope.
        limit: how many at most.

    Returns:
        Its choice, and the engine's full name.

    Raises:
        EngineError: it cannot be asked, or gave no answer that can be used.
        UsageError: `gitmem.ignore` cannot be honoured.
    """
    from gitmem.flows.engines import chooser_for
    from gitmem.flows.pause import paused
    from gitmem.flows.place import DISABLE, disabled
    from gitmem.transcripts.privacy import ignoring

    ignore, allow = ignoring(workspace.settings.all("ignore")), workspace.allowed
    reason = f"{DISABLE} is set" if disabled(edges.environ) else ""
    reason = reason or ("gitmem is paused" if paused(workspace.state, edges.now) else "")
    if reason := reason or kept_here(query, ignore, allow):
        raise EngineError(f"Nothing was sent to {name}: {reason}")
    engine = chooser_for(workspace, edges, name)
    project = workspace.scope("project")
    allow = workspace.allowed
    tainted = read_tainted(project.state)
    left_out: set[str] = set()
    for commit in {one.commit for one in candidates}:  # now, or as things stood
        mine = [one for one in candidates if one.ref == project.ref and one.commit == commit]
        left_out |= unproved(workspace, {one.path: one.blob for one in mine}, commit)
    clean = [
        one
        for one in candidates
        if one.ref != project.ref or not (one.path in left_out or tainted.hides(one.blob, allow))
    ]
    chosen = select_by(engine, query, clean, scopes, limit, ignore, allow) if clean else Selection(())
    return chosen, engine.name


def told_of(
    found: Sequence[Candidate], sources: Sequence[RecallSource], agents: Collection[str] | None, most: int
) -> tuple[Candidate, ...]:
    """The memories that a model is told of: the best by words, then the newest.

    Args:
        found: by words, best first.
        agents: name spaces that apply; None for all.
        most: how many at most.
    """
    known = {(one.ref, one.path) for one in found}
    more = [
        one
        for source in sources
        for one in _newest(source, agents, most)
        if (one.ref, one.path) not in known
    ]
    more.sort(key=lambda one: (-one.time, one.ref, one.path))
    return (*found, *more)[:most]


def _newest(source: RecallSource, agents: Collection[str] | None, most: int) -> Iterator[Candidate]:
    places = [
        place
        for ref in source.scopes
        for place in source.catalog.places(ref, source.at.get(ref))
        if not place.archived and (agents is None or place.agent in agents)
    ]
    places.sort(key=lambda place: (-place.time, place.ref, place.path))
    heads = source.catalog.heads(source.repo, [place.blob for place in places[:most]])
    for place in places[:most]:
        if head := heads.get(place.blob):
            yield Candidate(
                ref=place.ref,
                agent=place.agent,
                path=place.path,
                blob=place.blob,
                score=0.0,
                parts={},
                name=head.name or place.path.rpartition("/")[2].removesuffix(".md"),
                description=head.description,
                type=head.type,
                archived=False,
                time=place.time,
                commit=source.at.get(place.ref, ""),
            )


def kept_here(query: str, ignore: Ignore, allow: frozenset[str] = frozenset()) -> str:
    """Why a question must not be sent to a model; empty where it may be.

    Args:
        ignore: what the person keeps from being learned (`gitmem.ignore`).
        allow: fingerprints of secrets that the person accepted.
    """
    from gitmem.rules.secrets import scan
    from gitmem.transcripts.privacy import without_private

    if without_private([query]) != [query]:
        return "it holds <private>"
    if ignore.matches(query):
        return "gitmem.ignore matches it"
    if scan([query], allow)[0]:
        return "it holds what looks like a secret"
    return ""


def select_by(
    engine: AnthropicEngine | UnreadyEngine,
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
    from gitmem.rules.secrets import scan
    from gitmem.transcripts.privacy import without_private

    told = [f"{one.name}: {one.description}" for one in candidates[:CANDIDATES]]
    found = scan(told, allow)
    listed = [
        one
        for one, text, secrets in zip(candidates[:CANDIDATES], told, found, strict=True)
        if not secrets and not ignore.matches(text) and without_private([text]) == [text]
    ]
    if not listed:
        return Selection((), tuple(LeftOut(one, "not-chosen") for one in candidates))
    headers = [
        Header(scopes[one.ref], one.agent, one.file, one.name, one.description, one.type, one.time)
        for one in listed
    ]
    chosen = tuple(listed[at] for at in engine.choose(query, headers, limit))
    places = {(one.ref, one.path) for one in chosen}
    return Selection(
        chosen,
        tuple(LeftOut(one, "not-chosen") for one in candidates if (one.ref, one.path) not in places),
    )
