"""The agent's own list of steps, as its last call left it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitmem.engines.offline.noting.turns import Say, Turn
from gitmem.sessions.session import ToolCall

MOST = 30
_WIDTH = 200
_LISTS = {"TodoWrite": "todos", "write_todos": "todos", "update_plan": "plan"}
_DONE = frozenset({"completed", "cancelled", "canceled", "deleted", "done"})
_NUMBER = re.compile(r"#(\d{1,6})")


def open_steps(turns: Sequence[Turn], say: Say) -> Iterator[str]:
    """Yields steps that are in hand, then those that are still to be done."""
    listed: dict[str, tuple[str, str]] = {}
    tasks: dict[str, tuple[str, str]] = {}
    for turn in turns:
        for call in turn.calls:
            if call.is_error:
                continue
            if call.name in _LISTS:
                listed = dict(_listed(call.input.get(_LISTS[call.name])))
            elif call.name in ("TaskCreate", "TaskUpdate"):
                _follow(tasks, call)
    steps = [*listed.values(), *tasks.values()]
    open_ones = [(text, status) for text, status in steps if status not in _DONE]
    open_ones.sort(key=lambda one: one[1] != "in_progress")
    for text, status in open_ones[:MOST]:
        yield f"- {'In hand' if status == 'in_progress' else 'To do'}: {say(text, _WIDTH)}"


def _listed(given: Any) -> Iterator[tuple[str, tuple[str, str]]]:
    for number, one in enumerate(given if isinstance(given, list) else []):
        if isinstance(one, dict):
            text = _text(one, "content", "step", "description")
            if text:
                yield str(number), (text, str(one.get("status") or "pending"))


def _follow(tasks: dict[str, tuple[str, str]], call: ToolCall) -> None:
    if call.name == "TaskCreate":
        found = _NUMBER.search(call.result or "")
        text = _text(call.input, "subject", "description")
        if text:
            tasks[found[1] if found else str(len(tasks) + 1)] = (text, "pending")
        return
    key = str(call.input.get("taskId") or "")
    if key in tasks:
        text, status = tasks[key]
        tasks[key] = (_text(call.input, "subject") or text, str(call.input.get("status") or status))


def _text(given: Mapping[str, Any], *keys: str) -> str:
    return next((given[key] for key in keys if isinstance(given.get(key), str) and given[key].strip()), "")
