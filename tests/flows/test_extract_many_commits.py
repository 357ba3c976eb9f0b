"""A thousand commits and a hundred sessions, for real: in the end nothing runs, and nothing waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from memory_files import files_at
from transcripts import Transcript

from gitmem.app.context import real_edges
from gitmem.flows.context import initialised_at
from gitmem.ledger.job_record import read_runs

ROOT = Path(__file__).parents[2]
COMMITS, SESSIONS = 1_000, 100
PATIENCE = 240.0
"""Seconds until the last worker has to be gone."""


def workers(repo: Path) -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "worker" in words and str(repo / ".git") in words:
            found.append(process.pid)
    return found


def spooled(repo: Path) -> list[str]:
    spool = repo / ".git/gitmem/spool"
    return [path.name for path in spool.iterdir() if path.is_file() and not path.name.startswith(".")]


@pytest.mark.long
def test_after_a_thousand_commits_and_a_hundred_sessions_nothing_is_left_running(home, repo) -> None:
    (home / ".claude").mkdir()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    gitmem = [sys.executable, "-P", "-m", "gitmem"]
    subprocess.run([*gitmem, "init", "-y"], cwd=repo, env=environ, check=True, capture_output=True)
    most = 0
    for number in range(1, COMMITS + 1):
        words = ["git", "commit", "-q", "--allow-empty", "-m", str(number)]
        subprocess.run(words, cwd=repo, env=environ, check=True)
        if number % (COMMITS // SESSIONS) == 0:
            nth = number // (COMMITS // SESSIONS)
            made = Transcript(f"{nth:08d}-0000-4000-8000-000000000000", str(repo))
            made.user(f"Remember that service number{nth} listens on port {4000 + nth}.")
            made.agent("Noted.")
            path = made.record(home)
            payload = {"cwd": str(repo), "session_id": made.session, "transcript_path": str(path)}
            for event in ("Stop", "SessionEnd"):
                data = json.dumps({**payload, "hook_event_name": event}).encode()
                subprocess.run(
                    [*gitmem, "hook", "claude", event], cwd=repo, env=environ, input=data, check=True
                )
            most = max(most, len(workers(repo)))
    give_up = time.monotonic() + PATIENCE
    # Who is to take a job may be no worker yet.
    while (left := (workers(repo), spooled(repo))) != ([], []) and time.monotonic() < give_up:
        time.sleep(0.2)
    assert left == ([], [])
    failed = repo / ".git/gitmem/spool/failed"
    assert not failed.exists() or list(failed.iterdir()) == []
    scope = initialised_at(real_edges(repo)).scope("local")
    files = files_at(scope).items()
    text = "\n".join(text for path, text in files if not path.endswith("MEMORY.md"))
    assert [n for n in range(1, SESSIONS + 1) if text.count(f"port {4000 + n}.") != 1] == []
    runs = read_runs(repo / ".git/gitmem")
    assert runs and not any(run["error"] for run in runs)
    # Those that find another at work end at once; they never pile up.
    assert most < 20
