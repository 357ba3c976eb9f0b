"""The two walks of ARCHITECTURE.md, with the real hooks and worker: each file that a step names ran."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from ran import Gitmem

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SESSION = "00000001-0000-4000-8000-000000000000"

TRACED = """
import json, os, sys
sys.path[:0] = {path!r}
import gitmem.flows.place
gitmem.flows.place.start_worker = lambda *words: None
from tracing import tracing
with tracing() as found:
    {what}
open({report!r}, "w").write(json.dumps(found["ran"]))
"""
HOOK = "import gitmem.entry; sys.argv = ['gitmem', *{words!r}]; gitmem.entry.main()"
WORKER = (
    "from pathlib import Path; from gitmem.app import worker; worker.work(Path({git!r}), dict(os.environ))"
)


def named(title: str) -> set[str]:
    """The files of a walk, as paths below the package."""
    rows = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"`gitmem/([\w/]+\.py)`", rows))


@pytest.fixture
def traced(repo: Path, tmp_path: Path) -> Callable[..., tuple[set[str], str]]:
    """Runs code in a process of its own; gives the files of gitmem that ran, and what was printed."""

    def run(what: str, stdin: object = None) -> tuple[set[str], str]:
        report = tmp_path / "report.json"
        places = [str(ROOT), str(ROOT / "tests/bench")]
        done = subprocess.run(
            [sys.executable, "-c", TRACED.format(path=places, what=what, report=str(report))],
            cwd=repo,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(repo)},
            input=json.dumps(stdin),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return set(json.loads(report.read_text())), done.stdout

    return run


def test_both_walks(repo: Path, home: Path, gitmem: Gitmem, git: Callable[..., str], traced) -> None:
    (home / ".claude").mkdir()
    git("config", "--global", "gitmem.engine", "offline")
    gitmem("init", "-y")
    recorded = home / ".claude/projects" / re.sub(r"[^0-9A-Za-z]", "-", str(repo)) / f"{SESSION}.jsonl"
    recorded.parent.mkdir(parents=True)
    lines = (ROOT / "tests/fixtures/sessions/plain.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [{**row, "cwd": str(repo)} if "cwd" in row else row for row in map(json.loads, lines)]
    recorded.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    payload = {"session_id": SESSION, "cwd": str(repo), "transcript_path": str(recorded)}

    hook, _ = traced(HOOK.format(words=["hook", "claude", "Stop"]), {**payload, "hook_event_name": "Stop"})
    worker, _ = traced(WORKER.format(git=str(repo / ".git")))
    assert "release branch" in gitmem("list").out
    learned = named("A sentence becomes a memory")
    assert len(learned) > 15
    assert learned - hook - worker == set()
    assert not hook & {"search/catalog.py", "engines/offline/extract.py"}, "the agent never waits"

    asked = {
        "session_id": "another",
        "cwd": str(repo),
        "hook_event_name": "UserPromptSubmit",
        "prompt": "From which branch do we deploy a release?",
    }
    prompt, answer = traced(HOOK.format(words=["hook", "claude", "UserPromptSubmit"]), asked)
    assert "release branch" in answer
    told = named("A memory reaches a prompt")
    assert len(told) > 10
    assert told - prompt == set()
