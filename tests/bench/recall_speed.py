"""Times the catalog and recall on a corpus made up of N memories, in a real repository.

usage: python tests/bench/recall_speed.py [--memories N] [--queries N] [--json]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.recall.gather import Source, gather
from gitmem.recall.recall import recall
from gitmem.store.catalog import Catalog
from gitmem.store.git import GitCommand
from gitmem.store.open import open_repository
from gitmem.store.repository import BLOB, TREE, Entry, Repository, Signature

REF = "refs/gitmem/project"
STOPPED = ("what", "is", "the", "best", "way", "to", "do", "this", "with", "our", "should", "we")
NOW = 1_790_000_000


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
        head = f"---\nname: {self.draw(3).replace(' ', '-')}-{number}\ndescription: {self.draw(10)}\n"
        return f"{head}type: project\n---\n\n{self.draw(40)}\n\n**Why:** the {self.draw(12)}\n".encode()

    def question(self) -> str:
        asked = [*self.rng.choices(STOPPED, k=5), *self.draw(5).split(), self.rng.choice(self.words)]
        self.rng.shuffle(asked)
        return " ".join(asked)


def commit(repo: Repository, archive: dict[str, dict[str, Entry]], parent: str | None) -> str:
    shards = {shard: Entry(TREE, repo.add_tree(files)) for shard, files in archive.items()}
    agent = repo.add_tree({"archive": Entry(TREE, repo.add_tree(shards))})
    root = repo.add_tree({"main": Entry(TREE, agent)})
    who = Signature("Ann", "ann@example.com", NOW)
    new = repo.add_commit(root, (parent,) if parent else (), who, who, "Learn\n")
    repo.move_ref(REF, new, parent, "bench")
    return new


def measure(memories: int, queries: int, folder: Path) -> dict[str, float]:
    """Builds the corpus in `folder` and returns figures: seconds, milliseconds, megabytes."""
    subprocess.run(["git", "init", "-q", str(folder / "repo")], check=True)
    repo = open_repository(folder / "repo", GitCommand(os.environ))
    prose = Prose(7)
    archive: dict[str, dict[str, Entry]] = {}

    def put(number: int) -> None:
        name = f"m{number}.md"
        shard = hashlib.sha256(name.encode()).hexdigest()[:2]
        archive.setdefault(shard, {})[name] = Entry(BLOB, repo.add_blob(prose.memory(number)))

    for number in range(memories):
        put(number)
    tip = commit(repo, archive, None)
    source = Source(repo, Catalog.open(folder / "gitmem"), {REF: "project"})
    figures: dict[str, float] = {"memories": memories}

    start = time.perf_counter()
    gather("warm", [source])
    figures["build_s"] = time.perf_counter() - start

    for number in range(100):
        put(number)
    commit(repo, archive, tip)
    start = time.perf_counter()
    gather("warm", [source])
    figures["catch_up_100_s"] = time.perf_counter() - start

    taken = []
    for _ in range(queries):
        question = prose.question()
        start = time.perf_counter()
        found = [candidate for _, candidate in gather(question, [source])]
        recall(question, found, lambda c: repo.blob(c.blob), NOW, source.scopes)
        taken.append(1000 * (time.perf_counter() - start))
    taken.sort()
    figures["recall_p50_ms"] = taken[len(taken) // 2]
    figures["recall_p95_ms"] = taken[len(taken) * 95 // 100]
    source.catalog.close()
    repo.close()
    figures["catalog_mb"] = (folder / "gitmem/catalog.sqlite").stat().st_size / 1e6
    figures["cold_recall_cpu_ms"] = cold(folder)
    return figures


def cold(folder: Path) -> float:
    """CPU milliseconds of one recall in a process of its own, git processes included; median of five."""
    code = """
import os, sys
from pathlib import Path
from gitmem.recall.gather import Source, gather
from gitmem.recall.recall import recall
from gitmem.recall.show import as_context
from gitmem.store.catalog import Catalog
from gitmem.store.git import GitCommand
from gitmem.store.open import open_repository
folder = Path(sys.argv[1])
repo = open_repository(folder / "repo", GitCommand(os.environ), "git")
source = Source(repo, Catalog.open(folder / "gitmem"), {"refs/gitmem/project": "project"})
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
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(given.memories, given.queries, Path(folder))
    figures = {name: round(value, 2) for name, value in figures.items()}
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:20} {value:>12,}")


if __name__ == "__main__":
    main()
