"""What a session was about, as its record tells: the last request, open to-dos, files that it wrote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from gitmem.transcripts.calls import EDITORS
from gitmem.transcripts.model import Message, ToolCall
from gitmem.values import dataclass

_LISTS: Mapping[str, tuple[str, str]] = {
    "TodoWrite": ("todos", "content"),
    "update_plan": ("plan", "step"),
    "write_todos": ("todos", "description"),
}
_DONE = frozenset({"completed", "cancelled", "canceled", "done", "deleted"})
# "Task #3 created successfully: …"
_NUMBER = re.compile(r"#(\d{1,6})\b")


def last_request(messages: Sequence[Message]) -> Message | None:
    """What a person asked for last; None where nothing that may be told was asked."""
    asked = ("prompt", "queued", "answer", "refusal")
    said = (one for one in reversed(messages) if one.role == "person" and one.source in asked)
    return next((one for one in said if one.text.strip() or one.pasted), None)


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


def open_todos(messages: Sequence[Message]) -> tuple[str, ...]:
    """What of the agent's own list of things to do is not done, in its order."""
    return tuple(todo.text for todo in todos_of(_calls(messages)) if not todo.done)


def files_changed(messages: Sequence[Message]) -> tuple[str, ...]:
    """Files that the agent wrote, as it named them, the last one first; failed calls do not count."""
    names = [
        _text(call.input.get(EDITORS[call.name]))
        for call in _calls(messages)
        if call.name in EDITORS and not call.is_error
    ]
    return tuple(dict.fromkeys(name for name in reversed(names) if name))


def _calls(messages: Sequence[Message]) -> Iterator[ToolCall]:
    return (call for message in messages for call in message.tools)


def _todo(item: Any, words: str) -> Todo:
    given = item if isinstance(item, Mapping) else {}
    return Todo(_text(given.get(words)), _text(given.get("status")))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
