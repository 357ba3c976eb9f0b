"""Times `log NAME`, `blame` and `show --at` on a ref of N memory commits, against `git log -- path`.

usage: python tests/bench/history_speed.py [--commits N] [--rounds N] [--json FILE]

Each command runs whole, in a process of its own, before and after `git commit-graph write --changed-paths`.
Figures are medians of seconds, by the clock and of the processor (all processes of a command together),
and ratios of the latter to plain git in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core.names import archive_path

ROOT = Path(__file__).parent.parent.parent
REF = "refs/gitmem/project"
NAME = "m7"
HOT, ARCHIVED = 200, 800
MERGE_EVERY = 50
START = 1_700_000_000


class Stream:
    """Commits on one ref, handed to `git fast-import`."""

    def __init__(self, folder: Path, environ: dict[str, str]) -> None:
        words = ["git", "-C", str(folder), "fast-import", "--quiet"]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, env=environ)
        self.made = 0

    def write(self, data: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data.encode())

    def commit(self, message: str, files: dict[str, str], parents: Sequence[int]) -> int:
        """Returns the number of the new commit."""
        self.made += 1
        who = f"Ann <ann@example.com> {START + 600 * self.made} +0000"
        self.write(f"commit {REF}\nmark :{self.made}\ncommitter {who}\n")
        self.write(f"data {len(message.encode())}\n{message}\n")
        for word, parent in zip(("from", "merge"), parents, strict=False):
            self.write(f"{word} :{parent}\n")
        for path, text in files.items():
            self.write(f"M 100644 inline {path}\ndata {len(text.encode())}\n{text}\n")
        return self.made

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait() == 0


def memory(name: str, claims: Sequence[str]) -> str:
    head = f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n"
    return head + "\n\n".join(claims) + "\n"


def build(folder: Path, commits: int, environ: dict[str, str]) -> None:
    """Makes a code repository whose memory ref has so many commits, with a merge now and then."""
    rng = random.Random(1)
    subprocess.run(["git", "init", "-q", str(folder)], check=True, env=environ)
    stream = Stream(folder, environ)
    bodies = {f"m{n}": [f"Fact m{n} begins."] for n in range(HOT)}
    index = "".join(f"- [{name}]({name}.md) about\n" for name in bodies)
    old = {f"main/{archive_path(f'o{n}.md')}": memory(f"o{n}", [f"Old fact {n}."]) for n in range(ARCHIVED)}
    hot = {f"main/{name}.md": memory(name, claims) for name, claims in bodies.items()}
    own = {".gitmem": "format = 1\n", "main/MEMORY.md": index}
    tip = stream.commit("Begin\n", old | hot | own, ())
    number = 0
    while stream.made < commits:
        number += 1
        name, other = rng.sample(sorted(bodies), 2)
        bodies[name] = [*bodies[name], f"Fact {number} of {name} is {rng.random()}."][-8:]
        told = f"Gitmem-Op: update\nGitmem-Writer: extract\nGitmem-Session: s-{number}\n"
        files = {f"main/{name}.md": memory(name, bodies[name]), "main/MEMORY.md": f"{index}- {number}\n"}
        base, tip = tip, stream.commit(f"Learn {number}\n\n{told}", files, (tip,))
        if number % MERGE_EVERY == 0:
            bodies[other] = [*bodies[other], f"Side {number}."]
            files = {f"main/{other}.md": memory(other, bodies[other])}
            side = stream.commit(f"Learn {number} aside\n\n{told}", files, (base,))
            tip = stream.commit(
                "Merge memory\n\nGitmem-Op: merge\nGitmem-Writer: sync\n", files, (tip, side)
            )
    stream.end()


def seconds(
    words: Sequence[str], folder: Path, environ: dict[str, str], rounds: int
) -> tuple[float, float]:
    """Medians of clock and processor time of a command; it must succeed and print something."""
    clock, processor = [], []
    for _ in range(rounds):
        start, spent = time.perf_counter(), _spent()
        done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, check=True)
        clock.append(time.perf_counter() - start)
        processor.append(_spent() - spent)
        assert done.stdout
    return statistics.median(clock), statistics.median(processor)


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(folder: Path, commits: int, rounds: int) -> dict[str, float]:
    """Returns seconds, and ratios to plain git."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "XDG_"))}
    environ = kept | {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "PYTHONPATH": str(ROOT)}
    repo = folder / "repo"
    build(repo, commits, environ)
    gitmem = [sys.executable, "-m", "gitmem"]
    for words in (
        ["git", "config", "--global", "user.name", "Ann"],
        ["git", "config", "--global", "user.email", "ann@example.com"],
        ["git", "commit", "-q", "--allow-empty", "-m", "first"],
        [*gitmem, "init", "-y"],
    ):
        subprocess.run(words, cwd=repo, env=environ, check=True, capture_output=True)
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + 300 * commits))
    commands = {
        "git_log_path": ["git", "log", "--full-history", "--format=%H %s", REF, "--", f"main/{NAME}.md"],
        "git_rev_list_before": ["git", "rev-list", "-1", f"--before={then}", REF],
        "version": [*gitmem, "--version"],
        "log_name": [*gitmem, "log", NAME],
        "blame": [*gitmem, "blame", NAME],
        "show_at": [*gitmem, "show", NAME, "--at", then],
        "log_10": [*gitmem, "log", "--max-count", "10"],
    }
    figures: dict[str, float] = {}
    for state in ("", "_with_graph"):
        if state:
            graph = ["git", "commit-graph", "write", "--reachable", "--changed-paths"]
            subprocess.run(graph, cwd=repo, env=environ, check=True, capture_output=True)
        for name, words in commands.items():
            # The first look at a revision fills the catalog.
            figures[f"{name}_first{state}"], _ = seconds(words, repo, environ, 1)
            figures[name + state], figures[f"{name}_cpu{state}"] = seconds(words, repo, environ, rounds)
        plain = figures[f"git_log_path_cpu{state}"]
        for name in ("log_name", "blame"):
            figures[f"{name}_to_git{state}"] = figures[f"{name}_cpu{state}"] / plain
        start = figures[f"version_cpu{state}"]
        before = figures[f"git_rev_list_before_cpu{state}"]
        figures[f"show_at_to_git{state}"] = (figures[f"show_at_cpu{state}"] - start) / before
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Times log, blame and show --at.")
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), given.commits, given.rounds)
    figures = {name: round(value, 3) for name, value in figures.items()}
    for name, value in figures.items():
        print(f"{name:32} {value:>8}")
    if given.json:
        given.json.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
