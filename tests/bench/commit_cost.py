"""What gitmem's hooks add to a commit: commits with and without them, alternately, in one run.

usage: python tests/bench/commit_cost.py [--rounds N] [--json]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, bench, medians
from ground import Home


def commit(home: Home) -> Callable[[], float]:
    """Makes commits, each timed with its output captured, as by an agent's shell tool."""
    file = home.repo / "file"
    file.touch()
    home.git("add", "file")

    def one() -> float:
        with file.open("a") as text:
            text.write("more\n")
        taken = home.run("git", "commit", "-qam", "more").wall
        settle(home.repo / ".git/gitmem")
        return taken

    return one


def settle(state: Path) -> None:
    """Waits for the worker: what is measured is the commit, not two workers racing for the processor."""
    until = time.monotonic() + 5
    while time.monotonic() < until and (
        (state / "worker.json").exists() or any((state / "spool").glob("*-commit"))
    ):
        time.sleep(0.02)
    time.sleep(0.05)


def measure(rounds: int, folder: Path) -> Iterator[Figure]:
    """One row."""
    bare, hooked = Home(folder / "bare"), Home(folder / "hooked")
    hooked.gitmem("init")
    times = medians({"without": commit(bare), "with": commit(hooked)}, rounds)
    yield Figure("a commit with the hooks, median", "ms", times["with"], times["without"], "without them")


if __name__ == "__main__":
    bench(__doc__, measure, rounds=30)
