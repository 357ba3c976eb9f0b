"""What memories cost that arrive at once: N of them, and ten times as many.

usage: python tests/bench/bulk_cost.py [--memories N] [--json]

Linear work takes ten times as long at most, less what a command costs anyhow; a hundred times is quadratic.
All are CPU seconds of whole commands, user and system, with their git processes:

- adopt: `init` where the client's folder holds as many files, written on one day;
- adopt_days: the same, written over thirty days;
- drop: `save` after as many files were put into a folder that gitmem knows;
- merge: `sync` of two clones that learned half of them each, in one folder with one index;
- first_save: `save` with nothing changed, after somebody committed them with plain git;
- save: the next one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from figures import Figure, bench
from ground import REF, Home, Made, service, tree

from gitmem.core import index

DAY = 86_400
SHARED = "refs/heads/gitmem/project"
"""Where the project's memory is once it is shared."""


def write(folder: Path, numbers: Iterable[int], days: int = 1) -> None:
    """Files as a client writes them, an index with them."""
    folder.mkdir(parents=True, exist_ok=True)
    now, lines = time.time(), ""
    for number in numbers:
        one = service(number)
        (folder / one.path).write_bytes(one.render())
        written = now - DAY * (1 + number % days)
        os.utime(folder / one.path, (written, written))
        lines += index.entry(one.name, one.path, one.description)
    with (folder / index.INDEX).open("a") as listed:
        listed.write(lines)


def commit(home: Home, numbers: range, ref: str = REF, repo: Path | None = None) -> None:
    """Memories by plain git on a memory ref that is there."""
    files = tree(map(service, numbers))
    home.import_commits([Made("Import\n", files, (f"{ref}^0",), int(time.time()))], ref, repo)


def adopt(home: Home, count: int, days: int = 1) -> float:
    write(home.folder, range(count), days)
    return home.gitmem("init").cpu


def adopt_days(home: Home, count: int) -> float:
    return adopt(home, count, 30)


def drop(home: Home, count: int) -> float:
    write(home.folder, range(3))
    home.gitmem("init")
    write(home.folder, range(3, count + 3))
    return home.gitmem("save").cpu


def merge(home: Home, count: int) -> float:
    remote, other = home.home / "remote.git", home.home / "other"
    home.share(remote)
    home.git("clone", "-q", remote, other)
    home.gitmem("init", cwd=other)
    home.gitmem("sync", cwd=other)
    commit(home, range(count // 2), SHARED)
    commit(home, range(count // 2, count), SHARED, other)
    home.gitmem("save")
    home.gitmem("sync", cwd=other)
    return home.gitmem("sync").cpu


def first_save(home: Home, count: int) -> float:
    home.gitmem("init")
    home.gitmem("remember", "--scope", "project", "We deploy on Tuesdays.")
    commit(home, range(count))
    return home.gitmem("save").cpu


def save(home: Home, count: int) -> float:
    first_save(home, count)
    return home.gitmem("save").cpu


CASES: dict[str, Callable[[Home, int], float]] = {
    one.__name__: one for one in (adopt, adopt_days, drop, merge, first_save, save)
}


def measure(memories: int, folder: Path) -> Iterator[Figure]:
    """A row for each case."""
    for name, case in CASES.items():
        few, many = (
            case(Home(folder / f"{name}{size}"), size) / 1000 for size in (memories, 10 * memories)
        )
        yield Figure(f"{name}, {10 * memories:,} memories at once", "s CPU", many, few, "a tenth of them")


if __name__ == "__main__":
    bench(__doc__, measure, memories=1000)
