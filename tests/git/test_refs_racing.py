"""Processes that move refs at the same time: one creates each, and no update is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature

ANN = Signature("Ann", "ann@example.com", 1763632800, 60)

RACE = """\
import os, pathlib, sys
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import RefMoved, Signature
path, prefer, me, creations, updates = *sys.argv[1:4], *map(int, sys.argv[4:6])
store = open_repository(pathlib.Path(path), GitCommand(dict(os.environ)), prefer)
ann = Signature("Ann", "ann@example.com", 1)
tree = store.add_tree({})
print("ready", flush=True)
sys.stdin.readline()
won = 0
for number in range(creations):
    new = store.add_commit(tree, (), ann, ann, f"{me} {number}")
    try:
        move_ref(store, f"refs/gitmem/race/{number}", new, None, me)
        won += 1
    except RefMoved:
        pass
for number in range(updates):
    while True:
        tip = store.ref("refs/gitmem/raced")
        new = store.add_commit(tree, (tip,), ann, ann, f"{me} {number}")
        try:
            move_ref(store, "refs/gitmem/raced", new, tip, me)
            break
        except RefMoved:
            continue
print(won, flush=True)
store.close()
"""


def race(path: Path, prefers: list[str], creations: int, updates: int) -> list[int]:
    """Runs one process per entry of `prefers`, all at once; returns how many creations each one won."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", RACE, str(path), prefer, str(number), str(creations), str(updates)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, prefer in enumerate(prefers)
    ]
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("go\n")
        run.stdin.flush()
    return [int(run.communicate(timeout=600)[0]) for run in runs]


@pytest.mark.parametrize(
    ("prefers", "creations", "updates"),
    [
        pytest.param(["auto", "git"] * 2, 30, 15, id="mixed"),
        *(
            pytest.param(prefers, *rounds, id=f"{name}-{word}", marks=pytest.mark.long)
            for name, prefers in (
                ("pygit2", ["auto"] * 4),
                ("git", ["git"] * 4),
                ("mixed", ["auto", "git"] * 2),
            )
            for word, rounds in (("create", (200, 0)), ("update", (0, 200)))
        ),
    ],
)
def test_of_racing_creators_one_wins_and_no_update_is_lost(
    tmp_path: Path, prefers: list[str], creations: int, updates: int
) -> None:
    command = GitCommand(dict(os.environ))
    path = tmp_path / "race"
    command.run(["init", "-q", str(path)])
    store = open_repository(path, command)
    root = store.add_commit(store.add_tree({}), (), ANN, ANN, "root")
    move_ref(store, "refs/gitmem/raced", root, None, "root")
    won = race(path, prefers, creations, updates)

    assert len(store.refs("refs/gitmem/race/")) == creations
    assert sum(won) == creations
    assert all(len(store.reflog(f"refs/gitmem/race/{n}")) == 1 for n in range(creations))

    tip = store.ref("refs/gitmem/raced")
    assert tip
    subjects = {commit.subject for commit in store.history(tip)}
    assert subjects == {"root", *(f"{me} {n}" for me in range(len(prefers)) for n in range(updates))}
    moves = store.reflog("refs/gitmem/raced")
    assert len(moves) == len(prefers) * updates + 1
    assert all(later.old == earlier.new for later, earlier in pairwise(moves))
    store.close()
