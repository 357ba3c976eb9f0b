"""Moving refs by compare and swap, one or several at once; memory's own are moved by `ledger/land.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.command import GitResult, failure
from gitmem.git.locks import Turn, ref_turn
from gitmem.git.ref_files import check_ref_name
from gitmem.git.repository import RefMoved, Repository

ONE_WAITS = 500
MANY_WAIT = 2000
"""Milliseconds that git waits for a ref that another process holds (its own default is 100)."""

LOST = re.compile(r"but expected|reference already exists")
"""How git says that a ref of several is elsewhere."""


def move_ref(repo: Repository, name: str, new: str | None, old: str | None, message: str) -> None:
    """Moves a ref if it still is where it was read.

    Args:
        name: full ref name.
        new: where to; None deletes the ref.
        old: where it was read; None means that it must not exist yet.
        message: for the reflog, which is kept for every memory ref, also in a bare repository.

    Raises:
        RefMoved: it is elsewhere now.
        MissingObject: there is no such commit.
        RepositoryError: it is locked, or may not be written.
    """
    _check(repo, name, new, old)
    if new == old:
        if repo.ref(name) != old:
            raise _moved(name)
        return
    with ref_turn(repo.git_dir, _locked_for(repo, name), new) as turn:
        # A lock that is gone by the time git has failed was a writer's who left the ref where it was.
        for _ in range(3):
            done = _run(repo, {name: (old, new)}, message, ONE_WAITS, turn)
            if done.returncode == 0:
                return
            if repo.ref(name) != old:
                raise _moved(name)
            held = re.search(r"Unable to create '([^']+\.lock)': File exists", done.stderr)
            if not held or Path(held[1]).exists():
                break
    raise _failed(repo, done)


def move_refs(repo: Repository, moves: Mapping[str, tuple[str | None, str | None]], message: str) -> None:
    """Moves refs in one transaction: all of them, or none.

    Args:
        moves: full name to (where it was read, where to); None for not being there.
        message: for the reflogs.

    Raises:
        RefMoved: one is elsewhere.
        RepositoryError: one cannot be written.
    """
    wanted = {name: move for name, move in sorted(moves.items()) if move[0] != move[1]}
    if not wanted:
        return
    for name, (old, new) in wanted.items():
        _check(repo, name, new, old)
    with ref_turn(repo.git_dir, (*wanted, "HEAD"), "*") as turn:
        done = _run(repo, wanted, message, MANY_WAIT, turn)
    if done.returncode and LOST.search(done.stderr):
        raise RefMoved("A memory ref was moved by someone else meanwhile", "Run it again.")
    if done.returncode:
        raise _failed(repo, done)


def try_move_ref(repo: Repository, name: str, new: str | None, old: str | None, message: str) -> bool:
    """Moves a ref as `move_ref` does; False where somebody else moved it meanwhile."""
    try:
        move_ref(repo, name, new, old, message)
    except RefMoved:
        return False
    return True


def reflog_message(message: str) -> str:
    """Fits a message on the one line that a reflog has for it."""
    return " ".join("".join(c if c.isprintable() else " " for c in message).split()) or "gitmem"


def _check(repo: Repository, name: str, new: str | None, old: str | None) -> None:
    check_ref_name(name)
    for oid in (new, old):
        if oid is not None:
            objects.check_oid(oid, repo.hex_length)


def _run(
    repo: Repository,
    moves: Mapping[str, tuple[str | None, str | None]],
    message: str,
    waits: int,
    turn: Turn,
) -> GitResult:
    orders = []
    for name, (old, new) in moves.items():
        if new is None:
            orders.append(f"delete {name}\0{old}\0")
        elif old is None:
            orders.append(f"create {name}\0{new}\0")
        else:
            orders.append(f"update {name}\0{new}\0{old}\0")
    words = ["-c", f"core.filesRefLockTimeout={waits}", "update-ref", "--no-deref"]
    words += ["--create-reflog", "-m", reflog_message(message), "-z", "--stdin"]
    given = "".join(orders).encode("utf-8", "surrogateescape")
    return turn.run(repo.git, words, git_dir=repo.git_dir, input=given)


def _locked_for(repo: Repository, name: str) -> tuple[str, ...]:
    """The ref, and HEAD where it names that: git locks it along."""
    with suppress(OSError):
        if (repo.git_dir / "HEAD").read_bytes() == f"ref: {name}\n".encode("utf-8", "surrogateescape"):
            return (name, "HEAD")
    return (name,)


def _failed(repo: Repository, done: GitResult) -> RepositoryError:
    if "nonexistent object" in done.stderr or "non-commit object" in done.stderr:
        return MissingObject(failure(done).message, objects.MISSING_HINT)
    return failure(done, repo.git_dir)


def _moved(name: str) -> RefMoved:
    return RefMoved(f"{name} was moved by someone else meanwhile", "Run it again.")
