"""How much of gitmem a verb passes through: files whose functions run, and CPU ms beside another tree's.

usage: python tests/bench/files_passed.py [--against TREE] [--memories N] [--repeat N] [--names] [--json]

`files`: files of gitmem of which a function is called, in the verb's own process; `loaded` counts what is
only imported, too; `--names` says which, by room. Some suggestions of a recorded session wait for a person.
`cpu_ms`: user and system time of the verb with its git processes, the median of some turns; with
`--against`, of the gitmem in another checkout as well, the two in turn on grounds of their own, and `ratio`
to it. `to_list` is the ratio to `list` in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tracing
from bulk_cost import ROOT, Ground

RECORDED = ROOT / "tests/fixtures/sessions/plain.jsonl"

VERBS: dict[str, Sequence[str]] = {
    "list": ("list",),
    "status": ("status",),
    "review": ("review",),
    "save": ("save",),
    "remember": ("remember", "We deploy on Tuesdays, turn {}."),
    "undo": ("undo",),
    "sync": ("-y", "sync"),
}
MOST = {"remember": 35, "save": 40, "sync": 60, "review": 45}
"""Files that a verb should pass through at most."""


def ground(home: Path, root: Path, count: int) -> Ground:
    """A home with some memories, shared with a remote."""
    made = Ground.make(home, root)
    remote = home / "remote.git"
    made.git("init", "-q", "--bare", str(remote))
    made.git("remote", "add", "origin", str(remote))
    made.git("push", "-q", "origin", "HEAD:refs/heads/main")
    made.write(made.folder, range(count))
    made.gitmem("-y", "init")
    made.gitmem("-y", "share")
    made.gitmem("-y", "sync")
    made.git("config", "--global", "gitmem.engine", "offline")
    made.gitmem("extract", "--session", str(RECORDED))
    return made


def words(verb: str, turn: int) -> list[str]:
    """A verb with what it is given, another text each turn."""
    return [word.format(turn) for word in VERBS[verb]]


def traced(made: Ground, verb: str) -> tuple[list[str], list[str]]:
    """Files of gitmem that a verb passes through, and that it loads."""
    report = made.home / "report.json"
    command = [sys.executable, "-P", tracing.__file__, str(report), *words(verb, 10**6)]
    subprocess.run(command, cwd=made.repo, env=made.environ, check=True, capture_output=True)
    found = json.loads(report.read_text())
    return found["ran"], found["loaded"]


def measure(
    roots: Sequence[Path], count: int, repeat: int, folder: Path, *, names: bool = False
) -> dict[str, float]:
    """All figures; those of the other tree under `before_`."""
    grounds = [ground(folder / f"home{number}", root, count) for number, root in enumerate(roots)]
    figures: dict[str, float] = {}
    taken: dict[tuple[str, int], list[float]] = {}
    for turn in range(repeat):
        for verb in VERBS:
            for number, made in enumerate(grounds):
                taken.setdefault((verb, number), []).append(1000 * made.gitmem(*words(verb, turn)))
    for verb in VERBS:
        for number, name in list(enumerate(("", "before_")))[: len(grounds)]:
            figures[f"{verb}_{name}cpu_ms"] = statistics.median(taken[verb, number])
            files, loaded = traced(grounds[number], verb)
            figures[f"{verb}_{name}files"], figures[f"{verb}_{name}loaded"] = len(files), len(loaded)
            if names and not name:
                print(verb)
                tracing.print_rooms(files, names=True)
        figures[f"{verb}_to_list"] = figures[f"{verb}_cpu_ms"] / figures["list_cpu_ms"]
        if len(grounds) > 1:
            figures[f"{verb}_ratio"] = figures[f"{verb}_cpu_ms"] / figures[f"{verb}_before_cpu_ms"]
    return {name: round(value, 2) for name, value in figures.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="How much of gitmem a verb passes through.")
    parser.add_argument("--against", type=Path, help="another checkout, measured in turn")
    parser.add_argument("--memories", type=int, default=50)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    roots = [ROOT, *([given.against.resolve()] if given.against else [])]
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        figures = measure(roots, given.memories, given.repeat, place, names=given.names)
    if given.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        verb, _, what = name.partition("_")
        most = f"  (at most {MOST[verb]})" if what == "files" and verb in MOST else ""
        print(f"{name:26} {value:>10,}{most}")


if __name__ == "__main__":
    main()
