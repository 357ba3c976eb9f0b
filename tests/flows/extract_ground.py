"""Ground for tests of extraction: sessions of a repository, and an engine that proposes what it is told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory_files import files_at, proposed, tip_of
from once import Once
from partial_engine import PartialEngine
from transcripts import Transcript
from workspaces import begun

from gitmem.app.context import real_edges
from gitmem.core.change import Change
from gitmem.core.trailers import parse as parse_trailers
from gitmem.engines.engine import Engine, ExtractInput, Extraction
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.context import Edges, initialised_at
from gitmem.flows.extract.run import ExtractOutcome, ExtractWatch, extract_sessions
from gitmem.flows.extraction import context_of
from gitmem.git.repository import Signature
from gitmem.ledger.land import Write, land
from gitmem.ledger.workspace import Workspace

FIXTURES = Path(__file__).parents[1] / "fixtures/sessions"
ANN = Signature("Ann", "ann@example.com", 1_795_000_000)
ASKED = "Remember that we deploy from the release branch only, since main can hold open migrations."
RULE = "We never mock the database in tests, because mocks hid a broken migration."
KEY = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
Git = Callable[..., str]


@pytest.fixture
def edges(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Edges:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    return real_edges(repo)


@pytest.fixture
def workspace(edges: Edges, home: Path, once: Once[None]) -> Workspace:
    """Made once a file; a file has other `edges` where it overrides that fixture."""

    def make() -> None:
        (home / ".claude").mkdir()
        begun(edges)

    once("begun", make)
    return initialised_at(edges)


def session(home: Path, repo: Path, *said: str, number: int = 1) -> Path:
    """A session of this repository in the client's folder; an agent's reply after each prompt."""
    made = Transcript(f"{number:08d}-0000-4000-8000-000000000000", str(repo))
    for text in said:
        made.user(text)
        made.agent("Done.")
    return made.record(home)


def extract(
    workspace: Workspace, edges: Edges, *paths: Path, engine: Engine | None = None
) -> tuple[ExtractOutcome, ...]:
    return extract_sessions(context_of(workspace, edges), engine or OfflineEngine(), paths)


class Killed(BaseException):
    """The process dies here."""


def kill_at(at: str) -> ExtractWatch:
    """Dies at a step of an extraction."""

    def step(name: str) -> None:
        if name == at:
            raise Killed

    return ExtractWatch(step)


def tree(workspace: Workspace, scope: str = "local") -> dict[str, str]:
    found = workspace.scope(scope)
    return files_at(found) if tip_of(found) else {}


def refs(workspace: Workspace) -> dict[str, str]:
    return {**workspace.private.refs("refs/heads/"), **workspace.code.refs("refs/gitmem/")}


def history(workspace: Workspace, scope: str = "local") -> list[str]:
    found = workspace.scope(scope)
    tip = found.repo.ref(found.ref)
    return [made.message for made in found.repo.history(tip)][:-1] if tip else []


def put(workspace: Workspace, files: Mapping[str, str], scope: str = "local") -> None:
    edits = {path: text.encode() for path, text in files.items()}
    land(workspace.scope(scope), lambda _: Write(edits, "Put it there", parse_trailers("")), ANN)


def change(body: str, **more: Any) -> Change:
    made = proposed("the-name", type="feedback", body=body, asked=True)
    return replace(made, **more)


class Scripted(PartialEngine):
    """An engine that proposes what the test says, whatever was said."""

    name = "scripted"
    reads_history = False

    def __init__(self, *changes: Change) -> None:
        self.changes = changes
        self.asked = 0

    def extract(self, given: ExtractInput) -> Extraction:
        self.asked += 1
        return Extraction(self.changes)
