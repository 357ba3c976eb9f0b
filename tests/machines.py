"""Machines of one person: each its own home folder, and a clone of one code repository."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from git_config import GIT_CONFIG
from memory_files import files_at, learned, tip_of
from once import put_back
from ran import Ran

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance
from gitmem.entry import main
from gitmem.flows.context import workspace_at
from gitmem.ledger.workspace import Workspace

MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"
NOW = 1_795_000_000


Begin = Callable[[str, Callable[[], "Iterable[Machine]"]], "list[Machine]"]
"""`starting(name, make)` makes what tests begin with, or puts back what an earlier test made."""


def begin(
    place: Path,
    what: str,
    make: Callable[[], Iterable[Machine]],
    patch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
) -> list[Machine]:
    """Makes what a test begins with, or puts it back as an earlier test of this process has made it.

    Args:
        place: a folder that is the same for all of these tests, as repositories name one another by path.
    """
    homes = put_back(
        place, place.with_name(f"{place.name}-{what}"), lambda: {one.home.name: one.now for one in make()}
    )
    machines = [Machine(place / name, patch, capture) for name in homes]
    for machine in machines:
        machine.now = homes[machine.home.name]
    return machines


def end_workers_below(folder: Path) -> None:
    """Waits for gitmem's workers of repositories below a folder; kills those that take too long.

    They are known by where they are: what a hook has started is a shell until it becomes the worker. What
    this process started it ends itself.
    """
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            foreign = os.getpid() not in (process.pid, process.ppid())
            if foreign and Path(process.cwd()).is_relative_to(folder.resolve()):
                found.append(process)
    _, left = psutil.wait_procs(found, timeout=20)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left)


class Machine:
    """A home folder and a code repository in it."""

    def __init__(self, home: Path, patch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]) -> None:
        self.home, self.patch, self.capture = home, patch, capture
        self.code = home / "code"
        self.now = NOW
        home.mkdir(exist_ok=True)
        (home / ".claude").mkdir(exist_ok=True)
        if not (home / ".gitconfig").exists():
            (home / ".gitconfig").write_text(GIT_CONFIG)

    @property
    def private(self) -> Path:
        return self.home / ".local/share/gitmem/private.git"

    @property
    def workspace(self) -> Workspace:
        self.enter()
        return workspace_at(real_edges(self.code))

    @property
    def auto(self) -> Path:
        """Where the client keeps its own memory of the repository."""
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.code.resolve()))
        return self.home / ".claude/projects" / slug / "memory"

    def enter(self) -> None:
        """Makes this process see the machine."""
        self.patch.setenv("HOME", str(self.home))
        self.patch.setenv("XDG_DATA_HOME", str(self.home / ".local/share"))
        self.patch.setenv("XDG_CONFIG_HOME", str(self.home / ".config"))

    def run(self, *words: object, code: int | None = 0, cwd: Path | None = None) -> Ran:
        """Runs `gitmem WORDS` there; fails on another exit code, None for any."""
        self.enter()
        self.now += 60
        self.patch.setenv("GITMEM_NOW", str(self.now))
        self.patch.chdir(cwd or self.code)
        self.patch.setattr(sys, "argv", ["gitmem", *map(str, words)])
        self.capture.readouterr()
        got = main()
        seen = self.capture.readouterr()
        assert code in (None, got), f"exit {got}: {seen.out}{seen.err}"
        return Ran(got, seen.out, seen.err)

    def git(self, *words: object, private: bool = False, check: bool = True) -> str:
        """Runs git in the code repository, or in the private one."""
        where = ["--git-dir", str(self.private)] if private else ["-C", str(self.code)]
        environ = {**os.environ, "HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home / ".config")}
        done = subprocess.run(
            ["git", *where, *map(str, words)], capture_output=True, text=True, env=environ, check=False
        )
        assert not (check and done.returncode), done.stderr
        return done.stdout.strip()

    def learn(self, name: str, text: str = "A fact.", scope: str = "local", agent: str = "main") -> str:
        """Commits a memory to a scope, as an extraction would."""
        self.now += 60
        files = {f"{agent}/{name}.md": MEMORY.format(name, text)}
        where = self.workspace.scope(scope)
        return learned(where, files, self.now, f"Add {name}", Provenance(op="add")).commit

    def memories(self, scope: str = "local") -> dict[str, str]:
        where = self.workspace.scope(scope)
        files = files_at(where) if tip_of(where) else {}
        return {path: text for path, text in files.items() if path.endswith(".md")}

    def move(self, to: Path) -> None:
        """Moves the code repository."""
        self.code.rename(to)
        self.code = to
