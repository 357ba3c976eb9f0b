"""The recipe of the labelled pairs is well formed, and what is absent is left out."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pairs import OWN, PAIRS, pairs


def recipe() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]


def test_each_kind_of_each_source_stands_half_in_either_half():
    rows = recipe()
    counts = Counter((row["kind"], row["source"], row["half"]) for row in rows)
    assert len({row["id"] for row in rows}) == len(rows)
    assert {row["kind"] for row in rows} == {"same", "amends", "alike", "unrelated"}
    for kind, source, _ in counts:
        assert abs(counts[kind, source, "tuned"] - counts[kind, source, "held"]) <= 1


def test_sources_that_are_absent_are_left_out(tmp_path: Path):
    assert not list(pairs(tmp_path, repository=tmp_path))
    assert {pair["source"] for pair in pairs(tmp_path)} <= {OWN}


def test_a_source_that_says_something_else_by_now_is_an_error(tmp_path: Path):
    place = next(row["earlier"] for row in recipe() if row["source"] == "memory")
    (tmp_path / place["file"]).parent.mkdir(parents=True)
    (tmp_path / place["file"]).write_text("Something else. " * 1000, encoding="utf-8")
    with pytest.raises(ValueError, match="another text than was labelled"):
        list(pairs(tmp_path, repository=tmp_path))
