"""Work trees that come, move and go: live directories and hooks follow, and nothing counts as a loss."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from ran import Gitmem
from slices import often

from gitmem.app import worker
from gitmem.app.context import real_edges
from gitmem.app.launcher import Launcher
from gitmem.flows.context import workspace_at
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts.claude_home import slug

Git = Callable[..., str]
FACT = "---\nname: ports\ndescription: Which ports\ntype: project\n---\n\nThe proxy listens on 8081.\n"
HOOKS = ".claude/settings.local.json"
LIVE = ".claude/agent-memory/reviewer/ports.md"


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


def work(tree: Path) -> Workspace:
    """Does what the hooks of a work tree left for the worker."""
    found = workspace_at(real_edges(tree))
    assert [path for path in (found.state / "spool").iterdir() if path.is_file()], "the hook left no job"
    worker.work(found.layout.common_dir, dict(os.environ))
    failed = found.state / "spool/failed"
    assert not failed.exists() or not list(failed.iterdir())
    return found


def tip(tree: Path) -> str | None:
    return workspace_at(real_edges(tree)).code.ref("refs/gitmem/project")


def test_a_project_is_called_after_the_repository_not_after_a_linked_work_tree(
    project: Path, git: Git, gitmem: Gitmem
) -> None:
    for remote in git("-C", project, "remote").split():
        git("-C", project, "remote", "remove", remote)
    git("-C", project, "worktree", "add", "-q", "-b", "fix-42", project.parent / "fix-42")
    name = "project" if project.name == "main" else project.name
    assert gitmem("init", "-y", cwd=project.parent / "fix-42").out.startswith(
        f"gitmem keeps memory for {name}-"
    )


def test_live_directories_and_hooks_follow_work_trees_that_come_move_and_go(
    project: Path, git: Git, tmp_path: Path, home: Path, gitmem: Gitmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITMEM_NOW", "1795000000")
    (home / ".claude").mkdir()
    gitmem("init", "-y", cwd=project)
    # The hooks' own worker does nothing: the test runs it.
    Launcher(home / ".local/share/gitmem").path.write_text("#!/bin/sh\n")
    (project / LIVE).parent.mkdir(parents=True)
    (project / LIVE).write_text(FACT)
    gitmem("save", cwd=project)
    before = tip(project)

    # Of two that are made at once, the worker unites the jobs.
    new, moved, gone = (tmp_path / name for name in ("new tree", "moved", "gone"))
    for tree in (new, gone):
        git("-C", project, "worktree", "add", "-q", "-b", tree.name.split()[0], tree)
    work(project)
    for tree in (new, gone):
        assert (tree / LIVE).read_text() == FACT
        assert {"SessionStart", "Stop"} <= json.loads((tree / HOOKS).read_text())["hooks"].keys()
        assert git("-C", tree, "status", "--porcelain") == ""

    # Hooks that a person took out stay out.
    (new / HOOKS).write_text("{}\n")
    git("-C", new, "checkout", "-q", "-b", "other")
    work(project)
    assert (new / HOOKS).read_text() == "{}\n"

    # One that is removed is no loss, and laid out as if it had never been where it is made again.
    git("-C", project, "worktree", "remove", "--force", gone)
    assert gitmem("save", cwd=project).err == "nothing to save\n"
    assert gitmem("status", "--json", cwd=project).json["directories"][0]["held"] == {}
    assert tip(project) == before
    git("-C", project, "worktree", "add", "-q", gone, "gone")
    work(project)
    assert (gone / LIVE).read_text() == FACT and (gone / HOOKS).exists()
    assert tip(project) == before

    # One that is moved keeps its edits.
    (new / LIVE).write_text(FACT + "\nAnd the other on 8082.\n")
    git("-C", project, "worktree", "move", new, moved)
    gitmem("save", cwd=moved)
    assert "8082" in (moved / LIVE).read_text()
    gitmem("save", cwd=project)
    assert "8082" in (project / LIVE).read_text() and "8081" in (project / LIVE).read_text()


@pytest.mark.parametrize("layout", ["submodule", "separate"])
def test_a_git_directory_elsewhere_leaves_the_work_tree_what_the_client_knows(
    layout: str, repo: Path, git: Git, home: Path, tmp_path: Path
) -> None:
    """Claude Code 2.1.330 names its memory after the work tree; in a linked one after the git directory."""
    if layout == "submodule":
        around, tree = tmp_path / "around", tmp_path / "around/part"
        git("init", "-q", around)
        git("-C", around, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", repo, "part")
        common = around / ".git/modules/part"
    else:
        tree, common = tmp_path / "tree", tmp_path / "tree-git"
        git("clone", "-q", f"--separate-git-dir={common}", repo, tree)
    linked = tmp_path / "linked"
    git("-C", tree, "worktree", "add", "-q", "-b", "other", linked)
    for top, known in ((tree, tree), (linked, common)):
        folder = workspace_at(real_edges(top)).client_folder
        assert folder == home / ".claude/projects" / slug(known.resolve()) / "memory"
    # Here its sessions are looked for.
    assert [one.path for one in workspace_at(real_edges(tree)).worktrees] == [tree, linked]
