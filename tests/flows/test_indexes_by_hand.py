"""What people write into an index stays through save, dream and accept: as it stood, where it stood."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from handwritten import GENERATED, REAL, memory, world, written_by_gitmem
from ran import Ran

from gitmem.core import index

Gitmem = Callable[..., Ran]


def lines_by_hand(folder: Path, was: dict[str, bytes]) -> list[str]:
    """The units of an index that gitmem would not write for a memory as it is or was, in order."""
    whole = written_by_gitmem(was, contents(folder))
    made = whole | {line.partition(" — ")[0] for line in whole}
    return [one.text for one in index.parse(listing(folder)) if one.text and one.text.strip() not in made]


def listing(folder: Path) -> str:
    return (folder / "MEMORY.md").read_text(encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {one.name: one.read_bytes() for one in folder.glob("*.md") if one.name != "MEMORY.md"}


def written(parent: Path, seeds: range) -> list[Path]:
    for seed in seeds:
        files, names = world(seed)
        folder = parent / f"a{seed}"
        folder.mkdir(parents=True)
        for path, data in files.items():
            (folder / path.partition("/")[2]).write_bytes(data)
        # Something for a dream to merge.
        said = f"Never mock the database of service {seed} in integration tests."
        one, other = names[:2]
        (folder / f"{one}.md").write_bytes(memory(one, f"Integration tests of service {seed}", said))
        why = f"{said}\n\n**Why:** a mock hid a broken migration."
        (folder / f"{other}.md").write_bytes(memory(other, f"Never mock the database of {seed}", why))
    return sorted(parent.iterdir())


def real(parent: Path) -> list[Path]:
    for number, place in enumerate(sorted(REAL.rglob("MEMORY.md"))):
        (parent / f"a{number}").mkdir(parents=True)
        for one in place.parent.glob("*.md"):
            shutil.copy(one, parent / f"a{number}")
    return sorted(parent.iterdir())


def held_through(gitmem: Gitmem, folders: list[Path]) -> int:
    """Saves the folders, changes some memories, dreams, accepts; how many changes were accepted."""
    was = {folder: contents(folder) for folder in folders}
    stood = {folder: lines_by_hand(folder, was[folder]) for folder in folders}
    gitmem("save")
    for folder in folders:
        assert lines_by_hand(folder, was[folder]) == stood[folder], "a save changed what people wrote"
        assert contents(folder).keys() <= index.named(listing(folder)), (
            "a memory that was named nowhere got no line"
        )
    for folder in folders:
        some = Random(folder.name).choice(sorted(was[folder]))
        (folder / some).write_bytes(was[folder][some].replace(b"description: ", b"description: Newly ", 1))
        (folder / "fresh.md").write_bytes(memory("fresh"))
    was = {folder: was[folder] | contents(folder) for folder in folders}
    gitmem("save")
    ran = gitmem("dream", "--force", "--scope", "project", "--json", ok=False)
    for folder in folders:
        assert lines_by_hand(folder, was[folder]) == stood[folder], "a save or a dream changed them"
    waiting = [one["id"] for one in gitmem("review", "--json").json if one["kind"] == "dream"]
    assert waiting, ran.err
    changes = 0
    for id in waiting:
        changes += len(gitmem("review", "show", id, "--json").json["changes"])
        gitmem("review", "accept", id)
    for folder in folders:
        assert lines_by_hand(folder, was[folder]) == stood[folder], "what was accepted changed them"
        assert contents(folder).keys() <= index.named(listing(folder))
    return changes


@pytest.fixture
def parent(gitmem: Gitmem, repo: Path) -> Path:
    gitmem("init", "-y")
    return repo / ".claude/agent-memory"


@pytest.mark.parametrize(
    "seeds",
    [
        range(4),
        *(pytest.param(range(n, n + 40), marks=pytest.mark.long) for n in range(4, GENERATED + 4, 40)),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop}",
)
def test_lines_that_people_wrote_stay_as_they_stood(gitmem: Gitmem, parent: Path, seeds: range) -> None:
    assert held_through(gitmem, written(parent, seeds)) > 0


@pytest.mark.long
@pytest.mark.skipif(
    "GITMEM_TEST_DATA" not in os.environ or not REAL.is_dir(),
    reason="GITMEM_TEST_DATA names no real memories",
)
def test_lines_of_real_indexes_stay_as_they_stood(gitmem: Gitmem, parent: Path) -> None:
    assert held_through(gitmem, real(parent)) > 0
