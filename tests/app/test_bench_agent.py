"""`gitmem bench agent`: a scripted agent that fixes only what the prompt hook tells it."""

from __future__ import annotations

import io
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slices import often

from gitmem.app import bench_agent
from gitmem.app.bench_agent import Run, figures, read_tasks, run_tasks
from gitmem.core.errors import UsageError
from gitmem.entry import main

TASKS = Path(__file__).parents[1] / "fixtures" / "agent_tasks.jsonl"


def rows() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, TASKS.read_text().splitlines())}


def given(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def inside(ground: bench_agent._Ground, *words: str, input: str = "") -> str:
    """Runs gitmem in this process, which takes a fifth of the CPU of one of its own."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", dict(ground.environ))
        patch.chdir(ground.repo)
        patch.setattr(sys, "argv", ["gitmem", *words])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()), "utf-8"))
        patch.setattr(sys, "stdout", out)
        assert main() == 0
    out.flush()
    return bytes(out.buffer.getvalue()).decode()  # type: ignore[attr-defined]


@pytest.mark.parametrize("started", often(["inside", "a process"], "inside"))
def test_what_was_decided_is_solved_with_memory_and_not_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    """Memory of something else solves no more than none: else something in the script did it."""
    if started == "inside":
        monkeypatch.setattr(bench_agent._Ground, "_gitmem", inside)
    tasks = [replace(one, prompt="") if one.id == "rounding" else one for one in read_tasks(TASKS)]
    done = run_tasks(tasks, tmp_path / "ground", dict(os.environ), lambda _: None)
    runs = {(one.task, one.arm): one for one in done}
    without, with_it = runs["retries", "none"], runs["retries", "memory"]
    # Guesses end where nobody said better: after two wrong ones.
    assert (without.told, without.solved, without.tries, without.printed) == (False, False, 2, 0)
    assert (with_it.told, with_it.solved, with_it.tries) == (True, True, 1)
    for task in ("retries", "guessed"):
        assert not runs[task, "others"].told
        assert runs[task, "others"].solved == runs[task, "none"].solved == (task == "guessed")


def test_what_is_spent_counts_what_was_shown_with_each_try() -> None:
    """Tokens are bytes by four, a mean of tasks."""
    made = [
        Run("a", "none", 0, False, 2, False, 800),
        Run("b", "none", 0, False, 1, True, 400),
        Run("a", "memory", 200, True, 1, True, 600),
        Run("b", "memory", 0, False, 1, True, 400),
    ]
    found = figures(made)["arms"]
    assert (
        found["none"]["solved"] == found["none"]["solved_at_once"] == 1 and found["none"]["tokens"] == 150
    )
    assert found["memory"] == {
        "tasks": 2, "answered": 1, "told": 1, "solved": 2, "solved_at_once": 2, "tries": 2,
        "tokens_of_memory": 25, "tokens": 125,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompt": "Round_cents goes toward  ZERO."}, "stand in the prompt"),
        ({"files": {"../up.py": ""}}, "inside the folder"),
        ({"files": {".git/config": ""}}, "inside the folder"),
        ({"check": []}, "a task needs `check`"),
        ({"fixes": [{"told": [], "files": {}}]}, "a task needs `check`"),
        ({"memory": "a text"}, "a list of texts"),
        ({"guesses": [3]}, "not in the form of a task"),
    ],
)
def test_tasks_that_answer_themselves_or_reach_out_are_refused(
    change: dict[str, Any], said: str, tmp_path: Path
) -> None:
    """A figure from them would say nothing, and what they write stays in its folder."""
    with pytest.raises(UsageError, match="line 1") as caught:
        read_tasks(given(tmp_path / "t.jsonl", rows()["rounding"] | change))
    assert said in caught.value.message


def test_a_task_that_is_solved_before_anything_is_written_is_refused(tmp_path: Path, monkeypatch) -> None:
    """Without guesses it would count as what memory alone solves."""
    solved = rows()["rounding"] | {"check": ["{python}", "-c", "pass"], "guesses": []}
    tasks = read_tasks(given(tmp_path / "t.jsonl", solved))
    monkeypatch.setattr(bench_agent._Ground, "_gitmem", inside)
    with pytest.raises(UsageError, match="rounding passes with the code as it stands"):
        list(run_tasks(tasks, tmp_path / "ground", dict(os.environ), lambda _: None))


def test_a_file_without_any_task_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task"):
        read_tasks(given(tmp_path / "t.jsonl", rows()["lunch"]))
