"""Ground for dreams: a repository with memory, a clock that is told, and planted duplicates."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal
from zlib import crc32

import pytest
from memory_files import files_at, tip_of
from once import Once
from workspaces import begun

from gitmem.core.trailers import Op, Provenance, Writer
from gitmem.dream.review import Dream, find_dream
from gitmem.flows.context import Edges, workspace_at
from gitmem.flows.dream import dream
from gitmem.git.config import config_set
from gitmem.git.repository import Signature
from gitmem.ledger.land import Write, land
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.transcripts.claude_home import slug

NOW = 1_795_000_000
DAY = 86_400
ANN = Signature("Ann", "ann@example.com", NOW - 2 * DAY)


def memory(body: str, description: str, name: str = "note", type: str = "project") -> str:
    return f"---\nname: {name}\ndescription: {description}\nmetadata:\n  type: {type}\n---\n\n{body}\n"


def notes(**given: tuple[str, str]) -> dict[str, str]:
    """Memories of `main`: name (`_` for `-`) to description and body, with the index that lists them."""
    named = {key.replace("_", "-"): value for key, value in given.items()}
    found = {f"main/{name}.md": memory(body, hook, name) for name, (hook, body) in named.items()}
    lines = [f"- [{name}]({name}.md) — {hook}\n" for name, (hook, _) in sorted(named.items())]
    return found | {"main/MEMORY.md": "".join(lines)}


TWICE = notes(
    no_mocks=("Integration tests use the real database", "Never mock the database in integration tests."),
    real_database=(
        "Never mock the database",
        "Never mock the database in integration tests.\n\n**Why:** a mock hid a broken migration.",
    ),
    deploys=("How deploys go", "Deploy from the release branch with `make ship`."),
)


@dataclass
class Ground:
    """One code repository with gitmem set up."""

    repo: Path
    now: float = float(NOW)

    @property
    def edges(self) -> Edges:
        return Edges(dict(os.environ), self.repo, self.now)

    @cached_property
    def workspace(self) -> Workspace:
        """Opened once: each look at the configuration is a process or two."""
        return workspace_at(self.edges)

    def configure(self, key: str, value: str, scope: Literal["local", "global"] = "local") -> None:
        """Sets `gitmem.<key>` in the repository, or of the person; the workspace is opened anew."""
        config_set(self.workspace.git, self.repo, f"gitmem.{key}", value, scope=scope)
        del self.workspace

    def scope(self, name: str = "project") -> Scope:
        return self.workspace.scope(name)

    def put(
        self,
        files: Mapping[str, str | None],
        scope: str = "project",
        op: Op = "add",
        writer: Writer = "human",
        time: int = ANN.time,
    ) -> str:
        """Commits these files; None deletes one."""
        edits = {path: None if text is None else text.encode() for path, text in files.items()}
        who = Signature(ANN.name, ANN.email, time)
        place = self.scope(scope)
        write = Write(edits, "Learn", Provenance(op=op, writer=writer))
        done = land(place, lambda _: write, who)
        assert done is not None
        return done.commit

    def tip(self, scope: str = "project") -> str:
        return tip_of(self.scope(scope))

    def tree(self, scope: str = "project") -> dict[str, str]:
        return files_at(self.scope(scope))


def make_ground(repo: Path) -> Ground:
    begun(Ground(repo).edges)
    return Ground(repo)


def ground_once(
    once: Once[None],
    repo: Path,
    *puts: Mapping[str, str | None],
    then: Callable[[Ground], object] | None = None,
) -> Ground:
    """A ground whose project memory got these files, a commit each; made by the first test of a file.

    Args:
        then: what is done to it besides.
    """

    def make() -> None:
        made = make_ground(repo)
        for files in puts:
            made.put(files)
        if then:
            then(made)

    once(f"{then.__name__ if then else 'ground'}-{crc32(repr(puts).encode()):08x}", make)
    return Ground(repo)


def planted(*puts: Mapping[str, str | None], then: Callable[[Ground], object] | None = None) -> object:
    """The fixture `ground` of a file of tests: `ground = planted(TWICE)`; see `ground_once`."""

    @pytest.fixture
    def ground(repo: Path, once: Once[None]) -> Ground:
        return ground_once(once, repo, *puts, then=then)

    return ground


def night(ground: Ground, scope: str = "project") -> Dream | None:
    """What a dream that is asked for proposes, where it proposes anything."""
    done = dream(ground.workspace, ground.edges, scope=scope, force=True)
    return find_dream(ground.workspace, done.id) if done.id else None


def converse(ground: Ground, number: int = 5, time: float = 0, folder: str = "") -> None:
    """Records that many sessions, last written to at a time, or a moment ago."""
    place = ground.edges.config / "projects" / (folder or slug(ground.repo.resolve()))
    place.mkdir(parents=True, exist_ok=True)
    for at in range(number):
        file = place / f"{folder}session-{at}.jsonl"
        file.write_text(json.dumps({"type": "user", "cwd": str(ground.repo.resolve())}) + "\n")
        os.utime(file, (time or ground.now - 10,) * 2)


def waiting(ground: Ground, scope: str = "project") -> Dream:
    found = night(ground, scope)
    assert found is not None
    return found
