"""Times the merge of two large trees: `merge_commits` in process against `git merge-tree`.

usage: python tests/bench/merge_cost.py [--memories N] [--changes N] [--rounds N] [--layout NAME] [--json]

Two sides change a tree of many memories, each some of them, half of those the same files: of the shared
ones each side edits another claim in one half and the same claim in the other; of its own, each edits most,
adds some and deletes some, with their index lines. The median of some rounds that take turns; what a round
wrote is deleted before the next, so that each writes everything anew. `ms` is wall clock, `cpu` is user and
system time with children, which a busy machine stretches less.

`x git` is the time as a multiple of `git merge-tree --write-tree` on the same commits (`git merge -s ort`
writes a work tree, too, and would flatter us).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core import index
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import create
from gitmem.core.names import archive_path
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Repository
from gitmem.ledger.merge import merge_commits

LAYOUTS = ("agents", "paged", "flat")
AGENT_MEMORIES = 1_000
WORDS = ("port", "database", "cache", "queue", "index", "tree", "merge", "token", "deploy", "proxy")
WHO = "Ann <ann@example.com> 1790000000 +0000"
BACKENDS: tuple[Literal["auto", "git"], ...] = ("auto", "git")
Files = Mapping[str, bytes | None]


@dataclass(frozen=True)
class Ground:
    """A bare repository with a base and two sides.

    Attributes:
        expected: texts that the merge must hold.
    """

    path: Path
    environ: Mapping[str, str]
    ours: str
    theirs: str
    expected: tuple[bytes, ...]

    def forget(self) -> None:
        """Deletes loose objects: what was imported is packed, what is loose a merge wrote."""
        for folder in (self.path / "objects").glob("??"):
            shutil.rmtree(folder)


def tree(memories: int, layout: str) -> dict[str, bytes]:
    """A memory tree as gitmem keeps it: path to content.

    Args:
        layout: `agents` is a thousand each, 200 of them hot; `paged` is one agent, 200 hot; `flat` is one
            agent with all of them hot, which no gitmem writes.
    """
    rng = random.Random(1)
    files = {".gitmem": b"format = 1\n"}
    listed: dict[str, list[str]] = {}
    for number in range(memories):
        name = f"note-{number:05}"
        agent = f"agent-{number // AGENT_MEMORIES}" if layout == "agents" else "main"
        position = number % AGENT_MEMORIES if layout == "agents" else number
        hot = layout == "flat" or position < HOT_MEMORIES
        memory = create(name, f"about {number}", "project", _body(rng, number), f"{name}.md")
        files[f"{agent}/{memory.path if hot else archive_path(f'{name}.md')}"] = memory.render()
        if hot:
            listed.setdefault(agent, []).append(index.entry(name, f"{name}.md", memory.description))
    for agent, lines in listed.items():
        files[f"{agent}/{index.INDEX}"] = "".join(lines).encode()
    return files


def _body(rng: random.Random, number: int) -> str:
    said = [" ".join(rng.choices(WORDS, k=20)) + f" {number}." for _ in range(4)]
    return "\n\n".join([*said, f"**Why:** because {number}.", f"**How to apply:** with {number}."])


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
            made = create(name, "is new", "project", _body(rng, 10_000_000 + position), f"{name}.md")
            edits[f"{folder}/{name}.md"] = made.render()
            fresh[f"{folder}/{name}.md"] = made.render()
        for folder in sorted(set(folders)):
            lines = {p.partition("/")[2]: line for p, line in fresh.items() if p.startswith(f"{folder}/")}
            out = {p.partition("/")[2]: files[p] for p in gone if p.startswith(f"{folder}/")}
            listed = files[f"{folder}/{index.INDEX}"].decode()
            edits[f"{folder}/{index.INDEX}"] = index.reconciled(listed, out, lines).encode()
        sides.append(edits)
    return sides[0], sides[1]


def _reworded(data: bytes, paragraph: int, text: str) -> bytes:
    head, fence, body = data.decode().partition("---\n\n")
    blocks = body.split("\n\n")
    blocks[paragraph] += f" {text} ({paragraph})"
    return (head + fence + "\n\n".join(blocks)).encode()


@contextmanager
def ground(memories: int, count: int, layout: str) -> Iterator[Ground]:
    """Makes the repository with `git fast-import`."""
    with tempfile.TemporaryDirectory() as folder:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environ = kept | {"HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}
        path = Path(folder) / "memory.git"
        _git(environ, folder, "init", "-q", "--bare", str(path))
        files = tree(memories, layout)
        sides = changes(files, count)
        stream = [
            _commit("base", files, None),
            *(_commit(f"side{n}", s, "base") for n, s in enumerate(sides)),
        ]
        _git(environ, str(path), "fast-import", "--quiet", input=b"".join(stream))
        heads = [
            _git(environ, str(path), "rev-parse", f"refs/heads/side{n}").decode().strip() for n in (0, 1)
        ]
        expected = tuple(f"Side {side} says so. ({3 * side})".encode() for side in (0, 1) if count > 1)
        yield Ground(path, environ, heads[0], heads[1], expected)


def _commit(branch: str, files: Files, parent: str | None) -> bytes:
    lines = [f"commit refs/heads/{branch}\nauthor {WHO}\ncommitter {WHO}\ndata 5\nLearn\n".encode()]
    if parent:
        lines.append(f"from refs/heads/{parent}\n".encode())
    for path, data in files.items():
        if data is None:
            lines.append(f"D {path}\n".encode())
        else:
            lines.append(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
    return b"".join(lines) + b"\n"


def _git(environ: Mapping[str, str], cwd: str, *words: str, input: bytes | None = None) -> bytes:
    done = subprocess.run(["git", *words], cwd=cwd, env=environ, input=input, capture_output=True)
    if done.returncode > (1 if words[0] == "merge-tree" else 0):
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def measure(where: Ground, rounds: int) -> dict[str, float]:
    """Milliseconds of each way, and multiples of git's."""
    git = GitCommand(where.environ)
    repos: dict[str, Repository] = {
        "pygit2" if how == "auto" else "command": open_repository(where.path, git, how, bare=True)
        for how in BACKENDS
    }
    cases: dict[str, Callable[[], object]] = {
        "git": lambda: _git(
            where.environ, str(where.path), "merge-tree", "--write-tree", where.ours, where.theirs
        )
    }
    trees = set()
    for name, repo in repos.items():
        cases[name] = lambda repo=repo: merge_commits(repo, where.ours, where.theirs)  # type: ignore[misc]
        where.forget()
        merged = merge_commits(repo, where.ours, where.theirs)
        trees.add(merged.tree)
        _check(where, merged.tree)
    if len(trees) != 1:
        raise RuntimeError("the backends disagree")
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            where.forget()
            before, spent = time.perf_counter(), sum(os.times()[:4])
            case()
            taken[name].append((time.perf_counter() - before, sum(os.times()[:4]) - spent))
    for repo in repos.values():
        repo.close()
    found = {f"{name} ms": 1000 * statistics.median(t[0] for t in times) for name, times in taken.items()}
    found |= {f"{name} cpu": 1000 * statistics.median(t[1] for t in times) for name, times in taken.items()}
    return found | {f"{name} x git": found[f"{name} ms"] / found["git ms"] for name in repos}


def _check(where: Ground, tree: str) -> None:
    """Holds the merge to its promise: both sides' words are in it."""
    files = _git(where.environ, str(where.path), "grep", "-h", "says so", tree)
    for text in where.expected:
        if text not in files:
            raise RuntimeError(f"{text!r} was lost")


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--changes", type=int, default=100, help="a side")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--layout", choices=LAYOUTS, help="one alone")
    parser.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args(argv)
    rows = {}
    for layout in (given.layout,) if given.layout else LAYOUTS:
        with ground(given.memories, given.changes, layout) as where:
            rows[layout] = measure(where, given.rounds)
    if given.as_json:
        print(json.dumps(rows, indent=2))
        return 0
    for layout, row in rows.items():
        print(f"{layout:8}" + "  ".join(f"{name} {value:.1f}" for name, value in row.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
