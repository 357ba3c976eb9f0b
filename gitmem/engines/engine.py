"""The jobs an engine does for the flows: values in, values out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from gitmem.memory.change import Change, Header
from gitmem.sessions.session import Message


@dataclass(frozen=True)
class ExtractInput:
    """What an engine may know when it looks for new memories.

    Attributes:
        messages: the part of one conversation to look at, oldest first.
        manifest: one header for each memory that exists already, of every scope that applies.
        rules: full texts of the instruction files (CLAUDE.md, AGENTS.md): what they say is not kept.
        session: id of the recorded session.
    """

    messages: tuple[Message, ...]
    manifest: tuple[Header, ...] = ()
    rules: tuple[str, ...] = ()
    session: str = ""


@dataclass(frozen=True)
class Considered:
    """One sentence an engine looked at, and what it made of it.

    Attributes:
        message: uuid of the message that holds the sentence.
        sentence: the person's words.
        verdict: `asked` (to be stored), `suggested` (to be reviewed), `known`, or `refused`.
        reason: why, in words for a person.
    """

    message: str
    sentence: str
    verdict: Literal["asked", "suggested", "known", "refused"]
    reason: str


class Engine(Protocol):
    """Whoever thinks. Engines keep no state between calls and write nothing."""

    @property
    def name(self) -> str:
        """Gives the value of the `Gitmem-Engine` trailer: `offline`, `anthropic:<model>`, …."""
        ...

    def extract(self, given: ExtractInput) -> tuple[Change, ...]:
        """Proposes what to add, update or delete.

        An update's body holds what was newly said, and no more: an engine sees headers, so whoever
        carries it out joins the body to the existing claims.

        Args:
            given: the messages and what is known already.

        Returns:
            proposals in the order in which they were said; `noop` where a statement is known already.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...

    def select(self, query: str, headers: Sequence[Header], limit: int) -> tuple[int, ...]:
        """Picks the memories that help with a query.

        Args:
            query: what the person asked.
            headers: candidates.
            limit: how many at most; 0 or less picks none.

        Returns:
            indices into `headers`, best first; empty where nothing fits.

        Raises:
            EngineError: the engine could not do its work.
        """
        ...
