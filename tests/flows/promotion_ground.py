"""Ann's machine with one memory, and what the worker does about rules."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import Begin, Machine

from gitmem.app.context import real_edges
from gitmem.flows.last_recalls import record_of
from gitmem.flows.promote import follow_rules
from gitmem.ledger.code_rewrites import keep_rewrites

FACT = "Use the real database in tests, never mocks.\n\n**Why:** Mocks hid a broken migration."
HOT, POINTER = "main/no-mocks.md", "**Rule in:** [CLAUDE.md](CLAUDE.md)"
QUESTIONS = [f"database mocks {word}" for word in ("unit", "suite", "fixture", "migration", "schema")]

MakeAlone = Callable[[], Machine]


@pytest.fixture
def alone(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> MakeAlone:
    monkeypatch.delenv("GITMEM_DISABLE", raising=False)  # its repository has no hooks of git, see below

    def make() -> Machine:
        made = Machine(place / "ann", monkeypatch, capsys)
        made.code.mkdir()
        made.git("init", "-q", "-b", "main")
        (made.code / "README.md").write_text("# Code\n")
        made.git("add", ".")
        made.git("commit", "-qm", "first")
        made.run("init", "-y")
        without_hooks(made)
        words = ("--name", "no-mocks", "--why", "Mocks hid a broken migration.")
        made.run("remember", FACT.split("\n")[0], *words)
        return made

    return make


@pytest.fixture
def machine(alone: MakeAlone, starting: Begin) -> Machine:
    return starting("no-mocks", lambda: [alone()])[0]


@pytest.fixture
def ruled(alone: MakeAlone, starting: Begin) -> Machine:
    """The same after its memory was promoted and the commit that proposes was made."""

    def make() -> list[Machine]:
        made = alone()
        commit_proposed(made, made.run("promote", "no-mocks", "-y").err)
        work(made)
        return [made]

    return starting("ruled", make)[0]


def without_hooks(machine: Machine) -> None:
    """No worker runs beside the test, which does its work itself."""
    machine.git("config", "core.hooksPath", "/dev/null")


def work(
    machine: Machine, at: Path | None = None, rewritten: tuple[tuple[str, str], ...] = ()
) -> tuple[str, ...]:
    """What of the worker's job is about rules."""
    machine.enter()
    edges = real_edges(at or machine.code)
    keep_rewrites(machine.workspace.state, rewritten)
    return follow_rules(edges, [edges.cwd])


def commit_proposed(machine: Machine, said: str, cwd: Path | None = None) -> None:
    """Runs the printed command, the editor leaving the message as it is."""
    line = next(line for line in said.splitlines() if line.startswith("commit it: "))
    environ = {**os.environ, "GIT_EDITOR": "true"}
    for command in line.removeprefix("commit it: ").split(" && "):
        done = subprocess.run(
            shlex.split(command),
            cwd=cwd or machine.code,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def archived(machine: Machine, scope: str = "local") -> dict[str, str]:
    return {path: text for path, text in machine.memories(scope).items() if "/archive/" in path}


def recalled(machine: Machine, *questions: str, place: str = HOT) -> None:
    path = record_of(machine.workspace.scope("local"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"query": one, "shown": [place]}) + "\n" for one in questions))
