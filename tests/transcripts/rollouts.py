"""Writes recordings in the shape that Codex CLI records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ENVIRONMENT = "<environment_context>\n  <cwd>/home/dev/app</cwd>\n</environment_context>"
RULES = "# AGENTS.md instructions for /home/dev/app\n\n<INSTRUCTIONS>\nAlways lint.\n</INSTRUCTIONS>"


class Rollout:
    """A recording in the making; each call adds lines."""

    def __init__(self, id: str = "rollout-id", cwd: str = "/home/dev/app", **meta: Any) -> None:
        self.lines: list[str] = []
        git = {"commit_hash": "c" * 40, "branch": "main"}
        self.add("session_meta", {"id": id, "cwd": cwd, "source": "cli", "git": git, **meta})

    def add(self, kind: str, payload: dict[str, Any]) -> None:
        at = f"2026-11-20T10:{len(self.lines) // 60:02d}:{len(self.lines) % 60:02d}.000Z"
        self.lines.append(json.dumps({"timestamp": at, "type": kind, "payload": payload}))

    def item(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        self.add("response_item", {"type": "message", "role": role, "content": content})

    def event(self, name: str, **more: Any) -> None:
        self.add("event_msg", {"type": name, **more})

    def user(self, text: str) -> None:
        """A prompt, recorded twice."""
        self.item("user", text)
        self.event("user_message", message=text, kind="plain")

    def user_item(self, text: str) -> None:
        """A prompt as newer clients record it."""
        self.item("user", text)
        content = [{"type": "text", "text": text, "text_elements": []}]
        self.event("item_completed", item={"type": "UserMessage", "id": "u", "content": content})

    def agent(self, text: str) -> None:
        self.event("agent_message", message=text)
        self.item("assistant", text)

    def call(self, id: str, name: str, **given: Any) -> None:
        self.add(
            "response_item",
            {"type": "function_call", "name": name, "call_id": id, "arguments": json.dumps(given)},
        )

    def output(self, id: str, output: Any) -> None:
        self.add("response_item", {"type": "function_call_output", "call_id": id, "output": output})

    def patch(self, id: str, text: str) -> None:
        call = {"type": "custom_tool_call", "name": "apply_patch", "call_id": id, "input": text}
        self.add("response_item", call)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in self.lines), encoding="utf-8")
        return path
