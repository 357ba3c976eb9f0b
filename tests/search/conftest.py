"""A repository in memory, and a catalog that knows nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from memory_repository import MemoryRepository

from gitmem.search.index import Catalog


@pytest.fixture
def fake() -> MemoryRepository:
    """A repository in memory, empty."""
    return MemoryRepository()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """A catalog that knows nothing yet."""
    with closing(Catalog.open(tmp_path / "gitmem")) as opened:
        yield opened
