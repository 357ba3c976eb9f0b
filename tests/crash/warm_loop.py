"""Kills a process that writes memory after memory, again and again, at moments that a seed decides.

python warm_loop.py REPOSITORY BACKEND ROUNDS SEED

Prints one JSON object: the memories whose commit was acknowledged, and what a process said that failed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

# Loaded once, but not pygit2: its child processes would give their temporary files the same names.
import cffi  # noqa: F401
import filelock  # noqa: F401
import psutil  # noqa: F401

from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import Signature
from gitmem.ledger.land import Ref, Write, land

REF = "refs/gitmem/project"
ANN = Signature("Ann", "ann@example.com", 1_795_000_000)


def loop(folder: Path, backend: str, turn: int, says: int) -> None:
    """Commits until it is killed, and says each memory once its commit is made."""
    store = open_repository(folder, GitCommand(os.environ), "git" if backend == "git" else "auto")
    number = 0
    while True:
        name = f"r{turn}-m{number}"
        write = Write({f"main/{name}.md": f"{name}\n".encode()}, f"Learn {name}", Provenance(op="add"))
        land(Ref(store, REF), lambda _, write=write: write, ANN)
        os.write(says, f"{name}\n".encode())
        number += 1


def kill_one(folder: Path, backend: str, turn: int, rng: random.Random) -> tuple[list[str], str]:
    """Starts the loop, kills it some commits and a moment later; what it said, and what went wrong."""
    hears, says = os.pipe()
    child = os.fork()
    if not child:
        os.close(hears)
        try:
            loop(folder, backend, turn, says)
        except BaseException:
            os.write(says, f"!{traceback.format_exc()}".encode())
        os._exit(1)
    os.close(says)
    with os.fdopen(hears) as lines:
        said = [lines.readline()]
        for _ in range(rng.randrange(2)):
            said.append(lines.readline())
        # Within the time of about one commit.
        until = time.perf_counter() + rng.uniform(0, 0.03 if backend == "git" else 0.006)
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        said += lines.readlines()
    text = "".join(said)
    names, _, wrong = text.partition("!")
    return [name for name in names.splitlines(keepends=True) if name.endswith("\n")], wrong


def main() -> None:
    folder, backend, rounds, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    rng = random.Random(seed)
    acknowledged: list[str] = []
    for turn in range(rounds):
        names, wrong = kill_one(folder, backend, turn, rng)
        acknowledged += [name.strip() for name in names]
        if wrong or not names:
            print(json.dumps({"acknowledged": acknowledged, "wrong": f"round {turn}: {wrong}"}))
            return
    print(json.dumps({"acknowledged": acknowledged, "wrong": ""}))


if __name__ == "__main__":
    main()
