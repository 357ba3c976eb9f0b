"""The measured ground of `tests/bench/purge_cost.py`, smaller, and looked at for what is left."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


@pytest.mark.long
def test_no_object_of_a_long_history_holds_the_text_in_any_clone(tmp_path: Path) -> None:
    """Enough commits for objects to be read, written and erased in bulk."""
    path = Path(__file__).parents[1] / "bench" / "purge_cost.py"
    spec = importlib.util.spec_from_file_location("purge_cost", path)
    assert spec is not None and spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    # It ends where an object of either clone holds the text still.
    assert [figure.unit for figure in bench.measure(400, tmp_path)] == ["s", "s"]
