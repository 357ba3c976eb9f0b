"""A memory ref that is deleted, or put back from an older copy, takes nothing out of live directories."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_ground import Ground, memory

from gitmem.ledger.layout import live_directory

Git = Callable[..., str]


@pytest.fixture
def known(ground: Ground, home: Path) -> Ground:
    """A repository that knows one memory, laid out for the agent."""
    (home / ".claude").mkdir()
    ground.folder("local")
    ground.run("init", "-y")
    ground.learn({"reviewer/ports.md": memory("ports")}, "local")
    ground.run("save")
    return ground


def folder(ground: Ground) -> Path:
    live = live_directory(ground.workspace, "local", "reviewer", ground.repo)
    assert live is not None
    return live.path


def test_what_stood_in_the_folder_outlives_a_deleted_ref(known: Ground, git: Git) -> None:
    """The ref that `remember` makes is empty but for what was told: no word that the rest be deleted."""
    scope = known.workspace.scope("local")
    lost = scope.repo.ref(scope.ref)
    git("--git-dir", scope.repo.git_dir, "update-ref", "-d", scope.ref)
    told = known.run("remember", "Deploys go out on Tuesdays.", "--name", "deploys", "--agent", "reviewer")
    assert "was lost and began anew" in told.err
    assert {path.stem for path in folder(known).glob("*.md")} == {"MEMORY", "ports", "deploys"}
    assert set(known.tree("local")) >= {"reviewer/ports.md", "reviewer/deploys.md"}
    assert lost in scope.repo.refs("refs/gitmem/rescued/").values()
    assert known.run("doctor", "-n").out == "all is well\n"


def test_what_was_learned_since_outlives_an_older_copy_of_the_private_repository(known, tmp_path) -> None:
    """The commits that the folder stood on are gone, so nothing says that a file was deleted."""
    private = known.workspace.private_path
    shutil.copytree(private, tmp_path / "copy")
    known.run("remember", "Deploys go out on Tuesdays.", "--name", "deploys", "--agent", "reviewer")
    shutil.rmtree(private)
    (tmp_path / "copy").rename(private)
    assert "cannot be found" in known.run("save").err
    assert set(known.tree("local")) >= {"reviewer/ports.md", "reviewer/deploys.md"}
    assert (folder(known) / "deploys.md").is_file()


def test_a_ref_that_was_moved_back_is_followed(known: Ground, git: Git) -> None:
    """Plain git's reset and amend mean what they say; the reflog has the rest."""
    scope = known.workspace.scope("local")
    before = scope.repo.ref(scope.ref)
    known.run("remember", "Deploys go out on Tuesdays.", "--name", "deploys", "--agent", "reviewer")
    git("--git-dir", scope.repo.git_dir, "update-ref", scope.ref, before)
    known.run("save")
    assert not (folder(known) / "deploys.md").exists()
    assert set(known.tree("local")) >= {"reviewer/ports.md"}
