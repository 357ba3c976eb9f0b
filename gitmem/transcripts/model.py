"""A recorded conversation as one value, whichever client recorded it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from gitmem.values import dataclass

Role = Literal["person", "agent"]
Source = Literal["prompt", "queued", "refusal", "answer", "reply", "withheld"]


@dataclass(frozen=True)
class ToolCall:
    """One tool call of an agent.

    Attributes:
        id: the client's id of the call; empty where it records none.
        name: the tool, e.g. `Edit`.
        input: its arguments, as recorded; each string is cut, see `calls.py`.
        result: text of the result, cut at 2,000 characters; None while it is missing.
        is_error: whether the client marked the result as an error.
    """

    id: str
    name: str
    input: Mapping[str, Any]
    result: str | None = None
    is_error: bool = False


def strings_in(value: Any) -> Iterator[str]:
    """Yields the strings that a tool was given, however deep, in their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


@dataclass(frozen=True)
class Message:
    """What one side said in one go.

    Attributes:
        uuid: the record's id; for a record without one, `q-` and 16 hex digits of a SHA-256 over
            (session id, time, text), so that reading twice gives the same id. Where one record
            holds several utterances, the second is `<uuid>.2` and so on.
        role: `person` only where a human being really spoke.
        text: the prose, without tool calls; may be empty for an agent that only called tools.
        time: when, with time zone; None where unknown.
        source: how it was said: a prompt, a prompt queued while the agent worked, the reason given
            for refusing a tool call, an answer to a question of the agent; `reply` for agents. No reader
            gives `withheld`: see `private.withheld`.
        tools: calls made in this message, in order (agents only).
        branch: code branch at that moment, as recorded; empty where unknown.
        context: what it replies to, in the agent's words and never the person's: the question that
            an answer answers, the name of the tool that was refused; empty otherwise.
        commit: code commit at that moment, or at the session's beginning where the client records no
            more; empty where unknown.
        pasted: what the person pasted into it and did not type, in order; never part of `text`, since
            it is somebody else's words.
    """

    uuid: str
    role: Role
    text: str
    time: datetime | None
    source: Source
    tools: tuple[ToolCall, ...] = ()
    branch: str = ""
    context: str = ""
    commit: str = ""
    pasted: tuple[str, ...] = ()

    def marked(self, most: int) -> str:
        """What was said, and after it what was pasted, marked as such in every line.

        Args:
            most: characters of all pastes together.
        """
        parts = [self.text.strip()] if self.text.strip() else []
        for paste in self.pasted:
            shown, left = paste[:most].rstrip(), max(0, len(paste) - most)
            most -= min(most, len(paste))
            parts.append(f"[pasted, {len(paste):,} characters]" + (" [cut]" if left else ""))
            parts += [f"> {line}".rstrip() for line in shown.splitlines()]
        return "\n".join(parts)


@dataclass(frozen=True)
class Session:
    """One recorded conversation, or the part of it after a cursor.

    Attributes:
        id: the client's session id.
        client: `claude-code`, `codex`, ….
        path: the file it was read from.
        cwd: working directory as first recorded; empty where unknown.
        messages: what was said, oldest first, compacted parts included and rewound ones left out
            (see chain.py).
        end: byte offset after the last complete line that was read: where to go on.
        skipped: number of lines that could not be read (cut, not JSON, not a record).
    """

    id: str
    client: str
    path: Path
    cwd: str
    messages: tuple[Message, ...]
    end: int
    skipped: int = field(default=0)
