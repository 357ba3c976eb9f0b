"""Reads Qwen Code's recorded sessions: `<home>/projects/<slug>/chats/<session>.jsonl`, as 0.24 writes them.

Its records are Claude Code's in shape (an id, the one before, who said it, where) with Gemini's content
(`parts`). So each is made into Claude Code's, and that client's reading does the rest: which of them stand,
what was taken back, what is repeated. What a hook told the model is a part of the prompt; what a person
typed stands beside it (`displayText`). Prompts, calls, results and resumptions are as it was seen to record
them.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gitmem.transcripts import claude_code
from gitmem.transcripts.model import Session, SessionFile
from gitmem.transcripts.reader import ClientReader, belongs, first_cwd, read_on

NAME = "qwen"
_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "edit": "Edit", "read_file": "Read"}


class _Reading(claude_code.RecordingReading):
    """Claude Code's reading of records that are made into its own."""

    def skim(self, _: bytes, /) -> dict[str, Any] | None:
        return None

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        super().add(offset, _claude(record) if record is not None else None)

    def session(self, path: Path) -> Session:
        return replace(super().session(path), client=NAME)


def _claude(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as Claude Code would have written it."""
    kind, message = record.get("type"), record.get("message")
    made = {key: value for key, value in record.items() if key not in ("message", "systemPayload")}
    parts = message.get("parts") if isinstance(message, dict) else None
    parts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    if kind == "user":
        beside = record.get("systemPayload")
        typed = beside.get("displayText") if isinstance(beside, dict) else None
        texts = [typed] if isinstance(typed, str) else [part.get("text") for part in parts]
        content: object = [{"type": "text", "text": text} for text in texts if isinstance(text, str)]
        made["isMeta"] = record.get("provenance", "real_user") != "real_user"
        return {**made, "message": {"role": "user", "content": content}}
    if kind == "tool_result":
        results = [_result(part["functionResponse"]) for part in parts if "functionResponse" in part]
        return {**made, "type": "user", "message": {"role": "user", "content": results}}
    if kind == "assistant":
        content = [_spoken(part) for part in parts if not part.get("thought")]
        id = record.get("uuid")
        return {**made, "message": {"role": "assistant", "id": id, "content": content}}
    return {**made, "type": "system"}


def _spoken(part: Mapping[str, Any]) -> dict[str, Any]:
    call = part.get("functionCall")
    if not isinstance(call, dict):
        return {"type": "text", "text": part.get("text")}
    name, given = call.get("name"), call.get("args")
    name = _TOOLS.get(name, name) if isinstance(name, str) else ""
    return {"type": "tool_use", "id": call.get("id"), "name": name, "input": given}


def _result(response: object) -> dict[str, Any]:
    found = response if isinstance(response, dict) else {}
    said = found.get("response")
    said = said if isinstance(said, dict) else {}
    text = said.get("output", said.get("error"))
    return {
        "type": "tool_result",
        "tool_use_id": found.get("id"),
        "content": text if isinstance(text, str) else "",
        "is_error": "error" in said,
    }


def qwen_home(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$QWEN_HOME`, else `~/.qwen`."""
    given = environ.get("QWEN_HOME", "")
    return Path(given) if given else home / ".qwen"


def sessions_of(folder: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were started in a repository.

    Args:
        folder: the client's folder.
        worktrees: real paths of all work trees.

    Returns:
        Oldest change first, then by path. What is behind a link does not count.
    """
    found = []
    for path in (folder / "projects").glob("*/chats/*.jsonl"):
        status = path.lstat()
        places = (path, *path.parents[:3])
        if not stat.S_ISREG(status.st_mode) or any(place.is_symlink() for place in places):
            continue
        if belongs(first_cwd(path), worktrees):
            found.append(SessionFile(path, path.stem, status.st_mtime_ns, status.st_size, NAME))
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def _recognises(record: Mapping[str, Any]) -> bool:
    message = record.get("message")
    parts = isinstance(message, dict) and "parts" in message
    return "payload" not in record and "sessionId" in record and ("provenance" in record or parts)


read_session = partial(read_on, _Reading)
"""Reads a recorded session, or what was added to it."""

CLIENT = ClientReader(NAME, read_session, _recognises, qwen_home, sessions_of)
