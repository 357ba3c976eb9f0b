"""What commands say and store hangs on no order of sets, which is another one in each process."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from shutil import rmtree

from cli_ground import Ground, memory
from copies import copy_tree

COMMANDS = (
    "recall --json which port does the search service listen on",
    "list --json",
    "check --json --ref refs/gitmem/project",
    "doctor -n --json",
    "dream --force --json --scope project --engine offline",
    "review --json",
    "review show --json d-",
    "blame --json project/main/search-0",
    "merge project/main/search-0 project/main/search-1",
    "restore --all --at {} --scope project",
    "review accept d-",
    "log --json",
)
SCRIPT = """
import os, sys
from gitmem.entry import main
for number, words in enumerate(sys.argv[1:]):
    os.environ["GITMEM_NOW"] = str(1_900_000_000 + 60 * number)
    sys.argv = ["gitmem", *words.split()]
    print("$", words, flush=True)
    print("exit", main(), flush=True)
"""


def test_one_order_of_sets_says_and_stores_what_another_does(ground: Ground, tmp_path: Path) -> None:
    for agent in ("main", "reviewer", "tester"):
        for n, name in product((0, 1), ("search", "login", "queue")):
            text = f"The {name} service listens on port {8000 + n} of its host, see [[gone-{n}]]."
            ground.learn(
                {f"{agent}/{name}-{n}.md": memory(f"{name}-{n}", text, f"Port of {name}, note {n}")}
            )
        twice = "Keep pull requests small: one concern each."
        ground.learn({f"{agent}/small.md": memory("small", f"{twice}\n\nAt most 400 lines.", twice)})
        ground.learn({f"{agent}/short.md": memory("short", twice, twice)})
    then = ground.tip()
    for agent in ("tester", "main", "reviewer"):
        ground.run("forget", "queue-0", "--scope", "project", "--agent", agent)
    told = {order: _said(ground, tmp_path / "as-it-was", order, then) for order in ("1", "2")}
    assert told["1"] == told["2"]
    assert told["1"].count("stays forgotten") == 3 and "exit 2" not in told["1"]


def _said(ground: Ground, kept: Path, order: str, then: str) -> str:
    for place in (ground.repo, Path(os.environ["HOME"])):
        if (kept / place.name).exists():
            rmtree(place)
            copy_tree(kept / place.name, place)
        else:
            copy_tree(place, kept / place.name)
    words = [command.format(then) for command in COMMANDS]
    environ = {**os.environ, "PYTHONHASHSEED": order, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=ground.repo, env=environ, check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return done.stdout + ground.tip()
