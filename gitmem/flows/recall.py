"""Recall as people, hooks and tools ask for it: over all scopes and agents, without pygit2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from gitmem.core.errors import EngineError, RepositoryError, UsageError
from gitmem.core.limits import CANDIDATES, RECALLED
from gitmem.flows.context import Edges
from gitmem.ledger.settings import CHOICES
from gitmem.search.duplicates import said_by
from gitmem.search.gate import QUESTION, REFERENCE, Gate, Selection, explains, select, warns
from gitmem.search.index import Catalog
from gitmem.search.query import Candidate
from gitmem.search.recall import (
    PATIENT_SECONDS,
    PROMPT_SECONDS,
    Later,
    NotShown,
    Opened,
    Recall,
    Source,
    gather,
    later_ones,
    opened_memory,
    plain_place,
    recall,
)

if TYPE_CHECKING:
    from gitmem.core.memory import Memory
    from gitmem.core.references import Finding, Named
    from gitmem.flows.rule_files import InHead
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import Workspace

OFFLINE = "offline"

TELLING = "agent"
"""The engine that has the session's agent decide what is learned; what is recalled, the rules choose."""

MODELS = frozenset({"anthropic"})
"""Engines that choose by themselves. `claude-code` leaves it to the offline rules: a question of its own
would share no cache with any session."""

RULE = b"**Rule in:** ["
"""What every memory that points to a rule holds (`memory.pointer`)."""

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
    first: Sequence[Candidate] = (),
    tools: Callable[[], Set[str]] = frozenset,
    prefer: str = "",
    patience: float = PROMPT_SECONDS,
    gate: Gate = QUESTION,
) -> Recall:
    """Recalls memories for a question or prompt.

    Args:
        limit: memories at most.
        at: revision, date or tag to answer as of.
        scope: one scope; None for all three.
        agent: one agent's memories; None for every agent's: what a reviewer learned may help anyone.
        type: one type's; None for all.
        shown: blobs that this session has seen already.
        engine: who chooses; None for the one that is configured. A model that fails, or must not be told,
            is stood in for by the offline rules, and `Recall.notes` says so.
        first: what was chosen before for this session: shown first where it still stands at its tip.
        tools: names the tools in use, asked for once a reference is opened: those that only explain one of
            them are left out.
        prefer: an agent's folder; of what the offline rules choose, its memories come first.
        patience: seconds that a look at the code may take.
        gate: how much must speak for a memory: `PROMPT` where nobody asked.

    Raises:
        UsageError: an unknown scope, type or engine, or `at` means nothing.
    """
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
            told = list(_divided(workspace, held, Selection(tuple(told)), shown, patience)[0].chosen)
            try:
                selection, name = by_model(workspace, edges, name, query, told, scopes, limit)
            except (EngineError, UsageError) as error:
                notes.append(f"{error.message}; chosen offline")
                name = OFFLINE
        elif name != OFFLINE:
            notes.append(f"{name} leaves the choice to the offline rules")
            name = OFFLINE
        if selection is None:
            selection = _before(first, held, shown, _leading(select(candidates, shown, gate), prefer))
        selection, notes_on = _divided(workspace, held, selection, shown, patience)
        known = _Known(workspace, sources, patience, notes_on)
        answer = recall(
            query,
            candidates,
            _Reader(workspace, held, tools, asked=gate is QUESTION),
            int(edges.now),
            scopes,
            shown,
            limit,
            known,
            selection,
            known.about,
            None
            if type
            else _merged(workspace, held, later_ones(sources, agents, int(edges.now)), patience),
        )
    return replace(answer, engine=name, notes=tuple(notes))


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

    with opened_sources(workspace) as (sources, scopes):
        pairs = gather(query, sources, None, CANDIDATES, now=int(edges.now))
        told = _told([one for _, one in pairs], sources, None, shown)
        held = {ref: source for source in sources for ref in source.scopes}
        told = list(_divided(workspace, held, Selection(tuple(told)), shown, PATIENT_SECONDS)[0].chosen)
        return by_model(workspace, edges, engine, query, told, scopes, RECALLED)


@contextmanager
def opened_sources(
    workspace: Workspace, scope: str | None = None, at: str | None = None, now: float = 0.0
) -> Iterator[tuple[list[Source], dict[str, str]]]:
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
    sources: list[Source] = []
    try:
        for repo in dict.fromkeys(each.repo for each in scopes):
            mine = [each for each in scopes if each.repo is repo and (past is None or each.ref in past)]
            if mine:
                names = {each.ref: str(each.name) for each in mine}
                then = {ref: commit for ref, commit in (past or {}).items() if ref in names}
                sources.append(Source(repo, Catalog.open(mine[0].state), names, then))
        yield sources, {each.ref: str(each.name) for each in scopes}
    finally:
        for source in sources:
            source.catalog.close()


