"""Recall as people and tools ask for it, and as a model chooses for a prompt to come."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace

from gitmem.core.errors import EngineError, UsageError
from gitmem.core.limits import CANDIDATES, PATIENT_SECONDS, PROMPT_SECONDS, RECALLED
from gitmem.flows.context import Edges
from gitmem.flows.prompt_recall import MODELS, OFFLINE, TELLING, configured, opened_sources
from gitmem.flows.recall_answer import RecallQuestion, divided, make_answer
from gitmem.ledger.workspace import CHOICES, Workspace
from gitmem.search.gate import Selection, select
from gitmem.search.query import Candidate, RecallSource, gather
from gitmem.search.recall import Recall
from gitmem.values import dataclass

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
    name, note = (checked(asked.engine), "") if asked.engine else configured(workspace)
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
            from gitmem.flows.choice import by_model

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
        EngineError, UsageError: see `choice.by_model`.
    """
    from gitmem.flows.choice import by_model

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
    from gitmem.flows.choice import told_of

    unseen = [one for one in found if one.blob not in shown]
    return [one for one in told_of(unseen, sources, agents, CANDIDATES) if one.blob not in shown]
