"""`gitmem bench agent`: a scripted agent that fixes only what the prompt hook tells it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitmem.app.bench_agent import Run, figures, read_tasks, run_tasks
from gitmem.core.errors import UsageError

TASKS = Path(__file__).parents[1] / "fixtures" / "agent_tasks.jsonl"


def rows() -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in map(json.loads, TASKS.read_text().splitlines())}


def given(path: Path, *lines: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Run]:
    """Each task in each arm, once for this module: an arm is a repository with all that belongs to it."""
    folder = tmp_path_factory.mktemp("agent")
    done = run_tasks(read_tasks(TASKS), folder, dict(os.environ), lambda _: None)
    return {(one.task, one.arm): one for one in done}


def test_what_was_decided_is_solved_with_memory_and_not_without(runs: dict[tuple[str, str], Run]) -> None:
    """Guesses end where nobody said better: after one wrong one, and after two."""
    for task, guesses in (("rounding", 1), ("retries", 2)):
        without, with_it = runs[task, "none"], runs[task, "memory"]
        assert (without.told, without.solved, without.tries, without.printed) == (False, False, guesses, 0)
        assert (with_it.told, with_it.solved, with_it.tries) == (True, True, 1)


def test_memory_of_something_else_solves_nothing_more_than_none(runs: dict[tuple[str, str], Run]) -> None:
    """Else it would be something in the script that solves them, not memory."""
    for task in ("rounding", "retries", "guessed"):
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


def test_a_task_that_is_solved_before_anything_is_written_is_refused(tmp_path: Path) -> None:
    """Without guesses it would count as what memory alone solves."""
    solved = rows()["rounding"] | {"check": ["{python}", "-c", "pass"], "guesses": []}
    tasks = read_tasks(given(tmp_path / "t.jsonl", solved))
    with pytest.raises(UsageError, match="rounding passes with the code as it stands"):
        list(run_tasks(tasks, tmp_path / "ground", dict(os.environ), lambda _: None))


def test_a_file_without_any_task_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no task"):
        read_tasks(given(tmp_path / "t.jsonl", rows()["lunch"]))
