"""Qwen Code's recordings: who spoke, and only that."""

from __future__ import annotations

from pathlib import Path

from chats import qwen_record as record

from gitmem.transcripts import discover


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
    more = discover.read(path, session.end)
    assert [(one.role, one.text) for one in more.messages if one.text] == [("person", "Thanks")]
