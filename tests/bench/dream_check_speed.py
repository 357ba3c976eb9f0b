"""Times the check of a dream, and of that what a search must find, against plain reading of the tree.

usage: python tests/bench/dream_check_speed.py [--memories N] [--touched N] [--rounds N] [--json]

A dream's branch in a repository: half of its commits move a claim to another memory, half merge one away.
CPU of the whole check (`prove_branch`), and of what a search must find in it (`lost_to_search`), beside
reading each file of the tree: the least that whoever looks at a whole tree must do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, bench, cpu, medians
from ground import START, Home, Prose

from gitmem.core.account import claims_at
from gitmem.core.trailers import Provenance, format_message
from gitmem.dream.proof import prove_branch
from gitmem.dream.search import SearchPair
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.rules.findable import _lost, lost_to_search

NOW = START
ANN = Signature("Ann", "ann@example.com", NOW)


def grow(repo: Repository, memories: int, touched: int) -> tuple[str, str]:
    """Makes the memory and the dream: base and tip."""
    prose = Prose(11)
    files = {f"main/m{number:05}.md": prose.memory(number).render() for number in range(memories)}
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


def measure(memories: int, touched: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """Two rows."""
    repo = open_repository(Home(folder / "home").repo, GitCommand(os.environ))
    base, tip = grow(repo, memories, touched)
    before, after = (read_files(repo, repo.commit(oid).tree) for oid in (base, tip))
    if failures := prove_branch(repo, base, tip):
        raise SystemExit(f"the dream is not sound: {failures[0]}")

    def timed(work: Callable[[], object]) -> float:
        for known in (_lost, claims_at):
            known.cache_clear()
        return cpu(work)

    times = medians(
        {
            "read": lambda: timed(lambda: read_files(repo, repo.commit(base).tree)),
            "what a search must find": lambda: timed(
                lambda: lost_to_search(before, after, search=SearchPair)
            ),
            "all of a dream": lambda: timed(lambda: prove_branch(repo, base, tip)),
        },
        rounds,
    )
    base_time = times.pop("read")
    for name, seconds in times.items():
        yield Figure(
            f"{name} is checked, {memories:,} memories", "s CPU", seconds, base_time, "reading the tree"
        )
    repo.close()


def _moved(files: dict[str, bytes], path: str, other: str) -> dict[str, bytes | None]:
    kept, mark, claim = files[path].partition(b"\n**Why:**")
    return {path: kept, other: files[other] + mark + claim}


def _merged(files: dict[str, bytes], path: str, other: str) -> dict[str, bytes | None]:
    head, _, body = files[path].partition(b"---\n\n")
    described = head.partition(b"description: ")[2].partition(b"\n")[0]
    return {path: None, other: files[other] + b"\n" + described + b"\n\n" + body}


if __name__ == "__main__":
    bench(__doc__, measure, memories=1_000, touched=60, rounds=3)
