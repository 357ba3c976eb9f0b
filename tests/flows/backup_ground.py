"""Ground for tests of backups: two machines of one person, and the repository that keeps what both know."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Begin, Machine
from purge_ground import MakeMachine


@pytest.fixture
def safe(place: Path, git) -> Path:
    """The person's own, empty repository."""
    path = place / "safe.git"
    git("init", "-q", "--bare", path)
    return path


@pytest.fixture
def fresh(machine: MakeMachine, starting: Begin, safe: Path) -> Machine:
    """A machine with memory, backed up nowhere."""

    def make() -> list[Machine]:
        made = machine("desk")
        made.run("init", "-y")
        made.learn("ports")
        return [made]

    return starting("fresh", make)[0]


@pytest.fixture
def desk(machine: MakeMachine, starting: Begin, safe: Path) -> Machine:
    """A machine with memory, backed up."""

    def make() -> list[Machine]:
        made = machine("desk")
        made.run("init", "-y")
        made.learn("ports", "Ports start at 4000.")
        made.learn("tea", "I drink tea.", scope="user", agent="helper")
        made.run("backup", safe, "-y")
        return [made]

    return starting("desk", make)[0]


@pytest.fixture
def laptop(machine: MakeMachine, starting: Begin, desk: Machine, safe: Path) -> Machine:
    """Another machine, started from the backup."""

    def make() -> list[Machine]:
        made = machine("laptop")
        made.run("init", "-y", "--backup", safe)
        return [made]

    return starting("desk-and-laptop", make)[0]


def refs(git, path: Path) -> dict[str, str]:
    rows = git("--git-dir", path, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(row.split() for row in rows)
