"""A recorded conversation as values, whichever client recorded it, and what can be read off one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from gitmem.values import dataclass

EDITORS: Mapping[str, str] = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
"""Tools that write one file, and which of their arguments names it; other clients' are read as these."""

Role = Literal["person", "agent"]
Source = Literal["prompt", "queued", "refusal", "answer", "reply", "withheld"]


@dataclass(frozen=True)
class ToolCall:
    """One tool call of an agent.

    Attributes:
        id: the client's id of the call; empty where it records none.
        name: the tool, e.g. `Edit`.
        input: its arguments, as recorded; each string is cut, see `reader.tool_call`.
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
            gives `withheld`: see `privacy.withheld`.
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
            (see claude_code.py).
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


@dataclass(frozen=True)
class SessionFile:
    """One transcript on disk.

    Attributes:
        path: what a reader is given: a file, or a place in a client's database.
        id: session id.
        mtime_ns: last change, nanoseconds since the epoch.
        size: bytes, or what grows as they do.
        client: who recorded it.
    """

    path: Path
    id: str
    mtime_ns: int
    size: int
    client: str = "claude-code"


_LISTS: Mapping[str, tuple[str, str]] = {
    "TodoWrite": ("todos", "content"),
    "update_plan": ("plan", "step"),
    "write_todos": ("todos", "description"),
}
_DONE = frozenset({"completed", "cancelled", "canceled", "done", "deleted"})
# "Task #3 created successfully: …"
_NUMBER = re.compile(r"#(\d{1,6})\b")


@dataclass(frozen=True)
class Todo:
    """An item of the agent's own list of things to do.

    Attributes:
        status: in the client's word.
    """

    text: str
    status: str

    @property
    def done(self) -> bool:
        """Whether nothing is left to do of it."""
        return self.status in _DONE

    @property
    def in_hand(self) -> bool:
        """Whether the agent is at it."""
        return self.status == "in_progress"


def todos_of(calls: Iterable[ToolCall]) -> tuple[Todo, ...]:
    """The agent's own list of things to do, in its order, with what is done.

    Clients either write the list anew each time, of which the last counts, or add to it and settle its
    items one by one.
    """
    listed: tuple[Todo, ...] = ()
    tasks: dict[str, Todo] = {}
    for call in calls:
        if call.is_error:
            continue
        given = call.input
        if call.name in _LISTS:
            key, words = _LISTS[call.name]
            listed = tuple(_todo(item, words) for item in _list(given.get(key)))
        elif call.name == "TaskCreate":
            named = _NUMBER.search(call.result or "")
            text = _text(given.get("subject")) or _text(given.get("description"))
            tasks[named[1] if named else str(len(tasks) + 1)] = Todo(text, "pending")
        elif call.name == "TaskUpdate" and (known := tasks.get(_text(given.get("taskId")))):
            tasks[_text(given.get("taskId"))] = Todo(
                _text(given.get("subject")) or known.text, _text(given.get("status")) or known.status
            )
    return tuple(todo for todo in (*listed, *tasks.values()) if todo.text)


def _todo(item: Any, words: str) -> Todo:
    given = item if isinstance(item, Mapping) else {}
    return Todo(_text(given.get(words)), _text(given.get("status")))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