def _told(
    found: Sequence[Candidate], sources: Sequence[Source], agents: Set[str] | None, shown: Set[str]
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
    first: Sequence[Candidate], held: Mapping[str, Source], shown: Set[str], then: Selection
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


_Notes = Mapping[tuple[str, str], str]
"""What is to be said of memories for the code that they were taught on, by ref and path."""


def _divided(
    workspace: Workspace,
    held: Mapping[str, Source],
    selection: Selection,
    shown: Set[str],
    patience: float,
) -> tuple[Selection, _Notes]:
    """A choice without what was taught on code that is not here."""
    if not selection.chosen:
        return selection, {}
    from gitmem.search.reach import BOUND

    if not any(one.type in BOUND and not one.commit for one in selection.chosen):
        return selection, {}
    from gitmem.flows.code_reach import divide

    return divide(workspace, held, selection, shown, patience)


def _merged(workspace: Workspace, held: Mapping[str, Source], later: Later, patience: float) -> Later:
    """The same, without what was taught on code that is not here: it amends nothing here."""

    def here(one: Candidate, text: str) -> Sequence[Candidate]:
        found = Selection(tuple(later(one, text)))
        kept, _ = _divided(workspace, held, found, frozenset(), patience)
        blobs = {newer.blob for newer in found.chosen}
        return [newer for newer in kept.chosen if newer.blob in blobs]

    return here


class _Known:
    """Asks git about what is shown; loaded only where something is."""

    def __init__(
        self, workspace: Workspace, sources: Sequence[Source], patience: float, notes: _Notes
    ) -> None:
        self._workspace, self._sources, self._patience = workspace, sources, patience
        self._notes = notes

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[Finding]]:
        """See `references.Code`."""
        from gitmem.search.code import CodeNow

        place = self._workspace
        return CodeNow(place.git, place.top, place.layout.common_dir, place.state, self._patience).look(
            asked
        )

    def about(self, shown: Sequence[Candidate]) -> Sequence[Sequence[str]]:
        """See `recall.About`."""
        from gitmem.flows.memory_facts import about_memories

        facts = about_memories(self._workspace, self._sources)(shown)
        notes = [self._notes.get((one.ref, one.path)) for one in shown]
        return [[*([note] if note else ()), *known] for note, known in zip(notes, facts, strict=True)]


class _Reader:
    """Opens what was chosen; what then proves not to be worth showing is refused.

    Args:
        asked: whether somebody asked: then a memory that became a rule answers, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        held: Mapping[str, Source],
        tools: Callable[[], Set[str]],
        *,
        asked: bool,
    ) -> None:
        self._workspace, self._held, self._tools, self._asked = workspace, held, cache(tools), asked
        self._opened: list[tuple[Candidate, str]] = []
        self._in_head: InHead | None = None

    def __call__(self, candidate: Candidate) -> bytes | Opened:
        source = self._held[candidate.ref]
        data: bytes | Opened
        if candidate.kind == "log":
            from gitmem.flows.recalled_lines import opened  # most scopes keep no log

            data = said = opened(self._workspace, source, candidate)
        else:
            from gitmem.core.memory import parse

            data = _read(self._workspace, source.repo, candidate)
            memory = parse(candidate.path, data)
            said = opened_memory(memory)
            if RULE in data and not candidate.commit and (file := self._rule_in(candidate, memory)):
                if not self._asked:
                    raise NotShown("promoted", file)
                data = said = replace(
                    said,
                    known=(
                        *said.known,
                        f"now a rule in {plain_place(file)}",
                    ),
                )
        shown = replace(candidate, name=said.name, description=said.description, type=said.type)
        in_use = shown.type == REFERENCE and explains(shown, self._tools())
        if in_use and not warns(f"{said.description}\n{said.body}"):
            raise NotShown("in-use")
        at = said_by(said.body, [body for _, body in self._opened])
        if at is not None:
            raise NotShown("duplicate", self._opened[at][0].path)
        self._opened.append((candidate, said.body))
        return data

    def _rule_in(self, candidate: Candidate, memory: Memory) -> str:
        """The instruction file of HEAD that says what a memory says, which the agent reads anyway."""
        from gitmem.flows.rule_files import InHead  # few memories were promoted

        self._in_head = self._in_head or InHead(self._workspace)
        scope = self._held[candidate.ref].scopes[candidate.ref]
        return self._in_head.stands(candidate.path, memory, scope)


def _read(workspace: Workspace, repo: Repository, candidate: Candidate) -> bytes:
    """A memory's content, without what holds a secret.

    Everything of one's own was screened before it was stored; what others pushed was looked at by whoever
    wrote next: loading the detector costs more than the rest of a recall.
    """
    data = repo.blob(candidate.blob)
    if candidate.ref != workspace.scope("project").ref:
        return data
    from gitmem.ledger.taint import without_secrets

    return without_secrets(workspace, candidate.path, data)
