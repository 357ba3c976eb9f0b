"""What clients give to hooks becomes what gitmem knows, whatever a client calls it."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitmem.app import clients, hooks, session_start
from gitmem.app.clients import CLIENTS, CODEX, CURSOR, GEMINI, OPENCODE, QWEN, Client


def ran(client: str, event: str, payload: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """The answer of one hook, and how many workers it started."""
    out, started = io.StringIO(), []
    stdin = io.BytesIO(json.dumps(payload).encode())
    assert hooks.main([client, event], os.environ, stdin, out, lambda *_: started.append(1)) == 0
    return json.loads(out.getvalue() or "{}"), len(started)


@pytest.fixture
def state(repo: Path) -> Path:
    (repo / ".git/gitmem").mkdir()
    return repo / ".git/gitmem"


def test_text_that_gemini_put_before_a_prompt_is_no_question() -> None:
    """It holds the whole index: recall would find everything in it."""
    told = "<hook_context>Ports are in ports.md</hook_context>\n\nSay hello"
    assert clients.given(GEMINI, "BeforeAgent", {"prompt": told})["prompt"] == "Say hello"
    twice = f"<hook_context>a</hook_context>\n{told}"
    assert clients.given(GEMINI, "BeforeAgent", {"prompt": twice})["prompt"] == "Say hello"
    said = "What is <hook_context>?"
    assert clients.given(GEMINI, "BeforeAgent", {"prompt": said})["prompt"] == said
    assert clients.given(GEMINI, "BeforeAgent", {"prompt": "<hook_context>cut"})["prompt"] == ""


def test_a_field_that_is_named_as_claude_code_names_it_counts_before_the_clients_own() -> None:
    client = next(one for one in CLIENTS.values() if one.keys)
    event = next(iter(client.events))
    ours, theirs = next(iter(client.keys.items()))
    assert clients.given(client, event, {ours: "a", theirs: "b"})[ours] == "a"
    assert clients.given(client, event, {theirs: "b"})[ours] == "b"


@pytest.mark.parametrize(
    ("client", "event", "tool", "given", "wanted"),
    [
        (GEMINI, "AfterTool", "read_file", {"file_path": "a.txt"}, ("Read", "/r/a.txt")),
        (QWEN, "PostToolUse", "write_file", {"file_path": "/r/a.txt"}, ("Write", "/r/a.txt")),
        (OPENCODE, "PreToolUse", "edit", {"filePath": "/r/a.txt"}, ("Edit", "/r/a.txt")),
        (CURSOR, "postToolUse", "Read", {"file_path": "/r/a.txt"}, ("Read", "/r/a.txt")),
        (
            CODEX,
            "PreToolUse",
            "apply_patch",
            {"command": "*** Begin Patch\n*** Update File: src/a.txt\n@@\n"},
            ("Edit", "/r/src/a.txt"),
        ),
    ],
)
def test_a_tool_and_its_file_are_known_by_one_name(
    client: Client, event: str, tool: str, given: dict[str, str], wanted: tuple[str, str]
) -> None:
    payload = {"cwd": "/r", "tool_name": tool, "tool_input": given}
    found = clients.given(client, event, payload)
    assert (found["tool_name"], found["tool_input"]["file_path"]) == wanted
    assert found["hook_event_name"] == "PreToolUse"


def test_a_command_that_failed_is_told_from_its_result() -> None:
    text = "<untrusted_context>\nOutput: no such port\nExit Code: 1\n</untrusted_context>"
    payload = {"tool_name": "run_shell_command", "tool_response": {"llmContent": text}}
    found = clients.failure(GEMINI, clients.given(GEMINI, "AfterTool", payload))
    assert found is not None
    assert (found["hook_event_name"], found["error"]) == ("PostToolUseFailure", text)
    payload["tool_response"] = {"llmContent": text.replace("Code: 1", "Code: 0")}
    assert clients.failure(GEMINI, clients.given(GEMINI, "AfterTool", payload)) is None


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda one: one.name)
@pytest.mark.parametrize("payload", [{}, {"prompt": 3, "tool_input": [], "workspace_roots": "x", "cwd": 1}])
def test_fields_of_other_kinds_break_nothing(
    client: Client, payload: dict[str, Any], state: Path, repo: Path, monkeypatch
) -> None:
    monkeypatch.chdir(repo)
    for event in client.events:
        ran(client.name, event, payload)
    log = state / "log"
    assert f"hook {client.name}" not in (log.read_text() if log.exists() else "")


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda one: one.name)
def test_a_turns_end_leaves_a_job_for_every_client(client: Client, state: Path, repo: Path) -> None:
    (event,) = [name for name, one in client.events.items() if one.means == "Stop"]
    payload = {"session_id": "s", "conversation_id": "s", "workspace_roots": [str(repo)]}
    payload |= {} if client is CURSOR else {"cwd": str(repo)}
    assert ran(client.name, event, payload) == ({}, 1)
    (job,) = [json.loads(path.read_text()) for path in (state / "spool").iterdir() if path.is_file()]
    assert (job["event"], job["session_id"], job["worktree"]) == ("stop", "s", str(repo))


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda one: one.name)
def test_what_is_told_at_a_start_comes_in_the_clients_form(
    client: Client, state: Path, repo: Path, monkeypatch
) -> None:
    """A client that does not load the memory folder is told what stands in it, too."""
    asked = []

    def start(payload: dict[str, Any], *, loaded: bool) -> str:
        asked.append(loaded)
        return "The port is 80."

    monkeypatch.setattr(session_start, "session_start", start)
    (event,) = [name for name, one in client.events.items() if one.means == "SessionStart"]
    answer, _ = ran(client.name, event, {"session_id": "s", "cwd": str(repo), "source": "startup"})
    if client is CURSOR:
        assert answer == {"additional_context": "The port is 80."}
    else:
        assert answer == {
            "hookSpecificOutput": {"hookEventName": event, "additionalContext": "The port is 80."}
        }
    assert asked == [client.loads_memory]


def test_cursor_that_runs_claude_codes_hooks_is_answered_once(state: Path, repo: Path) -> None:
    """It reads those of Claude Code as well, and would leave each job twice."""
    payload = {"session_id": "s", "cwd": str(repo), "cursor_version": "3.7"}
    assert ran("claude", "Stop", payload) == ({}, 0)


def test_an_event_that_no_row_has_does_nothing(state: Path, repo: Path) -> None:
    assert ran("gemini", "BeforeModel", {"cwd": str(repo)}) == ({}, 0)
    assert ran("nobody", "Stop", {"cwd": str(repo)}) == ({}, 0)
