"""What writing costs: one changed memory against plain git, and the CPU of the commands that write.

usage: python tests/bench/write_cost.py [--memories N] [--repeat N] [--json]

`save_*`: one memory of N is changed and saved, in process, against `git add` + `git commit` of the same
change in a work tree of the same files. `*_cpu_ms`: user and system time of whole commands with their
git processes; `*_ratio` against `python -c "import pygit2"` in the same run. Medians.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from gitmem.core import index
from gitmem.core.memory import create
from gitmem.core.names import archive_path
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.save import save_all
from gitmem.git.repository import Signature
from gitmem.ledger.land import Tip, Write, land
from gitmem.ledger.workspace import Workspace

ROOT = Path(__file__).parent.parent.parent
HOT = 199
NOW = 1_790_000_000
WHO = Signature("Ann", "ann@example.com", NOW)
SCAN = "from gitmem.rules.secrets import find_secrets; find_secrets({!r})"


def prose(number: int) -> str:
    return f"Service {number} keeps its queue in table q{number % 97} and reads it every {number % 60} s."


def memories(count: int) -> dict[str, bytes]:
    """A tree of one agent: the newest in its folder, the others in the archive."""
    files: dict[str, bytes] = {}
    lines = ""
    for number in range(count):
        body = f"{prose(number)}\n\n**Why:** measured.\n\n**How to apply:** mind it.\n"
        memory = create(f"service-{number}", prose(number), "project", body, f"service-{number}.md")
        hot = number >= count - HOT
        files["main/" + (memory.path if hot else archive_path(memory.path))] = memory.render()
        lines += index.entry(memory.name, memory.path, memory.description) if hot else ""
    return {**files, "main/MEMORY.md": lines.encode()}


@dataclass(frozen=True)
class Ground:
    """A home with one initialised repository in it."""

    home: Path
    repo: Path
    environ: dict[str, str]

    @classmethod
    def make(cls, home: Path) -> Ground:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("GIT_", "XDG_", "PYTHON"))
        }
        ground = cls(home, home / "repo", {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT)})
        (home / ".claude").mkdir(parents=True)
        ground.git("config", "--global", "user.name", "Ann", cwd=home)
        ground.git("config", "--global", "user.email", "ann@example.com", cwd=home)
        ground.git("init", "-q", str(ground.repo), cwd=home)
        ground.git("commit", "-q", "--allow-empty", "-m", "Begin")
        return ground

    def git(self, *words: str, cwd: Path | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.repo, env=self.environ, check=True)

    def python(self, *words: str, cwd: Path | None = None) -> float:
        """CPU milliseconds of one Python process with its children."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, *words]
        subprocess.run(command, cwd=cwd or self.repo, env=self.environ, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def workspace(self) -> Workspace:
        return workspace_at(self.edges())

    def edges(self) -> Edges:
        return Edges(self.environ, self.repo, time.time())

    def fill(self, count: int) -> Path:
        """Puts memories into the project scope and lays them out; returns the live directory."""
        scope = self.workspace().scope("project")
        files = memories(count)
        land(scope, lambda _: Write(files, "Learn", Provenance()), WHO)
        save_all(self.workspace(), self.edges(), fresh=True)
        return self.repo / ".claude/agent-memory/main"


def median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


def change(file: Path, turn: int) -> None:
    """Writes another text of the same memory, some seconds ago, as an agent would have."""
    head = file.read_text().partition("**Why:**")[0]
    file.write_text(f"{head}**Why:** measured again, turn {turn}.\n\n**How to apply:** mind it.\n")


def plain_git(ground: Ground, count: int, repeat: int) -> float:
    """Milliseconds of `git add` + `git commit` of one changed file among as many."""
    tree = ground.home / "plain"
    for path, data in memories(count).items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(data)
    ground.git("init", "-q", str(tree))
    ground.git("add", "-A", cwd=tree)
    ground.git("commit", "-qm", "Learn", cwd=tree)
    file = f"main/service-{count - 1}.md"
    taken = []
    for turn in range(repeat):
        change(tree / file, turn)
        taken.append(
            timed(
                lambda: (
                    ground.git("add", file, cwd=tree),
                    ground.git("commit", "-qm", "Update", cwd=tree),
                )
            )
        )
    return median(taken)


def in_process(ground: Ground, live: Path, count: int, repeat: int) -> tuple[float, float]:
    """Milliseconds of one commit to the ref, and of a save of the live directory, each of one change."""
    workspace = ground.workspace()
    scope = workspace.scope("project")
    name = f"service-{count - 2}"
    committed, saved = [], []
    for turn in range(repeat + 1):
        body = f"Turn {turn}.\n"
        memory = create(name, "x", "project", body, f"{name}.md").render()

        def plan(_: Tip, memory: bytes = memory) -> Write:
            return Write({f"main/{name}.md": memory}, "Update", Provenance())

        committed.append(timed(lambda plan=plan: land(scope, plan, WHO)))
        save_all(workspace, ground.edges())
        change(live / f"service-{count - 1}.md", turn)
        edges = ground.edges()
        saved.append(timed(lambda edges=edges: save_all(workspace, edges)))
    return median(committed[1:]), median(saved[1:])


def save_cpu(ground: Ground, live: Path, count: int, repeat: int) -> float:
    taken = []
    for turn in range(repeat):
        change(live / f"service-{count - 1}.md", turn + 1000)
        taken.append(ground.python("-m", "gitmem", "save"))
    return median(taken)


def measure(count: int, repeat: int, folder: Path) -> dict[str, float]:
    """All figures; milliseconds, and ratios."""
    large, small = Ground.make(folder / "large"), Ground.make(folder / "small")
    for ground in (large, small):
        ground.python("-m", "gitmem", "-y", "init")
    lives = large.fill(count), small.fill(HOT)
    figures: dict[str, float] = {"memories": count, "git_add_commit_ms": plain_git(large, count, repeat)}
    figures["save_commit_ms"], figures["save_live_ms"] = in_process(large, lives[0], count, repeat)
    for name in ("save_commit", "save_live"):
        figures[f"{name}_ratio"] = figures[f"{name}_ms"] / figures["git_add_commit_ms"]
    figures["save_cpu_ms"] = save_cpu(large, lives[0], count, repeat)
    figures["save_cpu_to_small_ratio"] = figures["save_cpu_ms"] / save_cpu(small, lives[1], HOT, repeat)
    figures["import_pygit2_cpu_ms"] = median([large.python("-c", "import pygit2") for _ in range(repeat)])
    plain, scan = (
        median([large.python("-c", code) for _ in range(repeat)])
        for code in ("import gitmem.rules.secrets", SCAN.format(prose(1)))
    )
    figures["secret_scan_cpu_ms"] = scan - plain
    taken = [large.python("-m", "gitmem", "remember", prose(turn + 10**6)) for turn in range(repeat)]
    figures["remember_cpu_ms"] = median(taken) - figures["secret_scan_cpu_ms"]
    taken = []
    for turn in range(repeat):
        fresh = folder / f"fresh{turn}"
        large.git("init", "-q", str(fresh))
        taken.append(large.python("-m", "gitmem", "-y", "init", cwd=fresh))
    figures["init_cpu_ms"] = median(taken)
    for name in ("remember", "init"):
        figures[f"{name}_ratio"] = figures[f"{name}_cpu_ms"] / figures["import_pygit2_cpu_ms"]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="What writing costs.")
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(given.memories, given.repeat, Path(folder).resolve())
    figures = {name: round(value, 2) for name, value in figures.items()}
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:26} {value:>12,}")


if __name__ == "__main__":
    main()
