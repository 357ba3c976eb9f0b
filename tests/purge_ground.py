"""Ground for tests of purging: clones of a team, and whether a text is in any object or file of one."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from machines import MEMORY, Machine
from memory_files import tip_of

SECRET = "blue-heron-4711-zanzibar"
PROJECT = "refs/heads/gitmem/project"

MakeMachine = Callable[[str], Machine]


def objects(git_dir: Path) -> dict[str, tuple[str, bytes]]:
    """Every object of a repository, reachable or not: name to kind and content."""
    done = subprocess.run(
        ["git", "--git-dir", git_dir, "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True,
        check=True,
    )
    found, data = {}, done.stdout
    while data:
        head, _, data = data.partition(b"\n")
        oid, kind, size = head.decode().split()
        found[oid] = (kind, data[: int(size)])
        data = data[int(size) + 1 :]
    return found


def holding(git_dir: Path, text: str = SECRET) -> list[str]:
    """Kinds of the objects of a repository that hold a text."""
    return sorted(kind for kind, data in objects(git_dir).values() if text.encode() in data)


def files_holding(folder: Path, text: str = SECRET) -> list[str]:
    """Files at any depth that hold a text, object stores left out."""
    return sorted(_files(folder, text))


def _files(folder: Path, text: str) -> Iterator[str]:
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "objects"]
        for name in names:
            path = Path(top, name)
            if path.is_file() and text.encode() in path.read_bytes():
                yield path.relative_to(folder).as_posix()


def is_gone(machine: Machine, text: str = SECRET) -> bool:
    """Whether a machine has a text nowhere: no object, no file of its home."""
    assert holding(machine.code / ".git", text) == []
    assert holding(machine.private, text) == []
    assert files_holding(machine.home, text) == []
    return True


def tip(machine: Machine, scope: str = "project") -> str:
    """Where a scope stands."""
    found = tip_of(machine.workspace.scope(scope))
    assert found
    return found


def messages(machine: Machine, scope: str = "project") -> list[str]:
    """Author and subject of a scope's commits, newest first."""
    where = machine.workspace.scope(scope)
    return machine.git("log", "--format=%an %at %s", where.ref, private=scope != "project").splitlines()


def follow(machine: Machine, remote: str = "") -> str:
    """Syncs, and agrees to somebody else's purge where one waits; returns what was said."""
    done = machine.run("sync", "-y", code=None)
    said = done.err
    if "git mem review accept" in done.err:
        id = re.search(r"accept (e-[0-9a-f]{8})", done.err)
        assert id and done.code == 1, done.err
        said += machine.run("review", "accept", id[1]).err
        done = machine.run("sync", "-y")
        said += done.err
    assert done.code == 0, done.err
    return said


def memory(name: str, text: str) -> str:
    """A memory's file."""
    return MEMORY.format(name, text)


def live(machine: Machine, name: str, agent: str = "reviewer") -> Path:
    """Where a memory of the project lies before an agent."""
    return machine.code / ".claude/agent-memory" / agent / f"{name}.md"
