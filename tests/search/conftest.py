"""A repository in memory, and a catalog that knows nothing yet."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from memory_repository import MemoryRepository

from gitmem.search.catalog import Catalog


@pytest.fixture(autouse=True)
def closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Closes what a test opened itself: from Python 3.13 on an open database is a warning, so a failure."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def remembered(*words: object, **options: object) -> sqlite3.Connection:
        opened.append(connect(*words, **options))  # type: ignore[call-overload]
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remembered)
    yield
    for one in opened:
        one.close()


@pytest.fixture
def fake() -> MemoryRepository:
    """A repository in memory, empty."""
    return MemoryRepository()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog that knows nothing yet."""
    with closing(Catalog.open(tmp_path / "gitmem")) as opened:
        yield opened
