"""The package as a program imports it."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path

import pytest
from ran import Gitmem
from workspaces import begun

import gitmem as package
from gitmem.app.context import real_edges
from gitmem.core.errors import CheckFailed, RepositoryError, UsageError


def test_a_program_remembers_recalls_and_reads_the_log(gitmem: Gitmem, repo: Path) -> None:
    begun(real_edges(repo))
    with package.open(repo) as memories:
        stored = memories.remember(
            "Tests use the real database.", name="no-mocks", why="A mock hid a broken migration."
        )
        assert (stored.scope, stored.agent, stored.file) == ("local", "main", "no-mocks.md")
        assert memories.remember("Deploys happen on Tuesdays.", type="project", agent="ops").agent == "ops"
        (item,) = memories.recall("which database do the tests use?").items
        assert (item.name, item.scope) == ("no-mocks", "local")
        assert "A mock hid a broken migration." in item.text
        assert memories.recall("database tests", scope="user").items == ()
        assert memories.recall("database tests", shown={item.blob}).items == ()
        first = next(iter(memories.log("no-mocks")))
        assert (first.commit, first.op, first.writer) == (stored.commit, "add", "human")
        assert (first.author, first.time.tzinfo) == ("Ann <ann@example.com>", UTC)
        assert [entry.scope for entry in memories.log(agent="ops")] == ["local"]
        with pytest.raises(UsageError, match="limit is 0"):
            memories.recall("database", limit=0)
        with pytest.raises(CheckFailed, match="holds a secret"):
            memories.remember("The token is ghp_0123456789abcdefghijABCDEFGHIJ012345.")
        # Named at once, and not when the first of it is read.
        with pytest.raises(UsageError):
            memories.log("no-such-memory")
    assert repr(memories) == f"gitmem.open({str(repo)!r})"
    assert memories.recall("database tests").items, "closing frees handles; it is opened again when asked"
    memories.close()


def test_a_folder_without_memory_is_named(repo: Path) -> None:
    with pytest.raises(RepositoryError, match="no gitmem memory yet"):
        package.open(repo)
    assert {"open", "GitMemoryTool", "AsyncGitMemoryTool"} <= set(dir(package))
    assert not hasattr(package, "nothing")


def test_a_program_lists_shows_and_forgets(gitmem: Gitmem, repo: Path) -> None:
    begun(real_edges(repo))
    with package.open(repo) as memories:
        memories.remember("Deploys happen on Tuesdays.", name="deploys", agent="ops")
        memories.remember("Tests use the real database.", name="no-mocks", why="A mock hid a bug.")
        listed = memories.list()
        assert [(one.agent, one.name) for one in listed] == [("main", "no-mocks"), ("ops", "deploys")]
        assert [one.name for one in memories.list(agent="ops")] == ["deploys"]
        shown = memories.show("no-mocks")
        assert shown.text == "Tests use the real database.\n\n**Why:** A mock hid a bug."
        assert shown.taught is not None and shown.taught.tzinfo is UTC
        commit = memories.forget("no-mocks")
        assert [one.name for one in memories.list()] == ["deploys"]
        assert next(iter(memories.log())).commit == commit and next(iter(memories.log())).writer == "human"
        with pytest.raises(UsageError):
            memories.forget("depl")
        with pytest.raises(UsageError):
            memories.show("no-mocks")


def test_what_is_stored_in_a_session_is_an_agents(gitmem: Gitmem, repo: Path) -> None:
    """A program that hands a model these calls would have signed its words as the person's."""
    begun(real_edges(repo))
    with package.open(repo, session="s-1") as memories:
        stored = memories.remember("Tests use the real database.", name="no-mocks")
        assert (stored.file, stored.scope, stored.waiting) == ("no-mocks.md", "local", "")
        more = memories.remember("The database is on port 5433.", name="no-mocks")
        assert more.commit and "real database" in memories.show("no-mocks").text
        parked = memories.remember("CI runs on arm.", type="project", scope="project", name="ci")
        assert not parked.commit and parked.waiting in gitmem("review").out
        with pytest.raises(UsageError):
            memories.show("ci")
        assert memories.forget("no-mocks")
        assert {(entry.writer, entry.session) for entry in memories.log("no-mocks")} == {("agent", "s-1")}
        with pytest.raises(CheckFailed, match="forgotten"):
            memories.remember("Tests use the real database.", name="no-mocks")
    with package.open(repo) as memories:
        team = memories.remember("CI runs on arm.", type="project", scope="project", name="arm")
        assert team.commit and memories.remember("Tests use the real database.", name="no-mocks").commit
    with package.open(repo, session="s-1") as memories, pytest.raises(UsageError, match="is the team's"):
        memories.forget("arm")
