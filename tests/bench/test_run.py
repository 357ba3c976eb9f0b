"""The table of figures: each script that it names is there, and a ratio is of two figures of one run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from figures import HEAD, Figure

RUN = Path(__file__).with_name("run")
ROOT = RUN.parents[2]
APART = frozenset({"figures", "ground", "mutants", "mutation", "pairs", "tracing"})
"""Helpers, and what asks something else."""


def ran(folder: Path, *words: str) -> tuple[list[dict[str, object]], str]:
    file = folder / "figures.json"
    done = subprocess.run(
        [sys.executable, str(RUN), *words, "--json", str(file)], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(file.read_text())["table"], done.stdout


def test_every_benchmark_of_the_folder_is_in_the_table_or_said_to_be_apart() -> None:
    done = subprocess.run([sys.executable, RUN, "--list"], capture_output=True, text=True, check=True)
    there = {path.stem for path in RUN.parent.glob("*.py") if not path.stem.startswith("test_")}
    assert {*done.stdout.split()} | APART == there


def test_a_ratio_is_of_two_figures() -> None:
    assert Figure("a commit", "ms", 30, 20, "git").line() == (
        f"{'a commit':46} {'ms':7} {'30':>9} {'20':>10} {'1.5':>7}  git"
    )
    assert [Figure("x", "", 1, other).ratio for other in (None, 0)] == [None, None]
    assert len(HEAD) > 80


def test_the_secrets_that_the_readme_counts_are_those_of_the_table(tmp_path: Path) -> None:
    table, said = ran(tmp_path, "--only", "secret_scan", "recall_told")
    assert "skipped: recall_told needs . in --data" in said
    counted = {str(row["label"]): row["ours"] for row in table}
    text = " ".join((ROOT / "README.md").read_text().split())
    found = re.search(r"(\d+) of (\d+) planted ones, no false alarm among (\d+) look-alikes", text)
    assert found
    assert counted[f"planted secrets found, of {found[2]}"] == int(found[1])
    assert counted[f"look-alikes that are blocked, of {found[3]}"] == 0


@pytest.mark.long
def test_every_benchmark_says_what_it_is_and_runs_on_its_smallest_size(tmp_path: Path) -> None:
    for name in subprocess.run(
        [sys.executable, RUN, "--list"], capture_output=True, text=True
    ).stdout.split():
        script = RUN.with_name(f"{name}.py")
        told = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True)
        assert told.returncode == 0 and f"usage: python tests/bench/{name}.py" in told.stdout, told.stderr
    table, said = ran(tmp_path, "--quick")
    skipped = set(re.findall(r"^skipped: (\w+)", said, re.MULTILINE))
    assert {*re.findall(r'Script\("(\w+)"', RUN.read_text())} - skipped == {row["script"] for row in table}
    assert all(row["reference"] for row in table if row["theirs"] is not None)
