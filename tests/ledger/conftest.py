"""A code repository with memory, and one live directory of its project scope; a repository in memory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from blame_ground import History
from live_ground import LiveGround
from memory_repository import MemoryRepository

from gitmem.git.command import GitCommand
from gitmem.ledger.layout import LiveDirectory, live_directory
from gitmem.ledger.workspace import Surroundings, Workspace, open_workspace
from gitmem.search.catalog import Catalog


@pytest.fixture
def fake() -> MemoryRepository:
    """A repository in memory, empty."""
    return MemoryRepository()


@pytest.fixture
def workspace(repo: Path, home: Path) -> Workspace:
    """The memory of the test's repository, with the project id that `init` notes."""
    with (repo / ".git/config").open("a") as config:
        config.write("[gitmem]\n\tprojectId = repo-d329704c\n")
    around = Surroundings(
        GitCommand(dict(os.environ)), home, home / ".local/share/gitmem", home / ".claude", Catalog.open
    )
    return open_workspace(around, repo)


@pytest.fixture
def live(workspace: Workspace, repo: Path) -> LiveDirectory:
    """The folder of the subagent `reviewer`, empty."""
    folder = repo / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True)
    found = live_directory(workspace, "project", "reviewer")
    assert found is not None
    return found


@pytest.fixture
def ground(live: LiveDirectory, monkeypatch: pytest.MonkeyPatch) -> LiveGround:
    return LiveGround(live, monkeypatch)


@pytest.fixture
def history(repo: Path) -> History:
    """A memory ref of which nothing is told yet."""
    return History(repo)
