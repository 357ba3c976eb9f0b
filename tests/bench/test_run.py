"""The table of figures: each script that it names is there, and a ratio is of two figures of one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).with_name("run")
APART = frozenset({"files_passed", "mutants", "mutation", "pairs", "secret_rules", "tracing"})
"""Helpers, and scripts with a question of their own."""

OF_OTHERS = frozenset({"commits_asked", "commits_told", "dream_judged", "dream_pairs"})
"""Scripts that need data of others, handed over in ways of their own."""


def test_a_figure_stands_beside_its_reference(tmp_path: Path) -> None:
    file = tmp_path / "figures.json"
    words = [sys.executable, *f"{RUN} --quick --only session_read recall_told --json".split(), str(file)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    row = json.loads(file.read_text())["table"][0]
    assert row["ours"] > 0 and row["theirs"] > 0 and row["reference"]
    assert row["ratio"] == round(row["ours"] / row["theirs"], 3)
    assert f"{row['figure']} " in done.stdout
    assert "skipped: recall_told: needs data" in done.stdout


def test_every_benchmark_of_the_folder_is_in_the_table_or_said_to_be_apart() -> None:
    done = subprocess.run([sys.executable, RUN, "--list"], capture_output=True, text=True, check=True)
    there = {path.stem for path in RUN.parent.glob("*.py") if not path.stem.startswith("test_")}
    assert {*done.stdout.split()} | APART | OF_OTHERS == there
