"""Times the catalog and recall on a corpus made up of N memories, beside FTS5 used plainly.

usage: python tests/bench/recall_speed.py [--memories N] [--queries N] [--json]

The memories are in a real repository. The reference is one FTS5 table over the same texts, in the same
process, the same questions taking turns: `MATCH` with all words of the question joined by OR, `ORDER BY
bm25`, five rows; once with the stop words of the question, once without. What is asked of recall: a warm
p50 under 10 ms and a p95 under 50, stop words included, and 100 changes caught up with in half a second.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from figures import Figure, bench, quantile
from ground import REF, START, Home, Prose, spent, tree

from gitmem.core.memory import Memory
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.search.catalog import Catalog
from gitmem.search.query import RecallSource, gather, search
from gitmem.search.recall import recall
from gitmem.search.words import STOP

NOW = START
CHANGED = 100
COLD = """
import os, sys
from pathlib import Path
from gitmem.search.query import RecallSource, gather
from gitmem.search.recall import as_context, recall
from gitmem.search.catalog import Catalog
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
folder = Path(sys.argv[1])
repo = open_repository(folder / "home/repo", GitCommand(os.environ), "git")
source = RecallSource(repo, Catalog.open(folder / "gitmem"), {"refs/gitmem/project": "project"})
found = [candidate for _, candidate in gather(sys.argv[2], [source])]
as_context(recall(sys.argv[2], found, lambda c: repo.blob(c.blob), 1_790_000_000, source.scopes))
repo.close()
assert "pygit2" not in sys.modules
"""


class Plain:
    """The reference: what a first version of a search would be."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute(
            "CREATE VIRTUAL TABLE text USING fts5(name, description, body, content='',"
            " tokenize='porter unicode61')"
        )

    def add(self, memories: Sequence[Memory]) -> None:
        self._connection.execute("BEGIN")
        self._connection.executemany(
            "INSERT INTO text(name, description, body) VALUES(?, ?, ?)",
            ((one.name, one.description, one.body) for one in memories),
        )
        self._connection.execute("COMMIT")

    def ask(self, question: str, *, stopped: bool) -> list[tuple[int]]:
        asked = [word for word in re.findall(r"\w+", question.lower()) if not stopped or word not in STOP]
        match = " OR ".join(f'"{word}"' for word in asked)
        return self._connection.execute(
            "SELECT rowid FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT 5", (match,)
        ).fetchall()


def timed(work: Callable[[], object], cpu: list[float] | None = None) -> float:
    """Seconds that a call takes, on the wall; `cpu` gets those of the processor."""
    start, before = time.perf_counter(), time.process_time()
    work()
    if cpu is not None:
        cpu.append(time.process_time() - before)
    return time.perf_counter() - start


def measure(memories: int, queries: int, folder: Path) -> Iterator[Figure]:
    """Builds the corpus in a folder and asks it."""
    home, prose = Home(folder / "home"), Prose(7)
    known = [prose.memory(number) for number in range(memories + CHANGED)]
    home.fill(tree(known[:memories], hot=0))
    repo = open_repository(home.repo, GitCommand(os.environ))
    source = RecallSource(repo, Catalog.open(folder / "gitmem"), {REF: "project"})
    plain = Plain(folder / "plain.sqlite")

    built = timed(lambda: gather("warm", [source])), timed(lambda: plain.add(known[:memories]))
    yield Figure("the index is built", "s", *built, "FTS5")
    home.fill(tree(known[memories:], hot=0))
    caught = timed(lambda: gather("warm", [source])), timed(lambda: plain.add(known[memories:]))
    yield Figure(f"{CHANGED} changes are caught up with", "s", *caught, "FTS5")

    wall: dict[str, list[float]] = {}
    cpu: dict[str, list[float]] = {}
    for _ in range(queries):
        question = prose.question()
        then = f"what did we decide last month about {question}"

        def answer(question: str = question) -> None:
            found = [candidate for _, candidate in gather(question, [source], now=NOW)]
            recall(question, found, lambda c: repo.blob(c.blob), NOW, source.scopes)

        cases: dict[str, Callable[[], object]] = {
            "recall": answer,
            "search": lambda q=question: search(source.catalog, q, [REF], now=NOW),  # type: ignore[misc]
            "search of a time": lambda q=then: search(source.catalog, q, [REF], now=NOW),  # type: ignore[misc]
            "FTS5, all words": lambda q=question: plain.ask(q, stopped=False),  # type: ignore[misc]
            "FTS5, no stop words": lambda q=question: plain.ask(q, stopped=True),  # type: ignore[misc]
        }
        for name, case in cases.items():
            wall.setdefault(name, []).append(timed(case, cpu.setdefault(name, [])))
    for unit, times in (("ms", wall), ("ms CPU", cpu)):
        for share, word in ((0.5, "median"), (0.95, "95th percentile")):
            found = {name: 1000 * quantile(some, share) for name, some in times.items()}
            for name in ("search", "search of a time", "recall"):
                for reference in ("FTS5, all words", "FTS5, no stop words"):
                    yield Figure(f"{name}, {word}", unit, found[name], found[reference], reference)
    source.catalog.close()
    repo.close()
    ours, theirs = (folder / "gitmem/catalog.sqlite", folder / "plain.sqlite")
    yield Figure("size of the index", "MB", ours.stat().st_size / 1e6, theirs.stat().st_size / 1e6, "FTS5")
    words = [sys.executable, "-c", COLD, str(folder), Prose(11).question()]
    cold = [spent(words, home.home, home.environ).cpu for _ in range(5)]
    yield Figure("one recall, from a cold start", "ms CPU", quantile(cold, 0.5))


if __name__ == "__main__":
    bench(__doc__, measure, memories=100_000, queries=200)
