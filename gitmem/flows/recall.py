"""Recall as people, hooks and tools ask for it: over all scopes and agents, without pygit2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.errors import EngineError, RepositoryError, UsageError
from gitmem.core.limits import CANDIDATES, PATIENT_SECONDS, PROMPT_SECONDS, RECALLED
from gitmem.flows.context import Edges
from gitmem.ledger.settings import CHOICES
from gitmem.search.gate import PROMPT, Selection, select
from gitmem.search.index import Catalog
from gitmem.search.query import Candidate, RecallSource, gather

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import Workspace
    from gitmem.search.recall import Recall

OFFLINE = "offline"

TELLING = "agent"
"""The engine that has the session's agent decide what is learned; what is recalled, the rules choose."""

MODELS = frozenset({"anthropic"})
"""Engines that choose by themselves. `claude-code` leaves it to the offline rules: a question of its own
would share no cache with any session."""

OF_ONE_TYPE = 400
"""Candidates that are looked through where only one type is wanted."""


def configured(workspace: Workspace) -> tuple[str, str]:
    """The engine that chooses where none is named.

    Returns:
        Its name, and what is to be said of it where the setting means nothing.
    """
    try:
        name = workspace.settings.get("engine")
        return (OFFLINE if name == TELLING else name), ""
    except UsageError as error:
        return OFFLINE, f"{error.message}; chosen offline"


def checked(name: str) -> str:
    """An engine's name as given.

    Raises:
        UsageError: there is no such engine.
    """
    if name not in CHOICES["engine"]:
        raise UsageError(f"There is no engine {name!r}", f"Choose one of: {', '.join(CHOICES['engine'])}.")
    return OFFLINE if name == TELLING else name


