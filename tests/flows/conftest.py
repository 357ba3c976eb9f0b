"""A team whose memory holds a secret: Ann taught it and pushed it, Ben has it."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machine
from purge_ground import SECRET, MakeMachine


@pytest.fixture
def machine(
    team: Path, tmp_path: Path, git, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> MakeMachine:
    """Makes a machine with a clone, on which nothing was set up yet."""

    def make(name: str) -> Machine:
        made = Machine(tmp_path / name, monkeypatch, capsys)
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
def ann(machine: MakeMachine) -> Machine:
    """A clone that taught the team a secret, among other things, and pushed it."""
    made = shared(machine, "ann")
    made.learn("ports", "Ports start at 4000.", scope="project", agent="reviewer")
    made.learn(
        "login", f"The password is {SECRET}.\n\nAsk Ben for access.", scope="project", agent="reviewer"
    )
    made.learn("hosts", "Hosts have names.", scope="project", agent="reviewer")
    made.run("save")
    made.run("sync", "-y")
    return made


@pytest.fixture
def ben(ann: Machine, machine: MakeMachine) -> Machine:
    """A clone that has all of it."""
    made = shared(machine, "ben")
    assert SECRET in made.memories("project")["reviewer/login.md"]
    return made
