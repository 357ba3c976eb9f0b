"""Work trees that come, move and go: live directories and hooks follow, and nothing counts as a loss."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slices import often

from gitmem.app import worker
from gitmem.app.context import real_edges
from gitmem.flows.context import workspace_at
from gitmem.git.locks import writer_lock
from gitmem.ledger.workspace import Workspace

Git = Callable[..., str]
FACT = "---\nname: ports\ndescription: Which ports\ntype: project\n---\n\nThe proxy listens on 8081.\n"
HOOKS = ".claude/settings.local.json"
LIVE = ".claude/agent-memory/reviewer/ports.md"


@pytest.fixture(autouse=True)
def jobs_stay(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """The hooks' own worker is kept from starting, and run by the test instead."""
    (home / ".claude").mkdir()
    monkeypatch.setenv("GITMEM_NOW", "1795000000")


@pytest.fixture(params=often(["plain", "bare", "bare in .git"], "plain", "bare in .git"))
def project(request: pytest.FixtureRequest, repo: Path, git: Git, tmp_path: Path) -> Path:
    """A work tree of a repository in each of the layouts that people use."""
    if request.param == "plain":
        return repo
    folder = tmp_path / "project"
    folder.mkdir()
    if request.param == "bare":
        git("clone", "-q", "--bare", repo, folder / ".bare")
        (folder / ".git").write_text("gitdir: ./.bare\n")
    else:
        git("clone", "-q", "--bare", repo, folder / ".git")
    git("-C", folder, "worktree", "add", "-q", folder / "main", "main")
    return folder / "main"


@pytest.fixture
def learned(project: Path, gitmem: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, set up, with one memory of the project."""
    gitmem("init", "-y", cwd=project)
    (project / LIVE).parent.mkdir(parents=True)
    (project / LIVE).write_text(FACT)
    gitmem("save", cwd=project)
    return project


def work(tree: Path) -> Workspace:
    """Does what the hooks of a work tree left for the worker."""
    found = workspace_at(real_edges(tree))
    worker.work(found.layout.common_dir, dict(os.environ))
    # The one that the hook started may have been first.
    with writer_lock(found.state, "worker", timeout=60):
        pass
    failed = found.state / "spool/failed"
    assert not failed.exists() or not list(failed.iterdir())
    return found


def add(git: Git, project: Path, tree: Path, branch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`git worktree add`, with the hook's own worker held back by the lock that this test holds."""
    state = workspace_at(real_edges(project)).state
    with writer_lock(state, "worker"):
        git("-C", project, "worktree", "add", "-q", "-b", branch, tree)
    assert [path for path in (state / "spool").iterdir() if path.is_file()], "the hook left no job"


def test_a_new_work_tree_gets_live_directories_and_hooks(
    learned: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "new tree"
    add(git, learned, tree, "topic", monkeypatch)
    work(learned)
    assert (tree / LIVE).read_text() == FACT
    hooks = json.loads((tree / HOOKS).read_text())["hooks"]
    assert {"SessionStart", "Stop"} <= hooks.keys()
    assert git("-C", tree, "status", "--porcelain") == ""


def test_two_that_are_made_at_once_both_do(
    learned: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker unites their jobs."""
    add(git, learned, tmp_path / "one", "one", monkeypatch)
    add(git, learned, tmp_path / "two", "two", monkeypatch)
    work(learned)
    for name in ("one", "two"):
        assert (tmp_path / name / LIVE).exists() and (tmp_path / name / HOOKS).exists()


def test_hooks_that_a_person_took_out_stay_out(
    learned: Path, git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "new"
    add(git, learned, tree, "topic", monkeypatch)
    work(learned)
    (tree / HOOKS).write_text("{}\n")
    git("-C", tree, "checkout", "-q", "-b", "other")
    work(learned)
    assert (tree / HOOKS).read_text() == "{}\n"


def test_a_removed_work_tree_is_no_loss(
    learned: Path,
    git: Git,
    tmp_path: Path,
    gitmem: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = tmp_path / "new"
    add(git, learned, tree, "topic", monkeypatch)
    workspace = work(learned)
    before = workspace.code.ref("refs/gitmem/project")
    git("-C", learned, "worktree", "remove", "--force", tree)
    assert gitmem("save", cwd=learned).err == "nothing to save\n"
    assert gitmem("status", "--json", cwd=learned).code == 0
    assert json.loads(gitmem("status", "--json", cwd=learned).out)["directories"][0]["held"] == {}
    assert workspace_at(real_edges(learned)).code.ref("refs/gitmem/project") == before
    # Made again at the same place, it is laid out as if it had never been.
    git("-C", learned, "branch", "-D", "topic")
    add(git, learned, tree, "topic", monkeypatch)
    work(learned)
    assert (tree / LIVE).read_text() == FACT
    assert (tree / HOOKS).exists()
    assert workspace_at(real_edges(learned)).code.ref("refs/gitmem/project") == before


def test_a_moved_work_tree_keeps_its_edits(
    learned: Path,
    git: Git,
    tmp_path: Path,
    gitmem: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree, moved = tmp_path / "new", tmp_path / "moved"
    add(git, learned, tree, "topic", monkeypatch)
    work(learned)
    (tree / LIVE).write_text(FACT + "\nAnd the other on 8082.\n")
    git("-C", learned, "worktree", "move", tree, moved)
    gitmem("save", cwd=moved)
    assert "8082" in (moved / LIVE).read_text()
    gitmem("save", cwd=learned)
    assert "8082" in (learned / LIVE).read_text() and "8081" in (learned / LIVE).read_text()
