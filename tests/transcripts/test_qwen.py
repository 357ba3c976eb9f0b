"""Qwen Code's recordings: who spoke, and only that."""

from __future__ import annotations

import json
from pathlib import Path

from gitmem.transcripts import discover, qwen


def record(number: int, kind: str, parts: list[dict[str, object]], **more: object) -> str:
    made = {
        "uuid": f"u{number}",
        "parentUuid": f"u{number - 1}" if number else None,
        "sessionId": "s",
        "timestamp": f"2026-11-24T02:00:0{number}.000Z",
        "type": kind,
        "cwd": more.pop("cwd", "/work/app"),
        "version": "0.24.4",
        "gitBranch": "main",
        "message": {"role": "user" if kind != "assistant" else "model", "parts": parts},
        **more,
    }
    return json.dumps(made) + "\n"


def call(**given: object) -> dict[str, object]:
    return {"functionCall": {"id": "c1", "name": "run_shell_command", "args": given}}


def test_a_session_is_read_as_it_was_held(tmp_path: Path) -> None:
    """A hook's text beside a prompt, a system's record and a thought were said by nobody."""
    told = "<qwen:user-prompt-submit-context>\nPorts\n</qwen:user-prompt-submit-context>"
    answer: dict[str, object] = {"functionResponse": {"id": "c1", "response": {"error": "Exit Code: 1"}}}
    asked = {"displayText": "Say hello", "hookContext": "Ports"}
    said = {"provenance": "real_user", "systemPayload": asked}
    lines = [
        record(0, "user", [{"text": "Say hello"}, {"text": told}], **said),
        record(1, "system", [], provenance="system", subtype="ui_telemetry"),
        record(2, "assistant", [{"text": "hm", "thought": True}, call(command="false")]),
        record(3, "tool_result", [answer], provenance="tool_result"),
        record(4, "assistant", [{"text": "It failed."}]),
        record(5, "user", [{"text": "A reminder of the client's"}], provenance="system_reminder"),
        record(6, "user", [{"text": "Thanks"}], provenance="real_user"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_text("".join(lines[:5]))
    session = discover.read(path)
    assert (session.client, session.id, session.cwd) == ("qwen", "s", "/work/app")
    assert [(one.role, one.text) for one in session.messages if one.text] == [
        ("person", "Say hello"),
        ("agent", "It failed."),
    ]
    (ran,) = [tool for one in session.messages for tool in one.tools]
    assert (ran.name, ran.input["command"], ran.is_error) == ("Bash", "false", True)
    path.write_text("".join(lines))
    marks = tmp_path / "marks"
    more = discover.read(path, session.end, bookmarks=marks)
    assert [(one.role, one.text) for one in more.messages if one.text] == [("person", "Thanks")]


def test_sessions_of_other_repositories_do_not_count(tmp_path: Path) -> None:
    app = tmp_path / "app"
    (app / ".git").mkdir(parents=True)
    chats = tmp_path / "home/projects/slug/chats"
    chats.mkdir(parents=True)
    (chats / "mine.jsonl").write_text(record(0, "user", [{"text": "Hello"}], cwd=str(app)))
    (chats / "theirs.jsonl").write_text(record(0, "user", [{"text": "Hello"}]))
    (chats / "linked.jsonl").symlink_to(chats / "mine.jsonl")
    (found,) = qwen.sessions_of(tmp_path / "home", [app])
    assert (found.id, found.client) == ("mine", "qwen")
