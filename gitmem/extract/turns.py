"""Which messages of a session are looked at: those that nobody handled, in turns the agent left alone."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.sessions.session import Message, ToolCall

_EDITORS = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
# Where clients keep memory, whatever machine a transcript comes from.
_MEMORY = r"/(?:agent-memory(?:-local)?/[^/\s'\"]+|projects/[^/\s'\"]+/memory)(?:/[^/\s'\"]+)+"
_MEMORY_PATH = re.compile(rf"{_MEMORY}\.md")
_WRITES = re.compile(r">|\btee\b|\bsed\s+(?:-\S+\s+)*-\w*i|\b(?:cp|mv|rm)\b")


@dataclass(frozen=True)
class Looked:
    """A session's messages, sorted out.

    Attributes:
        messages: those to extract from, with the agent's replies between them.
        handled: uuids of all of the person's messages, also those left out.
        covered: uuids of the person's messages that the agent itself made memory of.
    """

    messages: tuple[Message, ...]
    handled: tuple[str, ...]
    covered: tuple[str, ...] = ()


def to_look_at(
    messages: Sequence[Message], handled: Container[str], folders: Collection[Path], cwd: str = ""
) -> Looked:
    """Leaves out what was handled, what is no prose, and turns in which the agent wrote memory.

    A turn goes from a prompt to the next. What a person said in it before the agent's last write to memory
    was the agent's to keep; what came after that write (a queued prompt, say) is looked at.

    Args:
        messages: of one session, oldest first.
        handled: uuids of messages that were extracted from before, by this or a forked session.
        folders: live directories, absolute.
        cwd: working directory of the session, for relative paths.
    """
    covered: set[str] = set()
    turn: list[str] = []
    for message in messages:
        if message.role == "person":
            if message.source == "prompt":
                turn = []
            turn.append(message.uuid)
        elif any(writes_memory(call, folders, cwd) for call in message.tools):
            covered.update(turn)
            turn = []
    said = [message for message in messages if message.role == "person" and message.uuid not in handled]
    left_out = {m.uuid for m in messages if m.role == "person" and (m.uuid in handled or m.uuid in covered)}
    kept = tuple(m for m in messages if m.uuid not in left_out and (m.role == "agent" or m.text.strip()))
    return Looked(
        kept if any(m.role == "person" for m in kept) else (),
        tuple(m.uuid for m in said),
        tuple(m.uuid for m in said if m.uuid in covered),
    )


def writes_memory(call: ToolCall, folders: Collection[Path], cwd: str = "") -> bool:
    """Whether a tool call wrote into a live directory; of shell commands best effort.

    Args:
        folders: live directories, absolute; the clients' usual places count too, also on another machine.
    """
    if call.is_error:
        return False
    if call.name in _EDITORS:
        path = call.input.get(_EDITORS[call.name])
        return isinstance(path, str) and bool(path) and _is_memory(path, folders, cwd)
    command = call.input.get("command") if call.name == "Bash" else None
    if not isinstance(command, str) or not _WRITES.search(command):
        return False
    return bool(_MEMORY_PATH.search(command)) or any(f"{folder}{os.sep}" in command for folder in folders)


def _is_memory(path: str, folders: Collection[Path], cwd: str) -> bool:
    # As text: a recorded path is nothing to look up on disk.
    place = os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118
    inside = any(Path(place).is_relative_to(folder) for folder in folders)
    return inside or bool(_MEMORY_PATH.search(place))
