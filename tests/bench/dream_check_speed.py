"""Times the check of a dream, and of that what a search must find, against plain reading of the tree.

usage: python tests/bench/dream_check_speed.py [--memories N] [--touched N] [--rounds N]

A dream's branch in a bare repository: half of its commits move a claim to another memory, half merge one
away. Prints JSON: the best of some rounds in seconds of CPU, for `read` (each file of the tree, the least
that whoever looks at a whole tree must do), `found` (`lost_to_search`), and `check` (`prove_branch`, which
reads for itself and holds `found`); `x_read` are multiples of `read` in the same run, `per_1000` seconds
for a thousand memories.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from recall_speed import NOW, Prose

from gitmem.core.account import claims_at
from gitmem.core.trailers import Provenance, format_message
from gitmem.dream.proof import prove_branch
from gitmem.dream.search import SearchPair, _indexed
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.rules.findable import _lost, lost_to_search

ANN = Signature("Ann", "ann@example.com", NOW)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--memories", type=int, default=1_000)
    parser.add_argument("--touched", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
        environ = {"HOME": folder, "PATH": os.environ.get("PATH", ""), "GIT_CONFIG_NOSYSTEM": "1"}
        path = Path(folder) / "bench.git"
        words = ["git", "init", "--quiet", "--bare", "--template=", str(path)]
        subprocess.run(words, check=True, env=environ)
        repo = open_repository(path, GitCommand(environ), "auto", bare=True)
        figures = measure(repo, *grow(repo, given.memories, given.touched), given.rounds)
    per = {name: round(1_000 * seconds / given.memories, 3) for name, seconds in figures.items()}
    ratios = {name: round(seconds / figures["read"], 1) for name, seconds in figures.items()}
    rounded = {name: round(seconds, 3) for name, seconds in figures.items()}
    shape = {"memories": given.memories, "touched": given.touched}
    print(json.dumps({**shape, "seconds": rounded, "per_1000": per, "x_read": ratios}))


def grow(repo: Repository, memories: int, touched: int) -> tuple[str, str]:
    """Makes the memory and the dream: base and tip."""
    prose = Prose(11)
    files = {f"main/m{number:05}.md": prose.memory(number) for number in range(memories)}
    tree = write_tree(repo, None, files)
    base = tip = repo.add_commit(tree, (), ANN, ANN, "Learn")
    paths = prose.rng.sample(sorted(files), touched)
    message = format_message("Sort a claim", Provenance(op="dream", writer="dream", engine="offline"))
    for number, path in enumerate(paths[::2]):
        other = paths[2 * number + 1] if 2 * number + 1 < touched else paths[1]
        edits = _moved(files, path, other) if number % 2 else _merged(files, path, other)
        for at, data in edits.items():
            files.pop(at) if data is None else files.update({at: data})
        tree = write_tree(repo, tree, edits)
        tip = repo.add_commit(tree, (tip,), ANN, ANN, message)
    return base, tip


def measure(repo: Repository, base: str, tip: str, rounds: int) -> dict[str, float]:
    """Seconds of CPU of each, the best of the rounds."""
    trees = repo.commit(base).tree, repo.commit(tip).tree
    before, after = (read_files(repo, tree) for tree in trees)
    failures = prove_branch(repo, base, tip, now=NOW)
    if failures:
        sys.exit(f"the dream is not sound: {failures[0]}")
    works: dict[str, Callable[[], object]] = {
        "read": lambda: read_files(repo, trees[0]),
        "found": lambda: lost_to_search(before, after, search=SearchPair),
        "check": lambda: prove_branch(repo, base, tip, now=NOW),
    }
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            _lost.cache_clear()
            _indexed.cache_clear()
            claims_at.cache_clear()
            begun = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - begun)
    return best


def _moved(files: dict[str, bytes], path: str, other: str) -> dict[str, bytes | None]:
    kept, mark, claim = files[path].partition(b"\n**Why:**")
    return {path: kept, other: files[other] + mark + claim}


def _merged(files: dict[str, bytes], path: str, other: str) -> dict[str, bytes | None]:
    head, _, body = files[path].partition(b"---\n\n")
    described = head.partition(b"description: ")[2].partition(b"\n")[0]
    return {path: None, other: files[other] + b"\n" + described + b"\n\n" + body}


if __name__ == "__main__":
    main()
