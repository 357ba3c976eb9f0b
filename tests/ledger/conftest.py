"""A code repository with memory, and one live directory of its project scope; a repository in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from memory_repository import MemoryRepository

from gitmem.git.command import GitCommand
from gitmem.git.repository import Signature
from gitmem.ledger.save_plan import SaveRequest
from gitmem.ledger.working_copy import Saved, save
from gitmem.ledger.workspace import LiveDirectory, Surroundings, Workspace, open_workspace, store_project_id
from gitmem.search.index import Catalog

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)


@pytest.fixture
def fake() -> MemoryRepository:
    """A repository in memory, empty."""
    return MemoryRepository()


@pytest.fixture
def workspace(repo: Path, home: Path) -> Workspace:
    """The memory of the test's repository, with a project id."""
    around = Surroundings(
        GitCommand(dict(os.environ)), home, home / ".local/share/gitmem", home / ".claude", Catalog.open
    )
    return store_project_id(open_workspace(around, repo))


@pytest.fixture
def live(workspace: Workspace, repo: Path) -> LiveDirectory:
    """The folder of the subagent `reviewer`, empty."""
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    found = workspace.live_directory("project", "reviewer")
    assert found is not None
    return found


@pytest.fixture
def run(live: LiveDirectory) -> Callable[..., Saved]:
    """Saves the directory, at a moment that moves on each time by more than a displaced file is kept."""
    clock = {"now": 1_900_000_000.0}

    def do(**changes: Any) -> Saved:
        clock["now"] += 100
        return save(replace(SaveRequest(live, clock["now"], ANN), **changes))

    return do
