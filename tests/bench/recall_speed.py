"""Times the catalog and recall on a corpus made up of N memories, beside FTS5 used plainly.

usage: python tests/bench/recall_speed.py [--memories N] [--queries N] [--json] [--out FILE]

The memories are in a real repository. The reference is one FTS5 table over the same texts, in the same
process, the same questions taking turns: `MATCH` with all words of the question joined by OR, `ORDER BY
bm25`, five rows; once with the stop words of the question, once without. What is asked of recall: a warm
p50 under 10 ms and a p95 under 50, stop words included, and 100 changes caught up with in half a second.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, TREE, Repository, Signature, TreeEntry
from gitmem.ledger.land import root_commit
from gitmem.search.index import Catalog
from gitmem.search.query import RecallSource, gather, search
from gitmem.search.recall import recall
from gitmem.search.text import read_memory
from gitmem.search.words import STOP

REF = "refs/gitmem/project"
STOPPED = ("what", "is", "the", "best", "way", "to", "do", "this", "with", "our", "should", "we")
NOW = 1_790_000_000
CHANGED = 100

Figures = dict[str, float]


def vocabulary(rng: random.Random, size: int = 30_000) -> list[str]:
    """Words of two to four syllables; drawn by rank they follow Zipf's law, as prose does."""
    syllables = [c + v for c in "bcdfghjklmnprstvz" for v in "aeiou"]
    return ["".join(rng.choices(syllables, k=rng.randint(2, 4))) for _ in range(size)]


class Prose:
    """Draws words, frequent ones more often."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.words = vocabulary(self.rng)
        self.weights = [1 / (rank + 3) for rank in range(len(self.words))]
        self.pool = self.rng.choices(self.words, self.weights, k=400_000)

    def draw(self, count: int) -> str:
        at = self.rng.randrange(len(self.pool) - count)
        return " ".join(self.pool[at : at + count])

    def memory(self, number: int) -> bytes:
        """About seventy words; every tenth is in the words that questions are put with, as prose is."""
        head = f"---\nname: {self.draw(3).replace(' ', '-')}-{number}\ndescription: {self.draw(10)}\n"
        said = " ".join([*self.draw(40).split(), *self.rng.choices(STOPPED, k=8)])
        return f"{head}type: project\n---\n\n{said}\n\n**Why:** the {self.draw(12)}\n".encode()

    def question(self) -> str:
        asked = [*self.rng.choices(STOPPED, k=5), *self.draw(5).split(), self.rng.choice(self.words)]
        self.rng.shuffle(asked)
        return " ".join(asked)


class Plain:
    """The reference: what a first version of a search would be."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute(
            "CREATE VIRTUAL TABLE text USING fts5(name, description, body, content='',"
            " tokenize='porter unicode61')"
        )

    def add(self, contents: Sequence[bytes]) -> None:
        self._connection.execute("BEGIN")
        for content in contents:
            read = read_memory("", content)
            self._connection.execute(
                "INSERT INTO text(name, description, body) VALUES(?, ?, ?)",
                (read.name, read.description, read.body),
            )
        self._connection.execute("COMMIT")

    def ask(self, question: str, *, stopped: bool) -> list[tuple[int]]:
        asked = [word for word in re.findall(r"\w+", question.lower()) if not stopped or word not in STOP]
        match = " OR ".join(f'"{word}"' for word in asked)
        return self._connection.execute(
            "SELECT rowid FROM text WHERE text MATCH ? ORDER BY bm25(text) LIMIT 5", (match,)
        ).fetchall()


def commit(repo: Repository, archive: dict[str, dict[str, TreeEntry]], parent: str, old: str | None) -> str:
    shards = {shard: TreeEntry(TREE, repo.add_tree(files)) for shard, files in archive.items()}
    agent = repo.add_tree({"archive": TreeEntry(TREE, repo.add_tree(shards))})
    format = TreeEntry(BLOB, repo.add_blob(FORMAT_TEXT))
    root = repo.add_tree({"main": TreeEntry(TREE, agent), FORMAT_FILE: format})
    who = Signature("Ann", "ann@example.com", NOW)
    new = repo.add_commit(root, (parent,), who, who, "Learn\n")
    move_ref(repo, REF, new, old, "bench")
    return new


def timed(work: Callable[[], object], spent: list[float] | None = None) -> float:
    """Seconds that a call takes, on the wall; `spent` gets those of the processor."""
    start, before = time.perf_counter(), time.process_time()
    work()
    if spent is not None:
        spent.append(time.process_time() - before)
    return time.perf_counter() - start


