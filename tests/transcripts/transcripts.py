"""Writes transcripts in the shape that the client records, for what a scripted run cannot bring about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gitmem.transcripts.claude_home import slug

REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
    "edit, the new_string was NOT written to the file). "
)
BARE = REFUSED + "STOP what you are doing and wait for the user to tell you how to proceed."


def reasoned(reason: str) -> str:
    """A refusal as the client words it, with the person's reason."""
    note = "\n\nNote: The user's next message may contain a correction or preference. Pay close attention."
    return f"{REFUSED}To tell you how to proceed, the user said:\n{reason}{note}"


SESSION = "11111111-0000-4000-8000-000000000000"


class Transcript:
    """A session in the making; each call adds a line, a child of the one before unless told otherwise.

    Sessions whose ids begin otherwise have no message in common.
    """

    def __init__(self, session: str = SESSION, cwd: str = "/home/dev/app") -> None:
        self.session = session
        self.end = "" if session == SESSION else session[:8]
        self.cwd = cwd
        self.lines: list[str] = []
        self.last: str | None = None

    def user(self, content: Any, parent: str | None = "", **more: Any) -> str:
        return self._chained("user", parent, {"message": {"role": "user", "content": content}, **more})

    def agent(self, *blocks: Any, id: str = "", parent: str | None = "", **more: Any) -> str:
        content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
        message = {"role": "assistant", "id": id or f"msg_{len(self.lines)}", "content": content}
        return self._chained("assistant", parent, {"message": message, **more})

    def call(self, id: str, name: str, **input: Any) -> str:
        return self.agent({"type": "tool_use", "id": id, "name": name, "input": input})

    def result(self, id: str, content: Any, error: bool = False, **more: Any) -> str:
        block = {"type": "tool_result", "tool_use_id": id, "content": content}
        return self.user([{**block, "is_error": True} if error else block], **more)

    def attachment(self, **attachment: Any) -> str:
        return self._chained("attachment", "", {"attachment": attachment})

    def compact(self) -> str:
        boundary = {"subtype": "compact_boundary", "logicalParentUuid": self.last}
        return self._chained("system", None, boundary)

    def queue(self, operation: str, content: str | None = None) -> None:
        record = {"type": "queue-operation", "operation": operation, "timestamp": self._now()}
        more = {} if content is None else {"content": content}
        self.raw(json.dumps({**record, "sessionId": self.session, **more}))

    def raw(self, line: str) -> None:
        self.lines.append(line)

    def write(self, path: Path) -> Path:
        path.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")
        return path

    def record(self, home: Path) -> Path:
        """Writes it to where the client keeps those of its folder."""
        folder = home / ".claude/projects" / slug(Path(self.cwd))
        folder.mkdir(parents=True, exist_ok=True)
        return self.write(folder / f"{self.session}.jsonl")

    def _now(self) -> str:
        return f"2026-11-20T10:{len(self.lines) // 60:02d}:{len(self.lines) % 60:02d}.000Z"

    def _chained(self, kind: str, parent: str | None, more: dict[str, Any]) -> str:
        uuid = f"{len(self.lines):08d}-0000-4000-8000-{self.end:0>12}"
        record = {
            "parentUuid": self.last if parent == "" else parent,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": self._now(),
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": "2.1.0",
            "gitBranch": "main",
            **more,
        }
        self.raw(json.dumps(record))
        self.last = uuid
        return uuid
