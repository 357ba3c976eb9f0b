"""What memories cost that arrive at once: CPU seconds of N of them, and of ten times as many.

usage: python tests/bench/bulk_cost.py [--memories N] [--root TREE] [--only NAME ...] [--json]

Linear work gives a ratio of 10 at most, less what a command costs anyhow; 100 is quadratic. All are CPU
seconds of whole commands, user and system, with their git processes:

- `adopt`: `init` where the client's folder holds as many files, written on one day;
- `adopt_days`: the same, written over thirty days;
- `drop`: `save` after as many files were put into a folder that gitmem knows;
- `merge`: `sync` of two clones that learned half of them each, in one folder with one index;
- `first_save`: `save` with nothing changed, after somebody committed them with plain git;
- `save`: the next one.

`--root` measures the gitmem of another tree, for a comparison in the same run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
DAY = 86_400
DAYS = 30
HOT = 199
REFS = ("refs/heads/gitmem/project", "refs/gitmem/project")
"""Where the project's memory is where it is shared, and where it is not."""


def text(number: int) -> str:
    """One memory, unlike any other."""
    told = f"Service {number} keeps its queue in table q{number % 97} and reads it every {number % 60} s."
    head = f"---\nname: service-{number}\ndescription: {told}\ntype: project\n---\n\n"
    return f"{head}{told}\n\n**Why:** seen on host {number}.\n\n**How to apply:** mind queue {number}.\n"


def entry(number: int) -> str:
    """Its line in an index."""
    return f"- [service-{number}](service-{number}.md) — queue in table q{number % 97}\n"


@dataclass(frozen=True)
class Ground:
    """A home with one repository in it, and the gitmem that is measured."""

    home: Path
    root: Path

    @classmethod
    def make(cls, home: Path, root: Path) -> Ground:
        ground = cls(home, root)
        (home / ".claude").mkdir(parents=True)
        ground.git("config", "--global", "user.name", "Ann", cwd=home)
        ground.git("config", "--global", "user.email", "ann@example.com", cwd=home)
        ground.git("init", "-q", str(ground.repo), cwd=home)
        ground.git("commit", "-q", "--allow-empty", "-m", "Begin")
        return ground

    @property
    def repo(self) -> Path:
        return self.home / "repo"

    @property
    def folder(self) -> Path:
        """Where the client keeps this repository's memory."""
        return self.home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.repo)) / "memory"

    @property
    def environ(self) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("GIT_", "XDG_", "PYTHON"))
        }
        return {**kept, "HOME": str(self.home), "PYTHONPATH": str(self.root)}

    def git(self, *words: str, cwd: Path | None = None, input: bytes | None = None) -> None:
        subprocess.run(["git", *words], cwd=cwd or self.repo, env=self.environ, check=True, input=input)

    def gitmem(self, *words: str, cwd: Path | None = None) -> float:
        """CPU seconds of one command with its children."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "gitmem", *words]
        ran = subprocess.run(
            command, cwd=cwd or self.repo, env=self.environ, capture_output=True, text=True
        )
        if ran.returncode:
            raise SystemExit(f"{words}: {ran.stdout}{ran.stderr}")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def write(self, folder: Path, numbers: Iterable[int], days: int = 1) -> None:
        """Files as a client writes them, an index with them."""
        folder.mkdir(parents=True, exist_ok=True)
        now, lines = time.time(), ""
        for number in numbers:
            file = folder / f"service-{number}.md"
            file.write_text(text(number))
            written = now - DAY * (1 + number % days)
            os.utime(file, (written, written))
            lines += entry(number)
        with (folder / "MEMORY.md").open("a") as index:
            index.write(lines)


def adopt(ground: Ground, count: int, days: int = 1) -> float:
    ground.write(ground.folder, range(count), days)
    return ground.gitmem("-y", "init")


def adopt_days(ground: Ground, count: int) -> float:
    return adopt(ground, count, DAYS)


def drop(ground: Ground, count: int) -> float:
    ground.write(ground.folder, range(3))
    ground.gitmem("-y", "init")
    ground.write(ground.folder, range(3, count + 3))
    return ground.gitmem("save")


def merge(ground: Ground, count: int) -> float:
    remote, other = ground.home / "remote.git", ground.home / "other"
    ground.git("init", "-q", "--bare", str(remote))
    ground.git("remote", "add", "origin", str(remote))
    ground.git("push", "-q", "origin", "HEAD:refs/heads/main")
    ground.gitmem("-y", "init")
    ground.gitmem("-y", "share")
    ground.gitmem("-y", "sync")
    ground.git("clone", "-q", "-b", "main", str(remote), str(other), cwd=ground.home)
    ground.gitmem("-y", "init", cwd=other)
    ground.gitmem("-y", "sync", cwd=other)
    commit(ground, ground.repo, range(count // 2))
    commit(ground, other, range(count // 2, count))
    ground.gitmem("save")
    ground.gitmem("-y", "sync", cwd=other)
    return ground.gitmem("-y", "sync")


def first_save(ground: Ground, count: int) -> float:
    ground.gitmem("-y", "init")
    ground.gitmem("remember", "--scope", "project", "We deploy on Tuesdays.")
    commit(ground, ground.repo, range(count))
    return ground.gitmem("save")


def save(ground: Ground, count: int) -> float:
    first_save(ground, count)
    return ground.gitmem("save")


def commit(ground: Ground, repo: Path, numbers: range) -> None:
    """Memories by plain git on the memory ref: the newest hot, the others where the archive has them."""
    known = [f"{name}^0" for name in REFS if (repo / ".git" / name).is_file()]
    name = known[0].removesuffix("^0") if known else REFS[1]
    lines, files = "", []
    for number in numbers:
        file = f"service-{number}.md"
        hot = number >= numbers.stop - HOT
        fan = hashlib.sha256(file.encode()).hexdigest()[:2]
        files.append((f"main/{file}" if hot else f"main/archive/{fan}/{file}", text(number)))
        lines += entry(number) if hot else ""
    files.append(("main/MEMORY.md", lines))
    told = [f"commit {name}\ncommitter Ann <ann@example.com> {int(time.time())} +0000\ndata 6\nImport\n"]
    told += [f"from {one}\n" for one in known]
    told += [f"M 100644 inline {path}\ndata {len(body.encode())}\n{body}\n" for path, body in files]
    ground.git("fast-import", "--quiet", cwd=repo, input="".join(told).encode())


CASES: dict[str, Callable[[Ground, int], float]] = {
    one.__name__: one for one in (adopt, adopt_days, drop, merge, first_save, save)
}


def measure(cases: Iterable[str], count: int, root: Path) -> dict[str, float]:
    """Figures of some cases, for so many memories, ten times as many, and the ratio."""
    figures: dict[str, float] = {}
    for name in cases:
        for number, size in (("", count), ("_of_10", 10 * count)):
            with tempfile.TemporaryDirectory() as folder:
                taken = CASES[name](Ground.make(Path(folder).resolve(), root), size)
            figures[f"{name}{number}_cpu_s"] = taken
        figures[f"{name}_ratio"] = figures[f"{name}_of_10_cpu_s"] / figures[f"{name}_cpu_s"]
    return {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="What memories cost that arrive at once.")
    parser.add_argument("--memories", type=int, default=1000)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    figures = measure(given.only, given.memories, given.root)
    if given.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:26} {value:>10,}")


if __name__ == "__main__":
    main()
