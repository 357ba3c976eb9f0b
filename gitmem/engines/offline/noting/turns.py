"""A session in turns: what a person asked, and what the agent said and did until the next request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from gitmem.transcripts.model import Message, ToolCall

Say = Callable[[str, int], str]
"""A text on one line of at most so many cells, credentials redacted."""

_ASKING = ("prompt", "queued")


@dataclass
class Turn:
    """One request and what followed.

    Attributes:
        asked: the person's words; empty where nobody may see them, or the agent began.
        time: when it began; None where unknown.
        replies: the agent's messages, in order.
        others: what the person said meanwhile: answers, and reasons for refusing.
    """

    asked: str
    time: datetime | None
    replies: list[Message] = field(default_factory=list)
    others: list[Message] = field(default_factory=list)

    @property
    def calls(self) -> list[ToolCall]:
        """The agent's calls, in order."""
        return [call for reply in self.replies for call in reply.tools]

    @property
    def is_seen(self) -> bool:
        """Whether anything of it may be told."""
        return bool(self.asked or self.replies or self.others)


def turns_of(said: Sequence[Message]) -> tuple[Turn, ...]:
    """Cuts a session into turns; what is withheld begins one, and is not in it."""
    found: list[Turn] = []
    for message in said:
        begins = message.role == "person" and (message.source in _ASKING or message.source == "withheld")
        if begins or not found:
            found.append(Turn("", message.time))
        if message.source == "withheld":
            continue
        if begins:
            found[-1].asked = message.text or ("(pasted text)" if message.pasted else "")
        elif message.role == "person":
            found[-1].others.append(message)
        else:
            found[-1].replies.append(message)
    return tuple(turn for turn in found if turn.is_seen)


def when(time: datetime | None) -> str:
    """A moment to the minute, UTC, and a blank; empty where it is not known."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} " if time is not None else ""


def worklog(turns: Sequence[Turn], say: Say) -> Iterator[str]:
    """Yields a line a turn: when, what was asked, and the tools by name."""
    for turn in turns:
        used = Counter(call.name for call in turn.calls)
        failed = Counter(call.name for call in turn.calls if call.is_error)
        names = [
            f"{say(name, 60)} ×{count}" + (f" ({failed[name]} failed)" if failed[name] else "")
            for name, count in used.items()
        ]
        asked = f"“{say(turn.asked, 160)}”" if turn.asked else "(not shown)"
        yield f"- {when(turn.time)}{asked}: {', '.join(names) or 'no tools'}"
