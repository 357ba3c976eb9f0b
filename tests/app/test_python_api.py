"""The package as a program imports it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC
from pathlib import Path

import pytest
from ran import Gitmem

import gitmem as package
from gitmem.core.errors import CheckFailed, RepositoryError, UsageError


def test_a_program_remembers_recalls_and_reads_the_log(gitmem: Gitmem, repo: Path) -> None:
    gitmem("init", "-y")
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


def test_importing_the_package_loads_nothing_heavy() -> None:
    """What it exports is loaded when it is asked for; hooks import the package at every prompt."""
    script = (
        "import sys, gitmem\n"
        "heavy = {'anthropic', 'pygit2', 'typer', 'yaml', 'sqlite3', 'gitmem.integrations'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "assert {'open', 'GitMemoryTool', 'AsyncGitMemoryTool'} <= set(dir(gitmem))\n"
        "assert not hasattr(gitmem, 'nothing')\n"
        "gitmem.open\n"
        "assert not {'anthropic', 'pygit2', 'typer'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(package.__file__).parents[1])
