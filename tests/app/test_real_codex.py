"""With the real Codex client: what a person says in its session is read, and only that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_responses import ScriptedResponses, text

from gitmem.app.context import real_edges
from gitmem.transcripts import discover

pytestmark = pytest.mark.client

PROGRAM = os.environ.get("GITMEM_TEST_CODEX") or shutil.which("codex")
ASKED = "Please remember that releases are cut from the release branch."
CONFIG = """\
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
def api() -> Iterator[ScriptedResponses]:
    if PROGRAM is None:
        pytest.skip("no codex on PATH or in GITMEM_TEST_CODEX")
    with ScriptedResponses() as server:
        yield server


def codex(home: Path, repo: Path, api: ScriptedResponses, *words: str) -> None:
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text(CONFIG.format(url=api.url))
    done = subprocess.run(
        [str(PROGRAM), "exec", *words],
        cwd=repo,
        env={"HOME": str(home), "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_session_is_read_as_it_was_held_and_what_was_asked_is_stored(home, repo, api, gitmem) -> None:
    (repo / "AGENTS.md").write_text("Always use tabs.\n")
    call = {"type": "function_call", "call_id": "c1", "name": "exec_command"}
    api.items = [{**call, "arguments": json.dumps({"cmd": "echo hi"})}, text("Noted.")]
    gitmem("init", "-y")
    codex(home, repo, api, ASKED)
    codex(home, repo, api, "resume", "--last", "What did I say?")
    edges = real_edges(repo)
    (file,) = discover.sessions_of(discover.folders(edges.environ, edges.home), [repo.resolve()])
    session = discover.read(file.path)
    assert [(m.role, m.text) for m in session.messages if m.text] == [
        ("person", ASKED), ("agent", "Noted."), ("person", "What did I say?"), ("agent", "Noted."),
    ]  # fmt: skip
    (ran,) = [call for message in session.messages for call in message.tools]
    assert (ran.name, ran.input["command"]) == ("Bash", "echo hi")
    assert "hi" in (ran.result or "")
    gitmem("extract")
    (kept,) = json.loads(gitmem("list", "--json").out)
    assert "release branch" in kept["description"]
    assert gitmem("extract").out == ""
