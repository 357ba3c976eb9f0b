"""What an engine or a person wants changed, as a value that can be printed, tested and refused."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from gitmem.core.memory import TYPES as TYPES
from gitmem.core.memory import MemoryType as MemoryType
from gitmem.values import dataclass

Op = Literal["add", "update", "delete", "noop"]


@dataclass(frozen=True)
class ChangeOrigin:
    """Where a change comes from.

    Attributes:
        session: id of the recorded session; empty for a change made by hand.
        first, last: uuids of the first and last message it stems from.
        time: when the last of them was said, with time zone; None where unknown.
    """

    session: str = ""
    first: str = ""
    last: str = ""
    time: datetime | None = None


@dataclass(frozen=True)
class Edited:
    """A memory file as an engine found it and as it left it.

    Attributes:
        before: content that was read; None for a new file.
        after: whole new content, frontmatter included.
    """

    before: bytes | None
    after: bytes


@dataclass(frozen=True)
class Change:
    """One memory to add, update or delete.

    Attributes:
        op: `noop` records that something was seen and left alone, with the reason.
        name: the memory's name, a slug (`no-mocks-in-tests`).
        description: one line that would find it again.
        type: one of the four types.
        body: markdown, without frontmatter; Why and How to apply as paragraphs of their own. In an update
            only what is new: it is joined to what stands there.
        reason: why this is worth keeping (or why not), for the person who reviews it.
        confidence: 0 to 1.
        asked: a person plainly asked to remember it, or laid it down for good ("from now on …"): it may be
            stored without review.
        origin: the messages it stems from.
        agent: name space it belongs to.
        file: the existing file an update or delete is about; empty for an add.
        edited: the whole file before and after, of an engine that edits files: it is merged into what
            stands there by then, and takes out what the edit took out. None where `body` says it all.
    """

    op: Op
    name: str
    description: str
    type: MemoryType
    body: str
    reason: str
    confidence: float
    asked: bool
    origin: ChangeOrigin = ChangeOrigin()
    agent: str = "main"
    file: str = ""
    edited: Edited | None = None

    @property
    def gives_up(self) -> bool:
        """Whether it takes away or rewrites what a memory holds, not just adds to it."""
        return self.op == "delete" or (self.edited is not None and self.edited.before is not None)


@dataclass(frozen=True)
class Header:
    """One line about an existing memory: what engines see of the memories they did not open.

    Attributes:
        scope: `user`, `project` or `local`.
        agent: name space.
        file: file name inside the agent's folder.
        time: author time of its last change in epoch seconds; 0 where unknown.
    """

    scope: str
    agent: str
    file: str
    name: str
    description: str
    type: str
    time: int = 0
