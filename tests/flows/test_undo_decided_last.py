"""What was decided last is told once more to `undo`."""

from __future__ import annotations

from pathlib import Path

from gitmem.flows.undo import forget_decided, last_decided, note_decided


def test_the_last_decision_is_the_one_to_take_back_while_it_is_young(tmp_path: Path) -> None:
    note_decided(tmp_path, 100.0, ["git mem undo a", "git mem undo b"])
    assert last_decided(tmp_path, 50.0) == "git mem undo b"
    assert last_decided(tmp_path, 101.0) is None
    forget_decided(tmp_path, "git mem undo b")
    assert last_decided(tmp_path, 50.0) == "git mem undo a"
