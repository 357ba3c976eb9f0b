"""A repository with memory, and the command line run in this process against it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree

import pytest
from copies import copy_tree
from memory_files import ADDED, files_at, learned, tip_of
from ran import Ran
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance
from gitmem.entry import main
from gitmem.flows.context import Edges, workspace_at
from gitmem.ledger.workspace import Scope, ScopeName, Workspace

START = 1_800_000_000
HOUR = 3600
DAY = 86_400


def memory(name: str, body: str = "", description: str = "", type: str = "project") -> str:
    """A memory file."""
    about = description or f"About {name}"
    text = body or f"The {name} fact."
    return f"---\nname: {name}\ndescription: {about}\ntype: {type}\n---\n\n{text}\n"


class Ground:
    """The repository, a clock that the commands see, and the commands."""

    def __init__(
        self,
        repo: Path,
        patch: pytest.MonkeyPatch,
        capture: pytest.CaptureFixture[str],
        *,
        is_new: bool = True,
    ) -> None:
        self.repo, self.patch, self.capture = repo, patch, capture
        patch.chdir(repo)
        self.now = START
        self._looked: Workspace | None = None
        self.tick(0)
        if is_new:
            begun(self.edges)

    @property
    def edges(self) -> Edges:
        return real_edges(self.repo)

    @property
    def workspace(self) -> Workspace:
        return workspace_at(self.edges)

    def tick(self, seconds: int = HOUR) -> int:
        self.now += seconds
        self._looked = None
        self.patch.setenv("GITMEM_NOW", str(self.now))
        return self.now

    def run(self, *words: object, code: int = 0) -> Ran:
        """Runs `gitmem WORDS`, an hour after what was before; fails on another exit code."""
        self.tick()
        self.capture.readouterr()
        self.patch.setattr(sys, "argv", ["gitmem", *map(str, words)])
        got = main()
        seen = self.capture.readouterr()
        assert got == code, f"exit {got}: {seen.out}{seen.err}"
        return Ran(got, seen.out, seen.err)

    def folder(self, scope: str = "project", agent: str = "reviewer") -> Path:
        name = {"project": "agent-memory", "local": "agent-memory-local"}[scope]
        path = self.repo / ".claude" / name / agent
        path.mkdir(parents=True, exist_ok=True)
        return path

    def learn(
        self,
        files: Mapping[str, str | None],
        scope: str = "project",
        subject: str = "Learn",
        told: Provenance = ADDED,
        who: str = "Ann",
    ) -> str:
        """Commits files (path from the root of the tree) to a memory ref, as a sync or extraction would."""
        self.tick()
        return learned(self.workspace.scope(scope), files, self.now, subject, told, who).commit

    def tree(self, scope: ScopeName = "project") -> dict[str, str]:
        return files_at(self._scope(scope))

    def tip(self, scope: ScopeName = "project") -> str:
        return tip_of(self._scope(scope))

    def _scope(self, name: ScopeName) -> Scope:
        """To look at; which ref it has is asked anew after each command."""
        self._looked = self._looked or self.workspace
        return self._looked.scope(name)


@pytest.fixture
def ground(repo, home, tmp_path_factory, monkeypatch, capsys) -> Ground:
    """A repository in which gitmem is set up and nothing is stored.

    It is made once, as nothing in it names where it is.
    """
    made = tmp_path_factory.getbasetemp() / "ground"
    places = {made / "repo": repo / ".git", made / "home": home / ".local/share/gitmem"}
    if made.exists():
        for kept, place in places.items():
            rmtree(place, ignore_errors=True)
            copy_tree(kept, place)
        return Ground(repo, monkeypatch, capsys, is_new=False)
    ground = Ground(repo, monkeypatch, capsys)
    for kept, place in places.items():
        copy_tree(place, kept)
    return ground