def ask(
    workspace: Workspace,
    edges: Edges,
    query: str,
    *,
    limit: int = RECALLED,
    at: str | None = None,
    scope: str | None = None,
    agent: str | None = None,
    type: str | None = None,
    shown: Set[str] = frozenset(),
    engine: str | None = OFFLINE,
    patience: float = PROMPT_SECONDS,
) -> Recall:
    """Recalls memories for a question.

    Args:
        limit: memories at most.
        at: revision, date or tag to answer as of.
        scope: one scope; None for all three.
        agent: one agent's memories; None for every agent's: what a reviewer learned may help anyone.
        type: one type's; None for all.
        shown: blobs that this session has seen already.
        engine: who chooses; None for the one that is configured. A model that fails, or must not be told,
            is stood in for by the offline rules, and `Recall.notes` says so.
        patience: seconds that a look at the code may take.

    Raises:
        UsageError: an unknown scope, type or engine, or `at` means nothing.
    """
    from gitmem.flows.recall_answer import RecallQuestion, answered, divided

    name, note = (checked(engine), "") if engine else configured(workspace)
    notes = [note] if note else []
    agents = None
    if type is not None or agent:
        agents = _wanted(agent, type)
    with opened_sources(workspace, scope, at, edges.now) as (sources, scopes):
        most = OF_ONE_TYPE if type else CANDIDATES
        pairs = gather(query, sources, agents, most, now=int(edges.now))
        candidates = [one for _, one in pairs if type in (None, one.type)]
        held = {ref: source for source in sources for ref in source.scopes}
        selection: Selection | None = None
        if name in MODELS:
            from gitmem.flows.choice import by_model

            told = [one for one in _told(candidates, sources, agents, shown) if type in (None, one.type)]
            told = list(divided(workspace, held, Selection(tuple(told)), shown, patience)[0].chosen)
            try:
                selection, name = by_model(workspace, edges, name, query, told, scopes, limit)
            except (EngineError, UsageError) as error:
                notes.append(f"{error.message}; chosen offline")
                name = OFFLINE
        elif name != OFFLINE:
            notes.append(f"{name} leaves the choice to the offline rules")
            name = OFFLINE
        if selection is None:
            selection = select(candidates, shown)
        _look_up_signers(workspace, selection)
        answer = answered(
            workspace, edges, sources, scopes, candidates, selection,
            RecallQuestion(query, shown, limit, agents, patience=patience, amended=not type),
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


def prompted(
    workspace: Workspace,
    edges: Edges,
    prompt: str,
    *,
    shown: Set[str] = frozenset(),
    first: Sequence[Candidate] = (),
    tools: Callable[[], Set[str]] = frozenset,
    prefer: str = "",
) -> Recall | None:
    """Recalls what bears on a prompt, by the offline rules: nobody asked, so much must speak for it.

    Args:
        shown: blobs that this session has seen already.
        first: what was chosen before for this session: shown first where it still stands at its tip.
        tools: names the tools in use, asked for once a reference is opened: those that only explain one of
            them are left out.
        prefer: an agent's folder, whose memories come first.

    Returns:
        None where nothing was chosen, as for most prompts: nothing of what makes an answer is loaded then.
    """
    with opened_sources(workspace) as (sources, scopes):
        candidates = [one for _, one in gather(prompt, sources, now=int(edges.now))]
        chosen = _leading(select(candidates, shown, PROMPT), prefer)
        if first:
            chosen = _before(first, {ref: one for one in sources for ref in one.scopes}, shown, chosen)
        if not chosen.chosen:
            return None
        from gitmem.flows.recall_answer import RecallQuestion, answered

        return answered(
            workspace, edges, sources, scopes, candidates, chosen,
            RecallQuestion(prompt, shown, tools=tools, asked=False),
        )  # fmt: skip


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
        EngineError, UsageError: see `choosing.by_model`.
    """
    from gitmem.flows.choice import by_model
    from gitmem.flows.recall_answer import divided

    with opened_sources(workspace) as (sources, scopes):
        pairs = gather(query, sources, None, CANDIDATES, now=int(edges.now))
        told = _told([one for _, one in pairs], sources, None, shown)
        held = {ref: source for source in sources for ref in source.scopes}
        told = list(divided(workspace, held, Selection(tuple(told)), shown, PATIENT_SECONDS)[0].chosen)
        return by_model(workspace, edges, engine, query, told, scopes, RECALLED)


@contextmanager
def opened_sources(
    workspace: Workspace, scope: str | None = None, at: str | None = None, now: float = 0.0
) -> Iterator[tuple[list[RecallSource], dict[str, str]]]:
    """The repositories to ask, with their catalogs, and full ref name to scope.

    Args:
        scope, at: as those of `ask`.
        now: epoch seconds, from which `at` counts.
    """
    scopes = (workspace.scope(scope),) if scope else workspace.scopes
    past = None
    if at:
        from gitmem.ledger.moments import resolve_all

        past = resolve_all(workspace, scopes, at, now)
    sources: list[RecallSource] = []
    try:
        for repo in dict.fromkeys(each.repo for each in scopes):
            mine = [each for each in scopes if each.repo is repo and (past is None or each.ref in past)]
            if mine:
                names = {each.ref: str(each.name) for each in mine}
                then = {ref: commit for ref, commit in (past or {}).items() if ref in names}
                sources.append(RecallSource(repo, Catalog.open(mine[0].state), names, then))
        yield sources, {each.ref: str(each.name) for each in scopes}
    finally:
        for source in sources:
            source.catalog.close()


def _told(
    found: Sequence[Candidate], sources: Sequence[RecallSource], agents: Set[str] | None, shown: Set[str]
) -> list[Candidate]:
    """What a model is told of: nothing that this session has seen."""
    from gitmem.flows.choice import told_of

    unseen = [one for one in found if one.blob not in shown]
    return [one for one in told_of(unseen, sources, agents, CANDIDATES) if one.blob not in shown]


def _leading(selection: Selection, agent: str) -> Selection:
    if not agent:
        return selection
    return replace(selection, chosen=tuple(sorted(selection.chosen, key=lambda one: one.agent != agent)))


def _before(
    first: Sequence[Candidate], held: Mapping[str, RecallSource], shown: Set[str], then: Selection
) -> Selection:
    """A choice with what was chosen earlier before it: what this session has not seen and still stands."""
    standing = tuple(
        one
        for one in first
        if one.blob not in shown and one.ref in held and _stands(held[one.ref].repo, one)
    )
    blobs = {one.blob for one in standing}
    return Selection(
        (*standing, *(one for one in then.chosen if one.blob not in blobs)),
        tuple(left for left in then.left if left.candidate.blob not in blobs),
    )


def _stands(repo: Repository, one: Candidate) -> bool:
    from gitmem.ledger.land import memory_commit  # most prompts have no choice before them

    with suppress(RepositoryError):
        tip = memory_commit(repo, one.ref)
        if one.kind == "log":  # it is opened where it stands, and found gone there
            return tip is not None
        entry = repo.entry(repo.commit(tip).tree, one.path) if tip else None
        return entry is not None and entry.oid == one.blob
    return False
