"""What was decided last is told once more to `undo`, whichever version of gitmem noted it."""

from __future__ import annotations

from pathlib import Path

from gitmem.flows.undo import forget_decided, last_decided, note_decided


def test_the_last_decision_is_the_one_to_take_back_while_it_is_young(tmp_path: Path) -> None:
    note_decided(tmp_path, 100.0, ["git mem undo a", "git mem undo b"])
    assert last_decided(tmp_path, 50.0) == "git mem undo b"
    assert last_decided(tmp_path, 101.0) is None
    forget_decided(tmp_path, "git mem undo b")
    assert last_decided(tmp_path, 50.0) == "git mem undo a"


def test_what_an_older_version_noted_in_a_file_is_taken_over(tmp_path: Path) -> None:
    rows = '[[1763942400, "git mem undo i-1"], ["x"], 7, [1763942500, "git mem undo i-2"]]\n'
    (tmp_path / "decided.json").write_text(rows)
    assert last_decided(tmp_path, 1763942500) == "git mem undo i-2"
    assert not (tmp_path / "decided.json").exists()
    forget_decided(tmp_path, "git mem undo i-2")
    assert last_decided(tmp_path, 0) == "git mem undo i-1"
