"""Recall as people and tools ask for it, and as a model chooses for a prompt to come.

Only a model engine that is configured (`prompt_recall.prompt_engine`) is told anything: the
question, and one line each of at most fifty memories, of whatever scope. It is told nothing in a pause or
where gitmem is switched off, of a question that holds `<private>`, matches `gitmem.ignore` or holds a
secret, or of a memory whose line does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.change import Header
from gitmem.core.errors import EngineError, UsageError
from gitmem.core.limits import CANDIDATES, PATIENT_SECONDS, PROMPT_SECONDS, RECALLED
from gitmem.flows.context import Edges
from gitmem.flows.prompt_recall import MODELS, OFFLINE, TELLING, opened_sources, prompt_engine
from gitmem.flows.recall_answer import RecallQuestion, divided, make_answer
from gitmem.ledger.signatures import unproved_paths
from gitmem.ledger.taint import read_tainted
from gitmem.ledger.workspace import CHOICES, Workspace
from gitmem.search.gate import LeftOut, Selection, select
from gitmem.search.query import Candidate, RecallSource, gather
from gitmem.search.recall import Recall
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.engines.anthropic import AnthropicEngine
    from gitmem.engines.task import UnreadyEngine
    from gitmem.transcripts.privacy import Ignore

OF_ONE_TYPE = 400
"""Candidates that are looked through where only one type is wanted."""


@dataclass(frozen=True)
class RecallRequest:
    """What somebody asks, and of which memories.

    Attributes:
        limit: memories at most.
        at: revision, date or tag to answer as of.
        scope: one scope; None for all three.
        agent: one agent's memories; None for every agent's: what a reviewer learned may help anyone.
        type: one type's; None for all.
        shown: blobs that this session has seen already.
        engine: who chooses; None for the one that is configured.
        patience: seconds that a look at the code may take.
    """

    text: str
    limit: int = RECALLED
    at: str | None = None
    scope: str | None = None
    agent: str | None = None
    type: str | None = None
    shown: Set[str] = frozenset()
    engine: str | None = OFFLINE
    patience: float = PROMPT_SECONDS


def checked(name: str) -> str:
    """An engine's name as given.

    Raises:
        UsageError: there is no such engine.
    """
    if name not in CHOICES["engine"]:
        raise UsageError(f"There is no engine {name!r}", f"Choose one of: {', '.join(CHOICES['engine'])}.")
    return OFFLINE if name == TELLING else name


def ask(workspace: Workspace, edges: Edges, asked: RecallRequest) -> Recall:
    """Recalls memories for a question.

    For a model that fails, or must not be told, the offline rules choose, and `Recall.notes` says so.

    Raises:
        UsageError: an unknown scope, type or engine, or `at` means nothing.
    """
    query, type, shown = asked.text, asked.type, asked.shown
    name, note = (checked(asked.engine), "") if asked.engine else prompt_engine(workspace)
    notes = [note] if note else []
    agents = None
    if type is not None or asked.agent:
        agents = _wanted(asked.agent, type)
    with opened_sources(workspace, asked.scope, asked.at, edges.now) as (sources, scopes):
        most = OF_ONE_TYPE if type else CANDIDATES
        pairs = gather(query, sources, agents, most, now=int(edges.now))
        candidates = [one for _, one in pairs if type in (None, one.type)]
        held = {ref: source for source in sources for ref in source.scopes}
        selection: Selection | None = None
        if name in MODELS:
            told = [one for one in _told(candidates, sources, agents, shown) if type in (None, one.type)]
            told = list(divided(workspace, held, Selection(tuple(told)), asked.patience)[0].chosen)
            try:
                selection, name = by_model(workspace, edges, name, query, told, scopes, asked.limit)
            except (EngineError, UsageError) as error:
                notes.append(f"{error.message}; chosen offline")
                name = OFFLINE
        elif name != OFFLINE:
            notes.append(f"{name} leaves the choice to the offline rules")
            name = OFFLINE
        if selection is None:
            selection = select(candidates, shown)
        _look_up_signers(workspace, selection)
        answer = make_answer(
            workspace, edges, sources, scopes, candidates, selection,
            RecallQuestion(query, shown, asked.limit, agents, patience=asked.patience, amended=not type),
        )  # fmt: skip
    return replace(answer, engine=name, notes=tuple(notes))


def _look_up_signers(workspace: Workspace, selection: Selection) -> None:
    """Has signatures of what was chosen looked at: who asks can wait; a prompt reads what is kept."""
    from gitmem.ledger.signatures import follow

    ref = workspace.scope("project").ref
    mine = {one.path: one.blob for one in selection.chosen if one.ref == ref and one.kind == "memory"}
    if mine:
        commit = next((one.commit for one in selection.chosen if one.ref == ref), "")
        follow(workspace, mine, commit or None)


def _wanted(agent: str | None, type: str | None) -> set[str] | None:
    """The folders of one agent alone, None for all.

    Raises:
        UsageError: there is no such type.
    """
    from gitmem.core.memory import TYPES
    from gitmem.ledger.holdings import chosen_agent

    if type is not None and type not in TYPES:
        raise UsageError(f"There is no type {type!r}", f"Choose one of: {', '.join(TYPES)}.")
    folder = chosen_agent(agent)
    return None if folder is None else {folder}


def choose_ahead(
    workspace: Workspace, edges: Edges, engine: str, query: str, shown: Set[str]
) -> tuple[Selection, str]:
    """Has a model choose for a prompt, to be shown with the next one.

    Returns:
        Its choice, and the engine's full name.

    Raises:
        EngineError, UsageError: see `by_model`.
    """
    with opened_sources(workspace) as (sources, scopes):
        pairs = gather(query, sources, None, CANDIDATES, now=int(edges.now))
        told = _told([one for _, one in pairs], sources, None, shown)
        held = {ref: source for source in sources for ref in source.scopes}
        told = list(divided(workspace, held, Selection(tuple(told)), PATIENT_SECONDS)[0].chosen)
        return by_model(workspace, edges, engine, query, told, scopes, RECALLED)


def _told(
    found: Sequence[Candidate], sources: Sequence[RecallSource], agents: Set[str] | None, shown: Set[str]
) -> list[Candidate]:
    """What a model is told of: nothing that this session has seen."""
    unseen = [one for one in found if one.blob not in shown]
    return [one for one in told_of(unseen, sources, agents, CANDIDATES) if one.blob not in shown]


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
    from gitmem.flows.pause import is_paused
    from gitmem.flows.place import DISABLE, is_disabled
    from gitmem.transcripts.privacy import compile_ignore

    ignore, allow = compile_ignore(workspace.settings.all("ignore")), workspace.allowed
    reason = f"{DISABLE} is set" if is_disabled(edges.environ) else ""
    reason = reason or ("gitmem is paused" if is_paused(workspace.state, edges.now) else "")
    if reason := reason or kept_here(query, ignore, allow):
        raise EngineError(f"Nothing was sent to {name}: {reason}")
    engine = chooser_for(workspace, edges, name)
    project = workspace.scope("project")
    allow = workspace.allowed
    tainted = read_tainted(project.state)
    left_out: set[str] = set()
    for commit in {one.commit for one in candidates}:  # now, or as things stood
        mine = [one for one in candidates if one.ref == project.ref and one.commit == commit]
        left_out |= unproved_paths(workspace, {one.path: one.blob for one in mine}, commit)
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
