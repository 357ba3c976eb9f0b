"""Hooks of an older gitmem are brought to this one's form by the worker, and nothing else is."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from gitmem.app.client_hooks import apply_hooks, installed, plan_hooks, tree_place
from gitmem.app.clients import CLAUDE
from gitmem.app.context import real_edges
from gitmem.app.file_edits import make_edits
from gitmem.app.git_drivers import plan_merge_setup
from gitmem.app.git_hooks import apply, inspect_git_hooks, plan_git_hooks, read_setup
from gitmem.app.launcher import Launcher
from gitmem.app.setup import renew_hooks
from gitmem.flows.context import workspace_at
from gitmem.git.command import GitCommand
from gitmem.ledger.workspace import Workspace

OLD = ("/opt/old/bin/python", "-P", "-m", "gitmem")
"""How hooks were started before there was a launcher."""


def _aged(gitmem, repo: Path) -> tuple[Workspace, GitCommand]:
    """A repository in which an older gitmem installed all that there is."""
    gitmem("init", "-y")
    workspace, git, common = workspace_at(real_edges(repo)), GitCommand(os.environ), repo / ".git"
    apply(plan_git_hooks(common, OLD, read_setup(git, repo)), git)
    apply_hooks(plan_hooks(tree_place(CLAUDE, repo, common), OLD, False), git)
    make_edits(plan_merge_setup(git, common, OLD).edits, git)
    return workspace, git


def _standings(repo: Path, git: GitCommand, argv: tuple[str, ...]) -> dict[str, str]:
    setup = read_setup(git, repo)
    return {one.hook: one.standing for one in inspect_git_hooks(repo / ".git", argv, setup)}


def test_all_that_an_older_gitmem_installed_is_renewed_once(gitmem, repo: Path) -> None:
    workspace, git = _aged(gitmem, repo)
    argv = Launcher(workspace.around.data).argv
    assert set(_standings(repo, git, argv).values()) == {"ours", "dead"}, "pushes are looked at without it"
    assert renew_hooks(workspace) == []
    assert set(_standings(repo, git, argv).values()) == {"ours"}
    assert installed(tree_place(CLAUDE, repo, repo / ".git"), argv)
    assert not plan_merge_setup(git, repo / ".git", argv).changes
    (repo / ".git/hooks/post-commit").unlink()
    assert renew_hooks(workspace) == []
    assert not (repo / ".git/hooks/post-commit").exists()


def test_the_lines_for_git_are_renewed_where_they_alone_changed(gitmem, repo: Path, monkeypatch) -> None:
    workspace, git = _aged(gitmem, repo)
    with monkeypatch.context() as then:
        for module in ("setup", "git_drivers"):
            then.setattr(f"gitmem.app.{module}.CLONE", ("[attr]gitmem-merge merge=gitmem",))
        assert renew_hooks(workspace) == []
    assert plan_merge_setup(git, repo / ".git", Launcher(workspace.around.data).argv).changes
    assert renew_hooks(workspace) == []
    assert not plan_merge_setup(git, repo / ".git", Launcher(workspace.around.data).argv).changes


def test_what_a_person_took_out_stays_out(gitmem, repo: Path, git: Callable[..., str]) -> None:
    workspace, command = _aged(gitmem, repo)
    (repo / ".git/hooks/post-checkout").unlink()
    (repo / ".git/hooks/post-merge").write_text("#!/bin/sh\necho mine\n")
    settings = repo / ".claude/settings.local.json"
    settings.write_text('{"model": "mine"}\n')
    git("-C", repo, "config", "--unset", "merge.gitmem.driver")
    git("-C", repo, "config", "--unset", "diff.gitmem.textconv")
    renew_hooks(workspace)
    found = _standings(repo, command, Launcher(workspace.around.data).argv)
    assert (found["post-checkout"], found["post-merge"]) == ("missing", "foreign")
    assert found["post-commit"] == "ours"
    assert json.loads(settings.read_text()) == {"model": "mine"}
    assert git("-C", repo, "config", "diff.gitmem.textconv", check=False) == ""


def test_a_file_of_another_client_that_cannot_be_read_keeps_no_other_from_it(gitmem, repo: Path) -> None:
    workspace, _ = _aged(gitmem, repo)
    (repo / ".codex").mkdir(exist_ok=True)
    (repo / ".codex/hooks.json").write_text("// mine\n{}\n")
    assert [line for line in renew_hooks(workspace) if "hooks.json" in line]
    assert installed(tree_place(CLAUDE, repo, repo / ".git"), Launcher(workspace.around.data).argv)


def test_a_job_of_the_worker_renews_them(gitmem, repo: Path) -> None:
    workspace, git = _aged(gitmem, repo)
    from gitmem.app.upkeep import keep_house

    assert keep_house(workspace, real_edges(repo)) == ()
    assert set(_standings(repo, git, Launcher(workspace.around.data).argv).values()) == {"ours"}
