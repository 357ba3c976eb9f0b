"""With the real Gemini CLI: what a person says in its session is read, and only that."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scripted_generation import SUMMARY, ScriptedGeneration, call, text

from gitmem.app.context import real_edges
from gitmem.transcripts import discover

pytestmark = pytest.mark.client

PROGRAM = os.environ.get("GITMEM_TEST_GEMINI") or shutil.which("gemini")
ASKED = "Please remember that releases are cut from the release branch."
SETTINGS: dict[str, dict[str, Any]] = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    # With a model of its own choice, the client asks another one first.
    "model": {"name": "gemini-2.5-flash"},
}
COMPACTED = {**SETTINGS["model"], "compressionThreshold": 1e-9}


@pytest.fixture
def api() -> Iterator[ScriptedGeneration]:
    if PROGRAM is None:
        pytest.skip("no gemini on PATH or in GITMEM_TEST_GEMINI")
    with ScriptedGeneration() as server:
        yield server


def gemini(home: Path, repo: Path, api: ScriptedGeneration, *words: str, model: object = None) -> None:
    settings = {**SETTINGS, "model": model} if model else SETTINGS
    (home / ".gemini").mkdir(exist_ok=True)
    (home / ".gemini/settings.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [str(PROGRAM), "--approval-mode", "yolo", *words],
        cwd=repo,
        env={
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(home),
            "GEMINI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": api.url,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_session_is_read_as_it_was_held_and_what_was_asked_is_stored(home, repo, api, gitmem) -> None:
    """Also over a resumption and a compaction, which write all of the list anew, with copies."""
    (repo / "GEMINI.md").write_text("Always use tabs.\n")
    shell = call("run_shell_command", command="echo hi", description="says hi")
    written = call("write_file", file_path="notes.txt", content="hello\n")
    api.answers = [[text("Looking."), shell], [written], [text("Done.")]]
    gitmem("init", "-y")
    gemini(home, repo, api, "-p", ASKED)
    for prompt in ("Look at @GEMINI.md now.", "What did I say?"):
        gemini(home, repo, api, "--resume", "latest", "-p", prompt, model=COMPACTED)
    assert SUMMARY in str(api.requests[-1])
    edges = real_edges(repo)
    (file,) = discover.sessions_of(discover.folders(edges.environ, edges.home), [repo.resolve()])
    session = discover.read(file.path)
    assert [(m.role, m.text) for m in session.messages if m.text] == [
        ("person", ASKED), ("agent", "Looking."), ("agent", "Done."),
        ("person", "Look at @GEMINI.md now."), ("agent", "Noted."), ("person", "What did I say?"),
        ("agent", "Noted."),
    ]  # fmt: skip
    assert (session.client, session.cwd, session.skipped) == ("gemini", str(repo.resolve()), 0)
    calls = [one for message in session.messages for one in message.tools]
    assert [(one.name, one.is_error) for one in calls] == [("Bash", False), ("Write", False)]
    assert "hi" in (calls[0].result or "")
    assert calls[1].input["file_path"] == "notes.txt"
    gitmem("extract")
    (kept,) = json.loads(gitmem("list", "--json").out)
    assert "release branch" in kept["description"]
    assert gitmem("extract").out == ""
