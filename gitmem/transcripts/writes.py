"""Which tool calls wrote memory: by an editor, by a shell (best effort), or by a tool of memory's own."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from gitmem.transcripts.model import EDITORS, ToolCall, strings_in

# Where clients keep memory, whatever machine a transcript comes from.
_FOLDER = r"/(?:agent-memory(?:-local)?/[^/\s'\"]+|projects/[^/\s'\"]+/memory)(?:/[^/\s'\"]+)*"
_MEMORY_FOLDER = re.compile(rf"{_FOLDER}(?=[/\s'\";&|)]|$)")
_MEMORY_PATH = re.compile(rf"{_FOLDER}/[^/\s'\"]+\.md")
# Best effort: a shell can be told to write in more ways than anyone can list.
_VERBS = re.compile(
    r"\b(?:tee|cp|mv|rm|dd|install|truncate|touch|ln|rsync|patch|shred|unlink)\b"
    r"|\b(?:sed|perl|ruby)\s+(?:-\S+\s+)*-\w*i|\bgit\s+(?:mv|rm|checkout|restore|apply)\b"
    r"|\.write(?:_text|_bytes|lines|FileSync|File)?\(|,\s*['\"][wax]b?\+?['\"]"
)
_REDIRECT = re.compile(r"(?<![-=<])>{1,2}\|?[ \t]*(?!&)(?P<quote>['\"]?)(?P<to>[^\s'\"|;&<>()]+)(?P=quote)")
_CD = re.compile(r"\b(?:cd|pushd)[ \t]+(?:--[ \t]+)?['\"]?([^\s'\"|;&<>()]+)")
_GITMEM = re.compile(
    r"\b(?:git[ \t]+mem|gitmem)[ \t]+(?:-\S+[ \t]+)*(?:remember|forget|move|restore|save)\b"
)
_NOT_WRITTEN = frozenset({"old_string", "old_str", "file_path", "notebook_path", "path", "description"})
# The `memory` tool of the Messages API, and gitmem's own tools behind the model context protocol.
_TOOL_COMMANDS = frozenset({"create", "str_replace", "insert", "delete", "rename"})
_TOOLS = re.compile(
    r"mcp__\w*gitmem\w*__(?:\w+_)?"
    r"(?:remember|forget|write|create|update|edit|delete|store|save|add|move|str_replace|insert|rename)(?:_\w+)?"
)


def writes_memory(call: ToolCall, folders: Collection[Path], cwd: str = "") -> bool:
    """Whether a tool call wrote into a live directory; of shell commands best effort.

    Args:
        folders: live directories, absolute; the clients' usual places count too, also on another machine.
    """
    if call.is_error:
        return False
    if call.name in EDITORS:
        path = call.input.get(EDITORS[call.name])
        return isinstance(path, str) and bool(path) and _is_memory(path, folders, cwd)
    if _TOOLS.fullmatch(call.name):
        return True
    command = call.input.get("command")
    if call.name == "memory" or call.name.endswith("__memory"):
        return command in _TOOL_COMMANDS
    return call.name == "Bash" and isinstance(command, str) and _shell_writes(command, folders, cwd)


def given_by(call: ToolCall) -> Iterator[str]:
    """The texts that a call put into a file, or the command by which it did."""
    given = {key: value for key, value in call.input.items() if key not in _NOT_WRITTEN}
    edits = given.get("edits")
    if isinstance(edits, list):
        given["edits"] = [one.get("new_string") for one in edits if isinstance(one, dict)]
    return strings_in(given)


def wrote(call: ToolCall, path: Path, cwd: str = "") -> bool:
    """Whether a tool call wrote this file of a live directory, or took it away; best effort.

    Args:
        path: absolute.
        cwd: working directory of the session.
    """
    if call.is_error:
        return False
    if call.name in EDITORS:
        target = call.input.get(EDITORS[call.name])
        return isinstance(target, str) and os.path.normpath(os.path.join(cwd, target)) == str(path)  # noqa: PTH118
    command = call.input.get("command")
    if call.name == "memory":
        named = [call.input.get(key) for key in ("path", "old_path", "new_path")]
        return command in _TOOL_COMMANDS and any(str(one or "").endswith(f"/{path.name}") for one in named)
    if call.name != "Bash" or not isinstance(command, str) or path.name not in command:
        return False
    return _shell_writes(command, [path.parent], cwd)


def _shell_writes(command: str, folders: Collection[Path], cwd: str) -> bool:
    if _GITMEM.search(command):
        return True
    inside = any(_is_in(place, folders, cwd) for place in _CD.findall(command))
    for match in _REDIRECT.finditer(command):
        target = match["to"]
        if target.startswith("/dev/"):
            continue
        if _is_memory(target, folders, cwd) or (inside and not target.startswith(("/", "~"))):
            return True
    if not _VERBS.search(command):
        return False
    named = any(f"{folder}{os.sep}" in command for folder in folders)
    return inside or named or bool(_MEMORY_PATH.search(command))


def _is_in(path: str, folders: Collection[Path], cwd: str) -> bool:
    """Whether a folder is one of memory."""
    place = os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118
    return _is_memory(path, folders, cwd) or bool(_MEMORY_FOLDER.search(place))


def _is_memory(path: str, folders: Collection[Path], cwd: str) -> bool:
    # As text: a recorded path is nothing to look up on disk.
    place = os.path.normpath(os.path.join(cwd, path))  # noqa: PTH118
    inside = any(Path(place).is_relative_to(folder) for folder in folders)
    return inside or bool(_MEMORY_PATH.search(place))
