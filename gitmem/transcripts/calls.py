"""Tool calls as a reader keeps them: enough to see what happened and whether memory was written."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_letters, digits
from typing import Any

from gitmem.transcripts.model import ToolCall
from gitmem.transcripts.speech import clean

RESULT_LENGTH = 2_000
"""Characters kept of a tool result, and of each string given to a tool that writes no file."""
INPUT_LENGTH = 102_400
"""Characters kept of each string given to a tool that can write one: a memory is never longer."""
OPEN_CALLS = 1_000
"""Calls without a result whose names are remembered; the oldest are forgotten first."""

EDITORS: Mapping[str, str] = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
"""Tools that write one file, and which of their arguments names it; other clients' are read as these."""

_WRITERS = frozenset({*EDITORS, "Bash", "memory", "shell", "apply_patch"})
_DEPTH = 20
# A span that is cut goes to its end, so nothing private is left of a text that is cut first.
_LOOKED_AT = 16
_IN_SECRETS = f"{ascii_letters}{digits}_.~+/=-"


def tool_call(id: str, name: str, given: object) -> ToolCall:
    """Makes a call, its input without private spans and cut."""
    length = INPUT_LENGTH if name in _WRITERS else RESULT_LENGTH
    return ToolCall(id, name, _cut(given, length, _DEPTH) if isinstance(given, Mapping) else {})


def result_text(text: str) -> str:
    """A tool's result without private spans, cut."""
    return _cut(text, RESULT_LENGTH, 1)  # type: ignore[no-any-return]


def _cut(value: Any, length: int, depth: int) -> Any:
    if isinstance(value, str):
        looked_at = value[: length * _LOOKED_AT]
        cut = clean(looked_at if "<" in looked_at else looked_at[:length])[:length]
        # The last word of what goes on may be half a secret, which nobody would know for one.
        return cut.rstrip(_IN_SECRETS) if len(value) > length == len(cut) else cut
    if isinstance(value, Mapping):
        return {clean(str(k)): _cut(v, length, depth - 1) for k, v in value.items()} if depth else {}
    if isinstance(value, list):
        return [_cut(v, length, depth - 1) for v in value] if depth else []
    return value
