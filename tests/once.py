"""What tests of a file begin with: made by the first of them, put back as it was for each other one.

Repositories, records and hooks name one another by path, so all tests of a file run in one folder, which no
other file has: a process that outlives another file's test would make it anew between two steps. A file
takes part by importing `Once`, which gives it the fixtures `place`, `tmp_path`, `home_folder` and `once`
(`conftest.py`); none of its tests may leave a process behind, so `hermetic` switches gitmem's hooks off
there: they would start workers.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TypeVar, cast

import pytest
from copies import copy_tree

Value = TypeVar("Value")
Once = Callable[[str, Callable[[], Value]], Value]
"""`once(name, make)` makes what `name` stands for or puts it back, and gives what `make` gave."""

_GAVE: dict[Path, object] = {}
"""Copies that were made in this process, and what made them gave."""


def take_away(folder: Path) -> None:
    """Removes a folder, at once as far as its path goes.

    A process of git that a test started may still be ending in it: what that writes while the files go one
    by one would keep the folder there.
    """
    if folder.exists():
        gone = Path(mkdtemp(dir=folder.parent))
        folder.rename(gone / folder.name)
        rmtree(gone, ignore_errors=True)


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The folder, empty."""
    path = tmp_path_factory.getbasetemp() / f"place-{request.path.stem}"
    take_away(path)
    path.mkdir()
    return path


@pytest.fixture
def tmp_path(place: Path) -> Path:
    """A test's own folder, within it."""
    path = place / "own"
    path.mkdir()
    return path


@pytest.fixture
def home_folder(place: Path) -> Path:
    """The test's HOME, within it."""
    path = place / "home"
    path.mkdir()
    return path


def put_back(place: Path, copy: Path, make: Callable[[], Value]) -> Value:
    """Lets a folder be made, or puts it back as it was made in this process; what `make` gave.

    Args:
        copy: where it is kept meanwhile.
    """
    if copy not in _GAVE:
        _GAVE[copy] = make()
        copy_tree(place, copy)
    else:
        here = Path.cwd()
        take_away(place)
        copy_tree(copy, place)
        os.chdir(here)
    return cast(Value, _GAVE[copy])


@pytest.fixture
def once(place: Path, request: pytest.FixtureRequest) -> Once[object]:
    """See `Once`; a name is the file's own."""
    return lambda name, make: put_back(place, place.with_name(f"{request.path.stem}-{name}"), make)


FIXTURES = {"place": place, "tmp_path": tmp_path, "home_folder": home_folder, "once": once}
"""What a file has that imports `Once`."""
