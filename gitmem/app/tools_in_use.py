"""Which tools and commands a session used in its last turns, from the end of its transcript alone."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitmem.ledger.files import open_regular

TAIL = 65_536
"""Bytes of a transcript that are read: the prompt waits for it."""

TURNS = 3
"""Prompts back from the end, from which on calls count."""

MOST = 64
_SHELLS = frozenset({"Bash", "BashOutput", "shell"})
_COMMAND = re.compile(
    r"(?:^|[|;&\n(]|\$\()[^\S\n]*((?:[A-Za-z_]\w*=\S*\s+)*)([^\s|;&()<>'\"$`]+)(?:\s+([^\s|;&()<>'\"$`]+))?"
)
_RUNNERS = frozenset({"sudo", "env", "time", "npx", "uvx", "pipx", "exec", "nohup", "xargs", "command"})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")
_SERVER = re.compile(r"mcp__([^_].*?)__(.+)")


def tools_in_use(transcript: object) -> frozenset[str]:
    """Names what was in use: programs of shell commands, MCP servers and their tools, in lower case.

    The client's own tools are left out: their names are words like "read".

    Args:
        transcript: path as the client gave it; anything else names nothing.
    """
    if not isinstance(transcript, str) or not transcript.startswith("/") or "\0" in transcript:
        return frozenset()
    found: dict[str, None] = {}
    turns = 0
    for record in _newest_first(_tail(Path(transcript))):
        turns += _is_prompt(record)
        if turns >= TURNS or len(found) >= MOST:
            break
        for name in _calls(record):
            found.setdefault(name.lower())
    return frozenset(found)


def _tail(path: Path) -> bytes:
    try:
        file = open_regular(path)
        if file is None:
            return b""
        with file:
            start = max(0, os.fstat(file.fileno()).st_size - TAIL)
            file.seek(start)
            data = file.read(TAIL)
    except OSError:
        return b""
    # What was cut off in its midst is no record.
    return data.partition(b"\n")[2] if start else data


def _newest_first(data: bytes) -> Iterator[dict[str, Any]]:
    for line in reversed(data.splitlines()):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict):
            yield record


def _content(record: dict[str, Any]) -> Any:
    message = record.get("message")
    return message.get("content") if isinstance(message, dict) else None


def _is_prompt(record: dict[str, Any]) -> bool:
    if record.get("type") != "user" or record.get("isMeta"):
        return False
    content = _content(record)
    if isinstance(content, list):
        return any(isinstance(block, dict) and block.get("type") == "text" for block in content)
    return isinstance(content, str)


def _calls(record: dict[str, Any]) -> Iterator[str]:
    content = _content(record)
    if record.get("type") != "assistant" or not isinstance(content, list):
        return
    for block in content:
        if not isinstance(block, dict) or block.get("type") != "tool_use":
            continue
        name, given = block.get("name"), block.get("input")
        if not isinstance(name, str):
            continue
        if named := _SERVER.fullmatch(name):
            yield from named.groups()
        elif name in _SHELLS and isinstance(given, dict) and isinstance(given.get("command"), str):
            yield from _programs(given["command"])


def _programs(command: str) -> Iterator[str]:
    for match in _COMMAND.finditer(command[:4096]):
        words = [match[2], match[3]] if match[2] in _RUNNERS else [match[2]]
        for word in words:
            base = (word or "").rpartition("/")[2]
            if _NAME.fullmatch(base) and base not in _RUNNERS:
                yield base
