"""Times the merge of two large trees: `merge_commits` in process against `git merge-tree`.

usage: python tests/bench/merge_cost.py [--memories N] [--changes N] [--rounds N] [--json]

Two sides change a tree of many memories, each some of them, half of those the same files: of the shared
ones each side edits another claim in one half and the same claim in the other; of its own, each edits most,
adds some and deletes some, with their index lines. The median of some rounds that take turns; what a round
wrote is deleted before the next, so that each writes everything anew. CPU is that of all processes, which a
busy machine stretches less than the clock.

`git merge-tree --write-tree` merges the same commits (`git merge -s ort` writes a work tree, too, and would
flatter us).
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from figures import Figure, bench, cpu, medians, quantile
from ground import ALL, Home, Made, tree

from gitmem.core import index
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import Memory, create
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.ledger.merge import merge_commits

LAYOUTS = {
    "many agents": {"each": 1_000},
    "one agent": {"hot": HOT_MEMORIES},
    "one folder": {"hot": ALL},
}
"""How memories lie; the last as no gitmem lays them out."""

WORDS = ("port", "database", "cache", "queue", "index", "tree", "merge", "token", "deploy", "proxy")
Files = Mapping[str, bytes | None]


def note(rng: random.Random, name: str, number: int) -> Memory:
    """A memory of six paragraphs."""
    said = [" ".join(rng.choices(WORDS, k=20)) + f" {number}." for _ in range(4)]
    body = "\n\n".join([*said, f"**Why:** because {number}.", f"**How to apply:** with {number}."])
    return create(name, f"about {number}", "project", body, f"{name}.md")


def changes(files: Mapping[str, bytes], count: int) -> tuple[Files, Files]:
    """What each of two sides does to a tree: `count` memories a side, half of them the same."""
    rng = random.Random(2)
    paths = rng.sample(sorted(p for p in files if "note-" in p), count + count // 2)
    shared, own = paths[: count // 2], paths[count // 2 :]
    sides: list[dict[str, bytes | None]] = []
    for side in (0, 1):
        edits: dict[str, bytes | None] = {}
        for position, path in enumerate(shared):
            spot = 0 if position % 2 else 3 * side
            edits[path] = _reworded(files[path], spot, f"Side {side} says so.")
        mine = own[side::2]
        added, deleted = len(mine) // 5, len(mine) // 10
        for path in mine[added + deleted :]:
            edits[path] = _reworded(files[path], 1, f"Side {side} says so.")
        folders = [path.partition("/")[0] for path in mine[: added + deleted]]
        gone = mine[:deleted]
        edits |= dict.fromkeys(gone)
        fresh: dict[str, bytes] = {}
        for position, folder in enumerate(folders[deleted:]):
            name = f"fresh-{side}-{position}"
            fresh[f"{folder}/{name}.md"] = note(rng, name, 10_000_000 + position).render()
        edits |= fresh
        for folder in sorted(set(folders)):
            lines = {p.partition("/")[2]: line for p, line in fresh.items() if p.startswith(f"{folder}/")}
            out = {p.partition("/")[2]: files[p] for p in gone if p.startswith(f"{folder}/")}
            listed = files[f"{folder}/{index.INDEX}"].decode()
            edits[f"{folder}/{index.INDEX}"] = index.reconcile(listed, out, lines).encode()
        sides.append(edits)
    return sides[0], sides[1]


def _reworded(data: bytes, paragraph: int, text: str) -> bytes:
    head, fence, body = data.decode().partition("---\n\n")
    blocks = body.split("\n\n")
    blocks[paragraph] += f" {text} ({paragraph})"
    return (head + fence + "\n\n".join(blocks)).encode()


def merges(memories: int, count: int, layout: str, rounds: int, folder: Path) -> Iterator[Figure]:
    """Makes two sides and merges them."""
    home, rng = Home(folder), random.Random(1)
    home.git("config", "fastimport.unpackLimit", "1")
    files = tree((note(rng, f"note-{n:05}", n) for n in range(memories)), **LAYOUTS[layout])
    home.import_commits([Made("Learn", files)], "refs/heads/base")
    for number, edits in enumerate(changes(files, count)):
        home.import_commits([Made("Learn", edits, ("refs/heads/base^0",))], f"refs/heads/side{number}")
    ours, theirs = (home.git("rev-parse", f"side{number}") for number in (0, 1))
    git = GitCommand(home.environ)
    repos = {
        "libgit2": open_repository(home.repo, git),
        "git": open_repository(home.repo, git, "git"),
    }
    trees = set()
    for repo in repos.values():
        # The merge is held to its promise: both sides' words are in it.
        merged = merge_commits(repo, ours, theirs).tree
        trees.add(merged)
        said = home.git("grep", "-h", "says so", merged)
        if any(f"Side {side} says so. ({3 * side})" not in said for side in (0, 1)):
            raise SystemExit("a claim was lost")
    if len(trees) != 1:
        raise SystemExit("the backends disagree")
    cases: dict[str, Callable[[], object]] = {
        "merge-tree": lambda: home.run(
            "sh", "-c", f"git merge-tree --write-tree {ours} {theirs} || [ $? = 1 ]"
        ),
        **{name: lambda r=repo: merge_commits(r, ours, theirs) for name, repo in repos.items()},  # type: ignore[misc]
    }
    spent: dict[str, list[float]] = {name: [] for name in cases}

    def timed(name: str) -> float:
        # What was imported is packed, what is loose a merge wrote.
        for loose in (home.repo / ".git/objects").glob("??"):
            shutil.rmtree(loose)
        start = time.perf_counter()
        spent[name].append(1000 * cpu(cases[name]))
        return 1000 * (time.perf_counter() - start)

    times = medians({name: lambda n=name: timed(n) for name in cases}, rounds)  # type: ignore[misc]
    for name, repo in repos.items():
        repo.close()
        for unit, found in (
            ("ms", times),
            ("ms CPU", {key: quantile(some, 0.5) for key, some in spent.items()}),
        ):
            yield Figure(
                f"merge, {layout}, by {name}", unit, found[name], found["merge-tree"], "git merge-tree"
            )


def measure(memories: int, changes: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """All layouts."""
    for layout in LAYOUTS:
        yield from merges(memories, changes, layout, rounds, folder / layout)


if __name__ == "__main__":
    bench(__doc__, measure, memories=10_000, changes=100, rounds=9)
