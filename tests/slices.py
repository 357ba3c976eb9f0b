"""Tables of cases of which every run takes some, and CI all (the marker `long`)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def often(every: Iterable[Any], *chosen: Any) -> list[Any]:
    """Parameters for `parametrize`: those that are not chosen bear the marker `long`.

    Args:
        every: all values; a row of several is a tuple, or a `pytest.param` with an id.
        chosen: those that every run takes, a row by its id or its first value.

    Raises:
        ValueError: one that is chosen is not among them.
    """
    rows = {_name(one): one for one in every}
    if missing := [name for name in chosen if name not in rows]:
        raise ValueError(f"chosen, and not among {list(rows)}: {missing}")
    return [one if name in chosen else _long(one) for name, one in rows.items()]


def _name(row: Any) -> Any:
    values = getattr(row, "values", None)
    if isinstance(values, tuple):
        return row.id or values[0]
    return row[0] if isinstance(row, tuple) else row


def _long(row: Any) -> Any:
    values = getattr(row, "values", None)
    if isinstance(values, tuple):
        return pytest.param(*values, id=row.id, marks=[*row.marks, pytest.mark.long])
    return pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=pytest.mark.long)
