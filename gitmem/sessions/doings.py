"""What a session was about, as its record tells: the last request, open to-dos, files that it wrote."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.sessions.session import Message, ToolCall

EDITORS: Mapping[str, str] = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
    "write_file": "file_path",
    "replace": "file_path",
}
"""Tools that write one file, and which of their arguments names it; Codex's patches are read as these."""

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
    return next((one for one in said if one.text.strip()), None)


def open_todos(messages: Sequence[Message]) -> tuple[str, ...]:
    """What of the agent's own list of things to do is not done, in its order.

    Clients either write the list anew each time, of which the last counts, or add to it and settle its
    items one by one.
    """
    items: dict[str, tuple[str, str]] = {}
    added = 0
    for call in _calls(messages):
        if call.is_error:
            continue
        if call.name in _LISTS:
            key, words = _LISTS[call.name]
            found = [_todo(item, words) for item in _list(call.input.get(key))]
            items = {f"listed {number}": one for number, one in enumerate(found, 1)}
        elif call.name == "TaskCreate":
            added += 1
            named = _NUMBER.search(call.result or "")
            items[named[1] if named else str(added)] = (_text(call.input.get("subject")), "pending")
        elif call.name == "TaskUpdate":
            number, status = _text(call.input.get("taskId")), _text(call.input.get("status"))
            if number in items and status:
                items[number] = (items[number][0], status)
    return tuple(text for text, status in items.values() if text and status not in _DONE)


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


def _todo(item: Any, words: str) -> tuple[str, str]:
    given = item if isinstance(item, Mapping) else {}
    return _text(given.get(words)), _text(given.get("status"))


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _text(value: Any) -> str:
    return " ".join(value.split()) if isinstance(value, str) else ""
