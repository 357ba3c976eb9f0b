"""A team whose memory holds a secret: Ann taught it and pushed it, Ben has it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from machines import Begin, Machine, begin, end_workers_below
from purge_ground import SECRET, MakeMachine


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where everybody is; the same path for each test, so that a state can be put back."""
    path = tmp_path_factory.getbasetemp() / "everybody"
    path.mkdir()
    yield path
    # A worker that a git hook started would go on writing into the next test's folder.
    end_workers_below(path)
    aside = path.rename(tmp_path_factory.mktemp("left") / path.name)
    shutil.rmtree(aside, ignore_errors=True)


@pytest.fixture
def starting(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Begin:
    """`starting(name, make)` makes a state, or puts back what an earlier test made."""
    return lambda what, make: begin(place, what, make, monkeypatch, capsys)


@pytest.fixture
def team(empty_team: Callable[[Path], Path], place: Path) -> Path:
    """The remote that holds code and memory."""
    return empty_team(place / "team.git")


@pytest.fixture
def machine(team, place, git, monkeypatch, capsys) -> MakeMachine:
    """Makes a machine with a clone, on which nothing was set up yet."""

    def make(name: str) -> Machine:
        made = Machine(place / name, monkeypatch, capsys)
        git("clone", "-q", team.as_uri(), made.code)
        return made

    return make


def shared(machine: MakeMachine, name: str) -> Machine:
    """A machine that shares memory directly."""
    made = machine(name)
    made.run("init", "-y")
    made.run("share", "--mode", "direct", "-y")
    made.run("sync", "-y")
    return made


@pytest.fixture
def ann(machine: MakeMachine, starting: Begin) -> Machine:
    """A clone that taught the team a secret, among other things, and pushed it."""

    def make() -> list[Machine]:
        made = shared(machine, "ann")
        made.learn("ports", "Ports start at 4000.", scope="project", agent="reviewer")
        made.learn(
            "login", f"The password is {SECRET}.\n\nAsk Ben for access.", scope="project", agent="reviewer"
        )
        made.learn("hosts", "Hosts have names.", scope="project", agent="reviewer")
        made.run("save")
        made.run("sync", "-y")
        return [made]

    return starting("ann", make)[0]


@pytest.fixture
def ben(ann: Machine, machine: MakeMachine, starting: Begin) -> Machine:
    """A clone that has all of it."""
    (made,) = starting("ann-and-ben", lambda: [shared(machine, "ben")])
    assert SECRET in made.memories("project")["reviewer/login.md"]
    return made
