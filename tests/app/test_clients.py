"""What every client is promised, with the real programs: one trip through a repository for each row.

Each cell of the table that the run prints at its end is an assertion here, or a reason in the row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from real_rigs import RIGS, Rig, Server

from gitmem.app.clients import CLIENTS
from gitmem.transcripts.claude_home import memory_folder

pytestmark = pytest.mark.client

ROOT = Path(__file__).parents[2]
CELLS = ("start", "prompt", "action", "learned", "saved", "resumed", "gone", "uninstalled")
PATIENCE = 60
"""Seconds after which a worker counts as stuck."""

FACT = "Rollouts are cut from the branch called heron."
ABOUT = "How rollouts are cut"
RULE = "Only run `make deploy` from the release branch."
LASTING = "Please remember that invoices are numbered from four hundred."
LATER = "Please remember that the archive is kept in the cellar vault."
WRITTEN = "The relay sleeps at night."
FOREIGN = '{\n   "hooks":   {}\n}'


@dataclass
class Trip:
    """A person with one client in one repository.

    Attributes:
        told: what the model was told at the first prompt, at the one with an action, and without gitmem.
    """

    rig: Rig
    server: Server
    home: Path
    repo: Path

    def gitmem(self, *words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "gitmem", *words],
            cwd=self.repo,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return done.stdout

    def ask(self, prompt: str, *commands: str, resume: bool = False) -> str:
        self.rig.commands(self.server, commands)
        words = self.rig.resume(prompt) if resume else self.rig.start(prompt)
        told = self.rig.run(self.home, self.repo, self.server, words)
        self.settle()
        return told

    def settle(self) -> None:
        """Waits until no job is left and no worker of this repository runs."""
        give_up, state = time.monotonic() + PATIENCE, self.repo / ".git/gitmem"
        while True:
            spool = state / "spool"
            left = [path.name for path in spool.iterdir() if path.is_file()] if spool.is_dir() else []
            lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
            left += [line for line in lines if "worker" in line and str(state.parent) in line]
            if not left:
                return
            assert time.monotonic() < give_up, f"the worker has not ended: {left}"
            time.sleep(0.05)


@pytest.fixture(params=RIGS, ids=str)
def trip(request, home: Path, repo: Path, monkeypatch) -> Iterator[Trip]:
    rig = RIGS[request.param]
    if rig.program() is None:
        pytest.skip(f"no {rig.name} on PATH or in GITMEM_TEST_{rig.name.upper()}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    with rig.server() as server:
        yield Trip(rig, server, home, repo)


def test_a_client_keeps_what_its_row_promises(trip: Trip, record_property) -> None:
    row, path = CLIENTS[trip.rig.name], trip.repo / CLIENTS[trip.rig.name].file
    cells: dict[str, bool] = {}
    if row.form != "plugin":
        path.parent.mkdir()
        path.write_text(FOREIGN)
    trip.gitmem("init", "-y", "--client", row.name)
    trip.gitmem("remember", FACT, "--name", "rollouts", "--description", ABOUT, "--scope", "user")
    trip.gitmem("remember", RULE, "--name", "deploys", "--scope", "local")

    told = trip.ask("How are rollouts cut?")
    cells["start"] = "indexes of recorded memories" in told and ABOUT in told
    cells["prompt"] = "called heron" in told

    (trip.repo / "Makefile").write_text("deploy:\n\t@echo deployed\n")
    folder = memory_folder(trip.home / ".claude", trip.repo.resolve())
    folder.mkdir(parents=True, exist_ok=True)
    # By a script of the repository: most clients ask before a command of their own writes elsewhere.
    (trip.repo / "note.sh").write_text(f"echo '{WRITTEN}' > {folder}/relay.md\n")
    told = trip.ask(LASTING, "make deploy", "sh note.sh")
    cells["action"] = RULE in told or RULE in told.replace('\\"', '"')
    cells["saved"] = (folder / "relay.md").is_file() and WRITTEN in trip.gitmem("show", "relay")
    cells["learned"] = "four hundred" in trip.gitmem("list", "--json")

    told = trip.ask(LATER, resume=True)
    cells["resumed"] = "How are rollouts cut" in told or "make deploy" in told
    cells["resumed"] &= "cellar vault" in trip.gitmem("list", "--json")

    here = path.read_bytes()
    starts = str(trip.home / ".local/share/gitmem/bin/gitmem")
    path.write_text(here.decode().replace(starts, "/nowhere/gitmem"))
    assert path.read_bytes() != here
    told = trip.ask("What stands in the file a?", "cat a")
    cells["gone"] = "cat a" in told and "indexes of recorded memories" not in told
    path.write_bytes(here)

    trip.gitmem("uninstall", "-y")
    left = path.read_text() if path.exists() else None
    cells["uninstalled"] = left == (None if row.form == "plugin" else FOREIGN)

    missing = [cell for cell in CELLS if not cells[cell] and cell not in row.lacks]
    record_property("client", json.dumps([row.title, {c: cells[c] or row.lacks.get(c, "") for c in CELLS}]))
    assert not missing
    assert not [cell for cell in row.lacks if cells.get(cell)], "a row says that it lacks what it has"