def quantiles(name: str, seconds: Sequence[float]) -> Figures:
    """Median and 95th percentile, in milliseconds."""
    ordered = sorted(seconds)
    return {
        f"{name}_p50_ms": 1000 * ordered[len(ordered) // 2],
        f"{name}_p95_ms": 1000 * ordered[len(ordered) * 95 // 100],
    }


def measure(memories: int, queries: int, folder: Path) -> Figures:
    """Builds the corpus in `folder` and returns figures: seconds, milliseconds, megabytes, ratios."""
    subprocess.run(["git", "init", "-q", str(folder / "repo")], check=True)
    repo = open_repository(folder / "repo", GitCommand(os.environ))
    prose = Prose(7)
    archive: dict[str, dict[str, TreeEntry]] = {}
    contents: list[bytes] = []

    def put(number: int) -> None:
        name = f"m{number}.md"
        shard = hashlib.sha256(name.encode()).hexdigest()[:2]
        contents.append(prose.memory(number))
        archive.setdefault(shard, {})[name] = TreeEntry(BLOB, repo.add_blob(contents[-1]))

    for number in range(memories):
        put(number)
    tip = commit(repo, archive, root_commit(repo), None)
    source = RecallSource(repo, Catalog.open(folder / "gitmem"), {REF: "project"})
    plain = Plain(folder / "plain.sqlite")
    figures: Figures = {"memories": memories, "queries": queries}

    built: list[float] = []
    figures["build_s"] = timed(lambda: gather("warm", [source]), built)
    figures["plain_build_s"] = timed(lambda: plain.add(contents), built)
    figures["build_cpu_s"], figures["plain_build_cpu_s"] = built
    for number in range(CHANGED):
        put(number)
    commit(repo, archive, tip, tip)
    figures["catch_up_100_s"] = timed(lambda: gather("warm", [source]))
    figures["plain_catch_up_100_s"] = timed(lambda: plain.add(contents[memories:]))

    asked, searched, plainly, plainly_stopped = [], [], [], []
    at_times: list[float] = []
    cpu: dict[str, list[float]] = {name: [] for name in ("recall", "search", "plain")}
    for _ in range(queries):
        question = prose.question()

        def answer(question: str = question) -> None:
            found = [candidate for _, candidate in gather(question, [source], now=NOW)]
            recall(question, found, lambda c: repo.blob(c.blob), NOW, source.scopes)

        asked.append(timed(answer, cpu["recall"]))
        searched.append(timed(lambda q=question: search(source.catalog, q, [REF], now=NOW), cpu["search"]))
        then = f"what did we decide last month about {question}"
        at_times.append(timed(lambda q=then: search(source.catalog, q, [REF], now=NOW)))
        plainly.append(timed(lambda q=question: plain.ask(q, stopped=False), cpu["plain"]))
        plainly_stopped.append(timed(lambda q=question: plain.ask(q, stopped=True)))
    figures |= quantiles("recall", asked) | quantiles("search", searched)
    figures |= quantiles("search_of_a_time", at_times)
    for name, spent in cpu.items():
        figures |= quantiles(f"{name}_cpu", spent)
    figures |= quantiles("plain", plainly) | quantiles("plain_stopped", plainly_stopped)
    source.catalog.close()
    repo.close()
    figures["catalog_mb"] = (folder / "gitmem/catalog.sqlite").stat().st_size / 1e6
    figures["plain_mb"] = (folder / "plain.sqlite").stat().st_size / 1e6
    figures["cold_recall_cpu_ms"] = cold(folder)
    for ours, theirs in (
        ("build_s", "plain_build_s"),
        ("build_cpu_s", "plain_build_cpu_s"),
        ("catalog_mb", "plain_mb"),
    ):
        figures[f"{ours}_ratio"] = figures[ours] / figures[theirs]
    for rank in ("p50_ms", "p95_ms"):
        figures[f"search_{rank}_ratio"] = figures[f"search_{rank}"] / figures[f"plain_{rank}"]
        figures[f"search_{rank}_ratio_stopped"] = (
            figures[f"search_{rank}"] / figures[f"plain_stopped_{rank}"]
        )
    return figures


def cold(folder: Path) -> float:
    """CPU milliseconds of one recall in a process of its own, git processes included; median of five."""
    code = """
import os, sys
from pathlib import Path
from gitmem.search.query import RecallSource, gather
from gitmem.search.recall import recall
from gitmem.search.recall import as_context
from gitmem.search.index import Catalog
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
folder = Path(sys.argv[1])
repo = open_repository(folder / "repo", GitCommand(os.environ), "git")
source = RecallSource(repo, Catalog.open(folder / "gitmem"), {"refs/gitmem/project": "project"})
found = [candidate for _, candidate in gather(sys.argv[2], [source])]
as_context(recall(sys.argv[2], found, lambda c: repo.blob(c.blob), 1_790_000_000, source.scopes))
repo.close()
assert "pygit2" not in sys.modules
spent = os.times()
print(1000 * (spent.user + spent.system + spent.children_user + spent.children_system))
"""
    question = Prose(11).question()
    root = Path(__file__).parent.parent.parent
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code, str(folder), question],
                capture_output=True,
                text=True,
                check=True,
                cwd=root,
            ).stdout
        )
        for _ in range(5)
    ]
    return sorted(times)[2]


def main() -> None:
    parser = argparse.ArgumentParser(description="Times the catalog and recall.")
    parser.add_argument("--memories", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, help="file that the figures are written to, as JSON")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(given.memories, given.queries, Path(folder))
    figures = {name: round(value, 3) for name, value in figures.items()}
    if given.out:
        given.out.write_text(json.dumps(figures, indent=1) + "\n")
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:28} {value:>12,}")


if __name__ == "__main__":
    main()
