"""What a purge costs: one secret out of N commits, and a clone that follows.

usage: python tests/bench/purge_cost.py [--commits N] [--json]

Seconds of the purge, and of a teammate who agrees to it and syncs, beside `git fast-export | git
fast-import` of the same history in the same run. No object of either clone may hold the secret afterwards.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from figures import Figure, bench
from ground import Home, Made

MEMORIES = 200
SECRET = "quiet-otter-5150-reykjavik"
BRANCH = "refs/heads/gitmem/project"
_MEMORY = (
    "---\nname: {0}\ndescription: {1}\ntype: project\n---\n\n{1}\n\n**Why:** number {2} was measured.\n"
)
_ROOT = (
    "import os; from pathlib import Path; from gitmem.git.open import open_repository;"
    "from gitmem.git.command import GitCommand; from gitmem.ledger.land import root_commit;"
    "print(root_commit(open_repository(Path('.'), GitCommand(dict(os.environ)), prefer='git')))"
)
"""Prints the commit that every memory begins with."""


def history(root: str, commits: int) -> Iterator[Made]:
    """Memories that change one by one, the secret in the tenth commit."""
    described = [f"Fact {number} of a team" for number in range(MEMORIES)]
    held = min(10, commits // 2)
    described[held] = f"The key is {SECRET}"
    for number in range(commits):
        at = number % MEMORIES
        lines = [f"- [fact-{n}](fact-{n}.md) — {described[n]}\n" for n in range(min(number + 1, MEMORIES))]
        files = {
            f"main/fact-{at}.md": _MEMORY.format(f"fact-{at}", described[at], number).encode(),
            "main/MEMORY.md": "".join(lines).encode(),
        }
        if number == 0:
            files[".gitmem"] = b"format = 1\n"
        message = f"Update fact-{at}: {described[at]}\n\nGitmem-Op: update\n"
        yield Made(message, files, () if number else (root,))


def measure(commits: int, folder: Path) -> Iterator[Figure]:
    """Makes a team of two in a folder, and purges."""
    team = folder / "team.git"
    ann = Home(folder / "ann")
    ann.git("clone", "-q", "--bare", ann.repo, team)
    ann.git("remote", "add", "origin", team)
    ben = Home(folder / "ben", source=team.as_uri(), name="Ben")
    for one in (ann, ben):
        one.gitmem("init")
    ann.import_commits(history(ann.python("-c", _ROOT).out.strip(), commits), BRANCH)
    for one in (ann, ben):
        one.gitmem("share", "--mode", "direct")
        one.gitmem("sync")
    begun = time.monotonic()
    _copy(team, folder / "copy.git", ann)
    copied = time.monotonic()
    ann.gitmem("purge", SECRET)
    purged = time.monotonic()
    ben.git("fetch", "-q", "origin")
    ben.gitmem("review", "accept", f"e-{ben.git('rev-parse', 'origin/gitmem/project')[:8]}")
    ben.gitmem("sync")
    followed = time.monotonic()
    every = ("cat-file", "--batch-all-objects", "--batch", "--unordered")
    if left := sum(one.git(*every).count(SECRET) for one in (ann, ben)):
        raise SystemExit(f"{left} objects hold the secret still")
    beside = copied - begun, "git fast-export | git fast-import"
    yield Figure("purge", "s", purged - copied, *beside)
    yield Figure("to follow it", "s", followed - purged, *beside)


def _copy(source: Path, target: Path, home: Home) -> None:
    home.git("init", "-q", "--bare", target)
    words = ["git", "--git-dir", str(source), "fast-export", "--show-original-ids", BRANCH]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=home.environ) as export:
        importing = ["git", "--git-dir", str(target), "fast-import", "--quiet", "--force"]
        subprocess.run(importing, stdin=export.stdout, env=home.environ, check=True)


if __name__ == "__main__":
    bench(__doc__, measure, commits=10_000)
