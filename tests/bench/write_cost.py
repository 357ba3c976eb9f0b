"""What writing costs: one changed memory against plain git, and the CPU of the commands that write.

usage: python tests/bench/write_cost.py [--memories N] [--rounds N] [--json]

One memory of N is changed and saved, in process, against `git add` + `git commit` of the same change in a
work tree of the same files. Of whole commands, user and system time with their git processes, against
`python -c "import pygit2"` in the same run. Medians.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from figures import Figure, bench, medians
from ground import Home, service, tree

from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import create
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.save import save_all
from gitmem.git.repository import Signature
from gitmem.ledger.land import Write, land

WHO = Signature("Ann", "ann@example.com", 1_790_000_000)
PYGIT2 = "import pygit2"
SCAN = "from gitmem.rules.secrets import find_secrets; find_secrets({!r})"


def edges(home: Home) -> Edges:
    return Edges(home.environ, home.repo, time.time())


def filled(home: Home, count: int) -> Path:
    """Puts memories into the project scope and lays them out; the working copy."""
    home.gitmem("init")
    files = tree(map(service, range(count)))
    workspace = workspace_at(edges(home))
    land(workspace.scope("project"), lambda _: Write(files, "Learn", Provenance()), WHO)
    save_all(workspace, edges(home), fresh=True)
    return home.repo / ".claude/agent-memory/main"


def timed(work: Callable[[], object]) -> float:
    """Milliseconds by the clock."""
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def change(file: Path) -> None:
    """Writes another text of the same memory, as an agent would have."""
    head = file.read_text().partition("**Why:**")[0]
    file.write_text(f"{head}**Why:** measured again at {time.time()}.\n\n**How to apply:** mind it.\n")


def plain_git(home: Home, count: int) -> Callable[[], float]:
    """`git add` and `git commit` of one changed file among as many."""
    work, path = home.home / "plain", f"main/{service(count - 1).path}"
    for name, data in tree(map(service, range(count))).items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(data)
    home.git("init", "-q", work)
    home.git("add", "-A", cwd=work)
    home.git("commit", "-qm", "Learn", cwd=work)

    def run() -> float:
        change(work / path)
        return sum(
            home.run("git", *words, cwd=work).wall for words in (("add", path), ("commit", "-qm", "Update"))
        )

    return run


def landed(home: Home, count: int) -> Callable[[], float]:
    """One commit to the ref, of one memory."""
    workspace = workspace_at(edges(home))
    name = service(count - 2).name

    def run() -> float:
        data = create(name, "x", "project", f"At {time.time()}.\n", f"{name}.md").render()
        write = Write({f"main/{name}.md": data}, "Update", Provenance())
        taken = timed(lambda: land(workspace.scope("project"), lambda _: write, WHO))
        save_all(workspace, edges(home))
        return taken

    return run


def saved(home: Home, live: Path, count: int) -> Callable[[], float]:
    """A save of the working copy, of one memory."""
    workspace = workspace_at(edges(home))

    def run() -> float:
        change(live / service(count - 1).path)
        now = edges(home)
        return timed(lambda: save_all(workspace, now))

    return run


def measure(memories: int, rounds: int, folder: Path) -> Iterator[Figure]:
    """All figures."""
    large, small = Home(folder / "large"), Home(folder / "small")
    live, little = filled(large, memories), filled(small, HOT_MEMORIES - 1)
    fresh = iter(range(10**9))

    def save(home: Home, live: Path, count: int) -> float:
        change(live / service(count - 1).path)
        return home.gitmem("save").cpu

    def init() -> float:
        code = folder / f"fresh{next(fresh)}"
        large.git("init", "-q", code)
        return large.gitmem("init", cwd=code).cpu

    times = medians(
        {
            "git": plain_git(large, memories),
            "land": landed(large, memories),
            "save in process": saved(large, live, memories),
            "save": lambda: save(large, live, memories),
            "save of few": lambda: save(small, little, HOT_MEMORIES - 1),
            "pygit2": lambda: large.python("-c", PYGIT2).cpu,
            "no scan": lambda: large.python("-c", "import gitmem.rules.secrets").cpu,
            "scan": lambda: large.python("-c", SCAN.format(service(1).description)).cpu,
            "remember": lambda: large.gitmem("remember", service(next(fresh) + 10**6).description).cpu,
            "init": init,
        },
        rounds,
    )
    scan = times["scan"] - times["no scan"]
    yield Figure(
        "one of the memories is saved", "ms", times["save in process"], times["git"], "git add, commit"
    )
    yield Figure("its commit alone", "ms", times["land"], times["git"], "git add, commit")
    yield Figure(
        "save", "ms CPU", times["save"], times["save of few"], f"save of {HOT_MEMORIES - 1} memories"
    )
    yield Figure(
        "remember, without the scan for secrets",
        "ms CPU",
        times["remember"] - scan,
        times["pygit2"],
        PYGIT2,
    )
    yield Figure("init", "ms CPU", times["init"], times["pygit2"], PYGIT2)


if __name__ == "__main__":
    bench(__doc__, measure, memories=10_000, rounds=9)
