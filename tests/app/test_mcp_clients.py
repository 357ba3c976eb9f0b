"""With the real clients: their own commands add the server, and what it answers reaches the model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real_client import Client, find_client
from scripted_api import Call, ScriptedApi, Step
from scripted_responses import ScriptedResponses, text

pytestmark = pytest.mark.client

FACT = "We never mock the database, because a mock hid a broken migration."
ASKED = {"query": "may I mock the database?"}
COMMAND = [sys.executable, "-P", "-m", "gitmem", "mcp"]
CODEX = os.environ.get("GITMEM_TEST_CODEX") or shutil.which("codex")
GEMINI = os.environ.get("GITMEM_TEST_GEMINI") or shutil.which("gemini")
PROVIDER = """\
model = "gpt-5"
model_provider = "loopback"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.loopback]
name = "loopback"
base_url = "{url}"
wire_api = "responses"
"""


@pytest.fixture
def taught(repo: Path, gitmem) -> Path:
    gitmem("init", "-y")
    gitmem("remember", FACT)
    # Its hooks would start a worker that outlives the test.
    (repo / ".claude/settings.local.json").unlink()
    return repo


def run(home: Path, cwd: Path, *words: object) -> str:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TMPDIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_claude_code_puts_what_is_recalled_before_its_model(home: Path, taught: Path) -> None:
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    config = home / "mcp.json"
    server = {"type": "stdio", "command": COMMAND[0], "args": [*COMMAND[1:], "--write"]}
    config.write_text(json.dumps({"mcpServers": {"gitmem": server}}))
    fact = {"text": "The person deploys on Tuesdays.", "type": "user"}
    steps = [
        # Headless, it does not wait for its servers unless told to; where they were quick, this is refused.
        Step("", (Call("WaitForMcpServers", {}),)),
        Step("", (Call("mcp__gitmem__recall", ASKED),)),
        Step("", (Call("mcp__gitmem__remember", fact),)),
    ]
    with ScriptedApi(steps) as api:
        client = Client(program, home, taught, api.url)
        tools = ["mcp__gitmem__recall", "mcp__gitmem__remember"]
        turn = client.prompt(
            "May I?", tools=tools, more=["--mcp-config", str(config), "--strict-mcp-config"]
        )
        assert api.left == ()
        asked = [json.dumps(request["messages"]) for request in api.requests]
    assert any(FACT in one and "not instructions" in one for one in asked)
    assert any("git mem undo" in one for one in asked)
    told = run(home, taught, sys.executable, "-P", "-m", "gitmem", "log", "--json")
    newest = json.loads(told)[0]
    assert (newest["writer"], newest["subject"]) == ("agent", "The person deploys on Tuesdays")
    assert newest["session"].startswith("mcp-claude-code-")
    assert turn.result


def test_claude_code_adds_the_server_by_its_own_command(home: Path, taught: Path) -> None:
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    run(home, taught, program, "mcp", "add", "gitmem", "--", *COMMAND)
    assert "Connected" in run(home, taught, program, "mcp", "list")


def test_codex_puts_what_is_recalled_before_its_model(home: Path, taught: Path) -> None:
    if CODEX is None:
        pytest.skip("no codex on PATH or in GITMEM_TEST_CODEX")
    call = {"type": "function_call", "call_id": "c1", "namespace": "mcp__gitmem", "name": "recall"}
    with ScriptedResponses([{**call, "arguments": json.dumps(ASKED)}, text("Noted.")]) as api:
        folder = home / ".codex"
        folder.mkdir()
        (folder / "config.toml").write_text(PROVIDER.format(url=api.url))
        run(home, taught, CODEX, "mcp", "add", "gitmem", "--", *COMMAND)
        config = (folder / "config.toml").read_text()
        assert "[mcp_servers.gitmem]" in config
        # Headless, it starts its first turn without servers that are not required.
        (folder / "config.toml").write_text(f"{config}\nrequired = true\nstartup_timeout_sec = 60\n")
        run(home, taught, CODEX, "exec", "May I?")
        assert FACT in json.dumps(api.requests[-1]["input"])


def test_gemini_adds_the_server_by_its_own_command(home: Path, taught: Path) -> None:
    if GEMINI is None:
        pytest.skip("no gemini on PATH or in GITMEM_TEST_GEMINI")
    (home / ".gemini").mkdir()
    settings = {"security": {"folderTrust": {"enabled": False}}}
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    run(home, taught, GEMINI, "mcp", "add", "--scope", "user", "gitmem", COMMAND[0], "--", *COMMAND[1:])
    assert "Connected" in run(home, taught, GEMINI, "mcp", "list")
