"""The survival matrix: no claim is lost, however memories come together (`matrix.py` prints all of it)."""

from __future__ import annotations

from pathlib import Path

import pytest
from ways import ByGit, BySync, Outcome
from writers import Cell, cells

TOGETHER = [cell for cell in cells(2) if cell.where == "same" and cell.begun == "together"]
FEW = [
    Cell(("add", "add"), "own", "together"),
    Cell(("edit", "delete"), "same", "together"),
    Cell(("rename", "rename"), "same", "together"),
    Cell(("edit", "prose"), "same", "apart"),
]


def check(cell: Cell, outcome: Outcome) -> None:
    assert not outcome.lost, f"{cell}: lost {sorted(outcome.lost)}"
    assert not outcome.across, f"{cell}: conflicts outside one memory: {outcome.across}"
    assert not outcome.wrong, f"{cell}: {outcome.wrong}"


def test_a_merge_on_a_host_loses_nothing_once_the_next_write_has_tidied(tmp_path: Path) -> None:
    """Conflicts are committed with their marks, the worst that a person can do."""
    way = ByGit(tmp_path / "host", "union")
    for cell in TOGETHER:
        check(cell, way.run(cell))


def test_git_merge_with_the_driver_loses_nothing(tmp_path: Path) -> None:
    """Git itself stops where one side deleted, or both renamed, what the other changed: nowhere else."""
    way = ByGit(tmp_path / "driver", "gitmem")
    for cell in FEW:
        outcome = way.run(cell)
        check(cell, outcome)
        if not {"delete", "rename"} & set(cell.operations):
            assert not outcome.conflicts, cell


def test_sync_loses_nothing_and_stops_nowhere(tmp_path: Path) -> None:
    way = BySync(tmp_path / "sync", 2)
    for cell in FEW:
        check(cell, way.run(cell))


@pytest.mark.long
@pytest.mark.parametrize("writers", [2, 3])
@pytest.mark.parametrize("name", ["sync", "gitmem", "union"])
def test_every_cell_survives(tmp_path: Path, writers: int, name: str) -> None:
    way = BySync(tmp_path / name, writers) if name == "sync" else ByGit(tmp_path / name, name)
    for cell in cells(writers):
        outcome = way.run(cell)
        check(cell, outcome)
        if name == "gitmem" and not {"delete", "rename"} & set(cell.operations):
            assert not outcome.conflicts, cell
