"""Times what a look costs: commands against `import pygit2`, and against git reading the same tree.

usage: python tests/bench/look_speed.py [--memories N] [--rounds N] [--json]

CPU seconds (user and system, children included) of whole processes, the median of some rounds that take
turns. `x` ratios are against `python -c "import pygit2"` in the same run. `over git` ratios are those of
list and show, less what the same command takes where there is one memory, against `git archive` of the same
tree less what that takes of the same small one: at the tip and some commits back, with a catalog that knows
the blobs (`warm`) and with none (`cold`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core import index
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.memory import create
from gitmem.core.names import archive_path
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, workspace_at
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Write, land

ROOT = Path(__file__).parent.parent.parent
START = 1_790_000_000
BACK = 5
"""Commits that the past revision lies behind the tip."""
REF = "refs/gitmem/project"
WORDS = ("port", "database", "cache", "queue", "index", "tree", "merge", "token", "deploy", "proxy")
GITMEM = (sys.executable, "-m", "gitmem")


class Place:
    """A code repository with memory, in a home of its own."""

    def __init__(self, folder: Path, memories: int, layout: str) -> None:
        self.repo = folder / "repo"
        home = folder / "home"
        home.mkdir(parents=True)
        (home / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.com\n")
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.environ = kept | {"HOME": str(home), "PYTHONPATH": str(ROOT), "GIT_CONFIG_NOSYSTEM": "1"}
        self.run(["git", "init", "-q", str(self.repo)], cwd=folder)
        self.run(["git", "commit", "-q", "--allow-empty", "-m", "first"])
        self.run([*GITMEM, "init", "-y"])
        self._fill(memories, layout)
        self.run(["git", "gc", "-q"])
        self.catalog = self.repo / ".git/gitmem/catalog.sqlite"

    def run(self, words: Sequence[str], cwd: Path | None = None) -> None:
        subprocess.run(words, cwd=cwd or self.repo, env=self.environ, check=True, capture_output=True)

    def forget(self) -> None:
        """Deletes the catalog."""
        for file in self.catalog.parent.glob("catalog.sqlite*"):
            file.unlink()

    def _fill(self, memories: int, layout: str) -> None:
        rng = random.Random(1)
        edits: dict[str, bytes] = {}
        listed: dict[str, str] = {}
        for number in range(memories):
            name, text = f"note-{number}", " ".join(rng.choices(WORDS, k=40))
            file = f"{name}.md"
            body = f"{text} {number}\n\n**Why:** because {number}\n\n**How to apply:** do {text[:40]}"
            memory = create(name, f"about {text[:60]}", "project", body, file)
            agent = f"agent-{number // 100}" if layout == "agents" else "main"
            hot = layout != "paged" or number >= memories - HOT_MEMORIES
            edits[f"{agent}/{file if hot else archive_path(file)}"] = memory.render()
            if hot:
                listed[agent] = listed.get(agent, "") + index.entry(name, file, memory.description)
        edits |= {f"{agent}/{index.INDEX}": text.encode() for agent, text in listed.items()}
        hot_path = next(path for path in edits if path.count("/") == 1 and not path.endswith(index.INDEX))
        scope = workspace_at(Edges(self.environ, self.repo, START)).scope("project")
        for number in range(2 * BACK):
            who = Signature("Ann", "ann@example.com", START + number)
            now = edits if number == 0 else {hot_path: edits[hot_path] + f"\nMore {number}.\n".encode()}
            land(Ref(scope.repo, REF), _write(now), who)


def _write(edits: Mapping[str, bytes]):  # type: ignore[no-untyped-def]
    return lambda _: Write(edits, "Learn", Provenance())


def cpu(words: Sequence[str], place: Place) -> float:
    """CPU milliseconds of one process and its children."""
    process = subprocess.Popen(
        words, cwd=place.repo, env=place.environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = process.stderr.read() if process.stderr else b""
    _, status, spent = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{words} exited {process.returncode}: {said.decode()}")
    return 1000 * (spent.ru_utime + spent.ru_stime)


def in_turns(cases: Mapping[str, tuple[Sequence[str], Place]], rounds: int) -> dict[str, float]:
    """Median of each case; the cases take turns, so that a busy moment hits all of them."""
    taken: dict[str, list[float]] = {name: [] for name in cases}
    for words, place in cases.values():
        cpu(words, place)
    for _ in range(rounds):
        for name, (words, place) in cases.items():
            taken[name].append(cpu(words, place))
    return {name: statistics.median(times) for name, times in taken.items()}


@contextmanager
def places(memories: int) -> Iterator[dict[str, Place]]:
    """The repositories: one memory, a thousand in three layouts, and many."""
    with tempfile.TemporaryDirectory() as folder:
        wanted = {
            "one": (1, "hot"),
            "paged": (1000, "paged"),
            "hot": (1000, "hot"),
            "agents": (1000, "agents"),
            "many": (memories, "paged"),
        }
        yield {name: Place(Path(folder) / name, *how) for name, how in wanted.items()}


def against_pygit2(found: Mapping[str, Place], rounds: int) -> dict[str, float]:
    """Whole commands as multiples of `import pygit2`."""
    cases = {
        "pygit2": ([sys.executable, "-c", "import pygit2"], found["one"]),
        "--version": ([*GITMEM, "--version"], found["one"]),
        "list, 200 in use of 1000": ([*GITMEM, "list"], found["paged"]),
        "list, 1000 in use": ([*GITMEM, "list"], found["hot"]),
        "list, 10 agents with 100": ([*GITMEM, "list"], found["agents"]),
        "status, 1000": ([*GITMEM, "status"], found["paged"]),
        "recall, 1000": ([*GITMEM, "recall", "which port has the proxy"], found["paged"]),
    }
    times = in_turns(cases, rounds)
    base = times.pop("pygit2")
    return {"pygit2_ms": base} | {f"x {name}": time / base for name, time in times.items()}


def against_git(found: Mapping[str, Place], rounds: int) -> dict[str, float]:
    """List and show as multiples of git reading the same tree, start-up subtracted from both."""
    looks = {"list": ["list", "-a"], "show": ["show", "note-0"], "status": ["status"]}
    cases: dict[str, tuple[Sequence[str], Place]] = {}
    for size in ("one", "many"):
        place = found[size]
        for when, at in (("tip", "~0"), ("past", f"~{BACK}")):
            cases[f"{size} git {when}"] = (["git", "archive", REF + at], place)
            for look, words in looks.items():
                if look == "status" and when == "past":
                    continue
                then = ["--at", at] if when == "past" else []
                cases[f"{size} {look} {when}"] = ([*GITMEM, *words, *then], place)
    times = in_turns(cases, rounds)
    figures: dict[str, float] = {}
    for when in ("tip", "past"):
        git = times[f"many git {when}"] - times[f"one git {when}"]
        figures[f"git archive, {when}_ms"] = git
        for look in looks:
            if f"many {look} {when}" in times:
                over = times[f"many {look} {when}"] - times[f"one {look} {when}"]
                figures[f"over git, {look}, {when}, warm"] = over / git
    git = times["many git tip"] - times["one git tip"]
    for look, words in {**looks, "list in use": ["list"]}.items():
        cold = []
        for name in ("one", "many"):
            found[name].forget()
            cold.append(cpu([*GITMEM, *words], found[name]))
        figures[f"over git, {look}, tip, cold"] = (cold[1] - cold[0]) / git
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="Times what a look costs.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with places(given.memories) as found:
        figures = {"memories": float(given.memories)}
        figures |= against_pygit2(found, given.rounds) | against_git(found, max(3, given.rounds // 2))
    figures = {name: round(value, 2) for name, value in figures.items()}
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:36} {value:>10,}")


if __name__ == "__main__":
    main()
