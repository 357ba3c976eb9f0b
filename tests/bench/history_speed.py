"""Times `log NAME`, `blame` and `show --at` on a ref of N memory commits, against plain git.

usage: python tests/bench/history_speed.py [--commits N] [--rounds N] [--json]

Each command runs whole, in a process of its own, before and after `git commit-graph write --changed-paths`.
Medians of CPU, all processes of a command together; of `show --at`, less what `--version` takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, bench, medians
from ground import REF, START, Home, Made

from gitmem.core.names import archive_path

NAME = "m7"
HOT, ARCHIVED = 200, 800
MERGE_EVERY = 50


def memory(name: str, *claims: str) -> bytes:
    head = f"---\nname: {name}\ndescription: About {name}\ntype: project\n---\n\n"
    return (head + "\n\n".join(claims) + "\n").encode()


def history(commits: int) -> Iterator[Made]:
    """So many commits to memory, with a merge now and then."""
    rng = random.Random(1)
    bodies = {f"m{n}": [f"Fact m{n} begins."] for n in range(HOT)}
    index = "".join(f"- [{name}]({name}.md) about\n" for name in bodies)
    files = {f"main/{archive_path(f'o{n}.md')}": memory(f"o{n}", f"Old fact {n}.") for n in range(ARCHIVED)}
    files |= {f"main/{name}.md": memory(name, *claims) for name, claims in bodies.items()}
    yield Made("Begin\n", {**files, ".gitmem": b"format = 1\n", "main/MEMORY.md": index.encode()})
    number = tip = made = 1
    while made < commits:
        name, other = rng.sample(sorted(bodies), 2)
        bodies[name] = [*bodies[name], f"Fact {number} of {name} is {rng.random()}."][-8:]
        told = f"Gitmem-Op: update\nGitmem-Writer: extract\nGitmem-Session: s-{number}\n"
        listed = f"{index}- {number}\n".encode()
        files = {f"main/{name}.md": memory(name, *bodies[name]), "main/MEMORY.md": listed}
        yield Made(f"Learn {number}\n\n{told}", files, (f":{tip}",))
        base, tip, made = tip, made + 1, made + 1
        if number % MERGE_EVERY == 0:
            bodies[other] = [*bodies[other], f"Side {number}."]
            files = {f"main/{other}.md": memory(other, *bodies[other])}
            yield Made(f"Learn {number} aside\n\n{told}", files, (f":{base}",))
            merged = "Merge memory\n\nGitmem-Op: merge\nGitmem-Writer: sync\n"
            yield Made(merged, files, (f":{tip}", f":{made + 1}"))
            tip = made = made + 2
        number += 1


def measure(commits: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """Three rows without a commit graph, and three with."""
    home = Home(folder / "home")
    home.import_commits(history(commits))
    home.gitmem("init")
    then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + 30 * commits))
    log = ("log", "--full-history", "--format=%H %s", REF, "--", f"main/{NAME}.md")
    cases: dict[str, Callable[[], float]] = {
        "git log -- path": lambda: home.run("git", *log).cpu,
        "git rev-list --before": lambda: home.run("git", "rev-list", "-1", f"--before={then}", REF).cpu,
        "--version": lambda: home.python("-m", "gitmem", "--version").cpu,
        "log NAME": lambda: home.gitmem("log", NAME).cpu,
        "blame NAME": lambda: home.gitmem("blame", NAME).cpu,
        "show --at": lambda: home.gitmem("show", NAME, "--at", then).cpu,
    }
    for state in ("", ", commit graph"):
        if state:
            home.git("commit-graph", "write", "--reachable", "--changed-paths")
        times = medians(cases, rounds)
        times["show --at"] -= times["--version"]
        for name, beside in (
            ("log NAME", "git log -- path"),
            ("blame NAME", "git log -- path"),
            ("show --at", "git rev-list --before"),
        ):
            yield Figure(f"{name}{state}", "ms CPU", times[name], times[beside], beside)


if __name__ == "__main__":
    bench(__doc__, measure, commits=10_000, rounds=5)
