"""Writers that are killed in mid-loop, and many writers at once: each commit that was made stays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
REF = "refs/gitmem/project"


def script(path: Path, *words: object) -> str:
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, str(path), *map(str, words)]
    done = subprocess.run(run, capture_output=True, text=True, env=environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_warm_loop(folder: Path, backend: str, rounds: int, git) -> None:
    git("init", "-q", f"--object-format={'sha256' if backend == 'git' else 'sha1'}", folder)
    said = json.loads(script(HERE / "warm_loop.py", folder, backend, rounds, 7))
    assert said["wrong"] == ""
    assert len(said["acknowledged"]) >= rounds
    there = git("-C", folder, "ls-tree", "-r", "--name-only", REF).splitlines()
    assert {f"main/{name}.md" for name in said["acknowledged"]} <= set(there)
    git("-C", folder, "fsck", "--strict", "--no-dangling")


@pytest.mark.parametrize("backend", ["auto", pytest.param("git", marks=pytest.mark.long)])
def test_a_killed_writer_takes_no_acknowledged_memory_along(tmp_path: Path, backend: str, git) -> None:
    check_warm_loop(tmp_path / "repo", backend, 10, git)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["auto", "git"])
def test_five_hundred_killed_writers_take_none_along(tmp_path: Path, backend: str, git) -> None:
    check_warm_loop(tmp_path / "repo", backend, 500, git)


def check_writers(tmp_path: Path, backend: str, writers: int, memories: int) -> None:
    told = tmp_path / "told.json"
    words = (
        "--backend",
        backend,
        "--writers",
        writers,
        "--memories",
        memories,
        "--no-plain",
        "--json",
        told,
    )
    script(ROOT / "tests/bench/writers.py", *words)
    found = json.loads(told.read_text())
    total = writers * memories
    assert (found["present"], found["commits"], found["fsck"]) == (total, total, "clean")


@pytest.mark.parametrize("backend", ["auto", "git"])
def test_writers_at_once_lose_nothing(tmp_path: Path, backend: str) -> None:
    check_writers(tmp_path, backend, 4, 10)


@pytest.mark.long
@pytest.mark.parametrize("backend", ["auto", "git"])
def test_eight_writers_of_a_hundred_memories_lose_nothing(tmp_path: Path, backend: str) -> None:
    check_writers(tmp_path, backend, 8, 100)
