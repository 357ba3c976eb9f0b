"""What was chosen for a question is opened, held against the code, and becomes an answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING

from gitmem.core.limits import PROMPT_SECONDS, RECALLED
from gitmem.flows.context import Edges
from gitmem.ledger.workspace import BOUND
from gitmem.search.content import Opened, open_content
from gitmem.search.gate import REFERENCE, Selection, explains, said_by, warns
from gitmem.search.query import Candidate, RecallSource
from gitmem.search.recall import (
    Later,
    NotShown,
    Recall,
    later_ones,
    plain_place,
    recall,
)
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.core.references import Named, NameFate
    from gitmem.flows.rule_files import InHead
    from gitmem.ledger.taint_note import Tainted
    from gitmem.ledger.workspace import Workspace


@dataclass(frozen=True)
class RecallQuestion:
    """What an answer is made for.

    Attributes:
        shown: blobs that this session has seen already.
        limit: memories at most.
        agents: folders of the agents that count; None for all.
        patience: seconds that a look at the code may take.
        tools: names the tools in use: references that only explain one of them are left out.
        asked: whether somebody asked: then a memory that became a rule answers, too.
        amended: whether what amends a memory comes before it.
    """

    text: str
    shown: Set[str] = frozenset()
    limit: int = RECALLED
    agents: Set[str] | None = None
    patience: float = PROMPT_SECONDS
    tools: Callable[[], Set[str]] = field(default=frozenset)
    asked: bool = True
    amended: bool = True


def answered(
    workspace: Workspace,
    edges: Edges,
    sources: Sequence[RecallSource],
    scopes: Mapping[str, str],
    candidates: Sequence[Candidate],
    chosen: Selection,
    question: RecallQuestion,
) -> Recall:
    """Opens what was chosen among candidates, and what amends it."""
    held = {ref: source for source in sources for ref in source.scopes}
    now, patience = int(edges.now), question.patience
    selection, notes = divided(workspace, held, chosen, question.shown, patience)
    known = _Known(workspace, sources, patience, notes)
    later = None
    if question.amended:
        later = _merged(workspace, held, later_ones(sources, question.agents, now), patience)
    return recall(
        question.text,
        candidates,
        _Reader(workspace, held, question.tools, asked=question.asked),
        now,
        scopes,
        question.shown,
        question.limit,
        known,
        selection,
        known.about,
        later,
    )


_Notes = Mapping[tuple[str, str], str]
"""What is to be said of memories for the code that they were taught on, by ref and path."""


def divided(
    workspace: Workspace,
    held: Mapping[str, RecallSource],
    selection: Selection,
    shown: Set[str],
    patience: float,
) -> tuple[Selection, _Notes]:
    """A choice without what was taught on code that is not here, and what is to be said of the rest."""
    if not any(one.type in BOUND and not one.commit for one in selection.chosen):
        return selection, {}
    from gitmem.flows.code_reach import divide

    return divide(workspace, held, selection, shown, patience)


def _merged(workspace: Workspace, held: Mapping[str, RecallSource], later: Later, patience: float) -> Later:
    """The same, without what was taught on code that is not here: it amends nothing here."""

    def here(one: Candidate, text: str) -> Sequence[Candidate]:
        found = Selection(tuple(later(one, text)))
        kept, _ = divided(workspace, held, found, frozenset(), patience)
        blobs = {newer.blob for newer in found.chosen}
        return [newer for newer in kept.chosen if newer.blob in blobs]

    return here


class _Known:
    """Asks git about what is shown; loaded only where something is."""

    def __init__(
        self, workspace: Workspace, sources: Sequence[RecallSource], patience: float, notes: _Notes
    ) -> None:
        self._workspace, self._sources, self._patience = workspace, sources, patience
        self._notes = notes

    def look(self, asked: Sequence[Named]) -> Sequence[Sequence[NameFate]]:
        """See `references.Code`."""
        if not any(one.paths or one.words for one in asked):
            return [()] * len(asked)
        from gitmem.search.code import CodeNow  # most memories name nothing of the code

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
        held: Mapping[str, RecallSource],
        tools: Callable[[], Set[str]],
        *,
        asked: bool,
    ) -> None:
        self._workspace, self._held, self._tools, self._asked = workspace, held, cache(tools), asked
        self._opened: list[tuple[Candidate, str]] = []
        self._in_head: InHead | None = None
        self._tainted: Tainted | None = None

    def __call__(self, candidate: Candidate) -> Opened:
        if candidate.kind == "log":
            from gitmem.flows.recalled_lines import opened  # most scopes keep no log

            said = opened(self._workspace, self._held[candidate.ref], candidate)
        else:
            said = self._open(candidate)
            if said.points and not candidate.commit and (file := self._rule_in(candidate)):
                if not self._asked:
                    raise NotShown("promoted", file)
                said = replace(said, known=(*said.known, f"now a rule in {plain_place(file)}"))
        shown = replace(candidate, name=said.name, description=said.description, type=said.type)
        in_use = shown.type == REFERENCE and explains(shown, self._tools())
        if in_use and not warns(f"{said.description}\n{said.body}"):
            raise NotShown("in-use")
        at = said_by(said.body, [body for _, body in self._opened])
        if at is not None:
            raise NotShown("duplicate", self._opened[at][0].path)
        self._opened.append((candidate, said.body))
        return said

    def _rule_in(self, candidate: Candidate) -> str:
        """The instruction file of HEAD that says what a memory says, which the agent reads anyway."""
        from gitmem.core.memory import parse  # few memories were promoted
        from gitmem.flows.rule_files import InHead

        self._in_head = self._in_head or InHead(self._workspace)
        source = self._held[candidate.ref]
        memory = parse(candidate.path, source.repo.blob(candidate.blob))
        return self._in_head.stands(candidate.path, memory, source.scopes[candidate.ref])

    def _open(self, candidate: Candidate) -> Opened:
        """What a memory says, without what holds a secret: as the index has kept it, else from its content.

        Raises:
            NotShown: nobody whom the person trusts signed it, and that is required.
            MissingObject: it cannot be read, or nothing of it may be shown.

        Everything of one's own was screened before it was stored; what others pushed was looked at by
        whoever wrote next: loading the detector costs more than the rest of a recall.
        """
        workspace, source, hidden = self._workspace, self._held[candidate.ref], False
        if candidate.ref == workspace.scope("project").ref:
            from gitmem.ledger.taint_note import read_tainted, without_secrets

            self._tainted = self._tainted or read_tainted(workspace.state)
            if workspace.settings.requires_signed:
                from gitmem.ledger.signatures import unproved

                if unproved(workspace, {candidate.path: candidate.blob}, candidate.commit):
                    raise NotShown("unsigned")
            hidden = bool(self._tainted.hides(candidate.blob, workspace.allowed))
        said = None if hidden else source.catalog.opened(candidate.blob)
        if said is None:
            data = source.repo.blob(candidate.blob)
            if hidden:
                said = open_content(without_secrets(workspace, candidate.path, data))
            else:
                said = open_content(data)
                source.catalog.keep_opened(candidate.blob, said)
        return said if said.name else replace(said, name=candidate.name)
