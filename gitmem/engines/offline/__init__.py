"""The engines that make no request: rules over prose, and the same rules with the agent in the session.

The rules are always there, without key or network, and deterministic. With the engine `agent` what a person
plainly asked to remember is stored as the rules find it. Of the rest, what may last is handed back as
`Extraction.tell`: the flow tells it to the agent of the session in which it was said, with the next prompt,
and the agent writes memory or leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitmem.core.change import Change, Header, Origin
from gitmem.core.text import one_line
from gitmem.engines.engine import (
    Considered,
    ConsolidateInput,
    Consolidation,
    Document,
    DocumentInput,
    ExtractInput,
    Extraction,
    Notes,
    NotesInput,
    Tell,
    untold,
)

if TYPE_CHECKING:
    from gitmem.engines.offline.extract import Candidate


class OfflineEngine:
    """Takes what people plainly ask for, and suggests a few of what they state."""

    name = "offline"
    reads_history = False

    def extract(self, given: ExtractInput) -> Extraction:
        """Proposes memories; see `gitmem.engines.offline.extract.extract`."""
        from gitmem.engines.offline.extract import extract

        return Extraction(extract(given))

    def candidates(self, given: ExtractInput) -> tuple[Candidate, ...]:
        """All that may last, best first; see `gitmem.engines.offline.extract.candidates`."""
        from gitmem.engines.offline.extract import candidates

        return candidates(given)

    def explain(self, given: ExtractInput) -> tuple[Considered, ...]:
        """Tells what was considered and why it was kept or refused."""
        from gitmem.engines.offline.extract import explain

        return explain(given)

    def choose(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Picks the memories that fit a query; see `gitmem.engines.offline.likeness`."""
        from gitmem.engines.offline.likeness import select

        return select(query, headers, limit)

    def consolidate(self, given: ConsolidateInput, tell: Tell = untold) -> Consolidation:
        """Proposes what can be proved; see `gitmem.engines.offline.consolidate`."""
        from gitmem.engines.offline.consolidate import consolidate

        return consolidate(given, tell)

    def sum_up(self, given: NotesInput) -> Notes:
        """Notes what can be read off a session; see `gitmem.engines.offline.notes`."""
        from gitmem.engines.offline.notes import sum_up

        return sum_up(given)

    def document(self, given: DocumentInput) -> Document:
        """Writes plain renames into a document; see `gitmem.engines.offline.document`."""
        from gitmem.engines.offline.document import document

        return document(given)


LONGEST = 240
"""Characters of a sentence that is told; the agent has the whole of it in its conversation."""


class AgentEngine(OfflineEngine):
    """The offline rules, and beside what they find a wide list for the agent to decide on.

    Its name is theirs: what it stores, the rules found.
    """

    def extract(self, given: ExtractInput) -> Extraction:
        """Proposes what the offline engine does; `tell` holds every sentence that may last, best first."""
        from gitmem.engines.offline.extract import candidates

        times = {message.uuid: message.time for message in given.messages}

        def stated(one: Candidate) -> Change:
            text = one_line(one.text, LONGEST)
            return Change(
                op="add",
                name="said-in-passing",
                description=text,
                type="feedback",
                body=text,
                reason="it may last",
                confidence=one.score,
                asked=False,
                origin=Origin(given.session, one.message, one.message, times.get(one.message)),
                agent=given.agent,
            )

        # What was asked for is stored by the rules, and what gives up a memory is proposed to the person.
        told = tuple(
            stated(one)
            for one in candidates(given)
            if not one.asked and not one.change.gives_up and one.text.strip()
        )
        return replace(super().extract(given), tell=told)
