"""Writes recordings in the shape that Gemini CLI records."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

CONTEXT = "<session_context>\nThis is the Gemini CLI. Always lint.\n</session_context>"


def project_hash(cwd: str) -> str:
    return hashlib.sha256(cwd.encode()).hexdigest()


class Chat:
    """A recording in the making; each call adds lines."""

    def __init__(self, id: str = "chat-id", cwd: str = "/home/dev/app", **head: Any) -> None:
        self.lines: list[str] = []
        self.head = {"sessionId": id, "projectHash": project_hash(cwd), "kind": "main", **head}
        self.messages: list[dict[str, Any]] = []
        self.line(self.head)
        self.list({"id": "context", "type": "user", "content": [{"text": CONTEXT}]})

    def line(self, record: dict[str, Any]) -> None:
        self.lines.append(json.dumps(record))

    def message(self, id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
        at = f"2026-11-20T10:{len(self.lines) // 60:02d}:{len(self.lines) % 60:02d}.000Z"
        record = {"id": id, "timestamp": at, "type": kind, "content": content, **more}
        self.messages.append(record)
        self.line(record)
        self.line({"$set": {"lastUpdated": at}})
        return record

    def user(self, id: str, *texts: str, **more: Any) -> dict[str, Any]:
        return self.message(id, "user", [{"text": text} for text in texts], **more)

    def agent(self, id: str, text: str, *calls: dict[str, Any]) -> dict[str, Any]:
        """A reply; one with calls is recorded before they are made and once more with them."""
        record = self.message(id, "gemini", text)
        if calls:
            record["toolCalls"] = list(calls)
            self.line(record)
            self.message(f"{id}-results", "user", [one["result"][0] for one in calls])
        return record

    def list(self, *messages: dict[str, Any]) -> None:
        """The client's whole list anew."""
        self.line({"$set": {"messages": list(messages)}})

    def rewind(self, id: str) -> None:
        self.line({"$rewindTo": id})

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")
        return path

    def write_document(self, path: Path) -> Path:
        """The session as older clients recorded it."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({**self.head, "messages": self.messages}, indent=2), encoding="utf-8")
        return path


def call(id: str, name: str, output: str, status: str = "success", **args: Any) -> dict[str, Any]:
    """A call with its result."""
    response = {"error" if status == "error" else "output": output}
    result = [{"functionResponse": {"id": id, "name": name, "response": response}}]
    return {"id": id, "name": name, "args": args, "result": result, "status": status}


def qwen_record(number: int, kind: str, parts: list[dict[str, object]], **more: object) -> str:
    """A line of Qwen Code's, whose content is of the same form."""
    made = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "timestamp": f"2026-11-24T02:00:0{number}.000Z",
        "type": kind,
        "cwd": "/work/app",
        "version": "0.24.4",
        "gitBranch": "main",
        "message": {"role": "user" if kind != "assistant" else "model", "parts": parts},
        **more,
    }
    return json.dumps(made) + "\n"
