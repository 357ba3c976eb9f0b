"""Ground for snapshots: a team's bare repository, and people with a clone each and gitmem on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from memory_files import files_of, tip_of
from once import Once
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.snapshots import make_snapshots, snapshot_standings
from gitmem.git.repository import Signature
from gitmem.ledger.land import Write, land
from gitmem.ledger.snapshot_intake import Made
from gitmem.ledger.workspace import Workspace

ANN = Signature("Ann", "ann@example.com", 1_790_000_000)
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: {1}\n---\n\n{2}\n"
USUAL = ".claude/agent-memory-snapshots"
NOW = 1_795_000_000


class Person:
    """One person's clone with gitmem on, at a moment that moves on by a minute with each use."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch, clock: int = NOW) -> None:
        self.path = path
        monkeypatch.setenv("GITMEM_NOW", str(NOW))
        self.base: Edges = real_edges(path)
        self.clock = clock
        self.workspace: Workspace = begun(self.base)

    @property
    def edges(self) -> Edges:
        self.clock += 60
        return replace(self.base, now=float(self.clock))

    def learn(self, name: str, text: str | None, type: str = "project", agent: str = "main") -> None:
        self.write(f"{name}.md", MEMORY.format(name, type, text) if text is not None else None, agent)

    def write(self, file: str, text: str | None, agent: str = "main") -> None:
        scope = self.workspace.scope("project")
        edits = {f"{agent}/{file}": text.encode() if text is not None else None}
        land(scope, lambda _: Write(edits, f"Learn {file}", Provenance(op="add")), ANN)

    def memories(self, agent: str = "main") -> dict[str, str]:
        scope = self.workspace.scope("project")
        return files_of(scope, agent) if tip_of(scope) else {}

    def make(self, *agents: str, to: str = "") -> tuple[Made, ...]:
        return make_snapshots(self.workspace, self.edges, agents, to)

    def standing(self) -> dict[str, str]:
        return {one.agent: one.state for one in snapshot_standings(self.workspace)[0]}


class Team:
    """A shared bare repository and who works with it; a test begins with a state that was made once."""

    def __init__(
        self,
        folder: Path,
        git: Callable[..., str],
        patch: pytest.MonkeyPatch,
        code: Path,
        once: Once[dict[str, int]],
    ) -> None:
        self.folder, self.git, self.patch, self.once = folder, git, patch, once

        def make() -> dict[str, int]:
            git("clone", "-q", "--bare", code, folder / "team.git")
            return {}

        once("team", make)

    def join(self, name: str, *options: str) -> Person:
        """Clones the repository as it is now."""
        self.git("clone", "-q", *options, (self.folder / "team.git").as_uri(), self.folder / name)
        return Person(self.folder / name, self.patch)

    def people(self, *names: str) -> list[Person]:
        """Those who have cloned it at its beginning; a test's first step."""
        return self.begin("-".join(names), lambda: [self.join(name) for name in names])

    def begin(self, what: str, make: Callable[[], Sequence[Person]]) -> list[Person]:
        """Makes what several tests begin with, or puts it back; the people in it."""
        clocks = self.once(what, lambda: {one.path.name: one.clock for one in make()})
        return [Person(self.folder / name, self.patch, clock) for name, clock in clocks.items()]

    def publish(self, who: Person, branch: str = "HEAD") -> None:
        """Commits and pushes the snapshots of a person's work tree."""
        self.git("-C", who.path, "add", "-f", USUAL)
        self.git("-C", who.path, "commit", "-qm", "What the agent knows")
        self.git("-C", who.path, "push", "-q", "origin", branch)


@pytest.fixture
def team(repo, tmp_path, git, monkeypatch, once) -> Team:
    return Team(tmp_path, git, monkeypatch, repo, once)
