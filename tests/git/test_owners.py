"""Repositories of other users, and programs that a repository's own configuration names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.core.errors import RepositoryError
from gitmem.git import owners
from gitmem.git.command import GitCommand, layout


def fake_git(folder: Path, version: str) -> GitCommand:
    """A git that says another version of itself."""
    program = folder / "git"
    program.write_text(
        f'#!/bin/sh\n[ "$1" != version ] || {{ echo "git version {version}"; exit; }}\nexec git "$@"\n'
    )
    program.chmod(0o755)
    return GitCommand(dict(os.environ), str(program))


@pytest.mark.parametrize(
    ("version", "refused"),
    [("2.35.1", True), ("2.31.0.windows.1", True), ("2.35.2", False), ("2.54", False)],
)
def test_a_git_that_would_use_anothers_repository_is_refused_there(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, refused: bool
) -> None:
    git = fake_git(tmp_path, version)
    assert layout(git, repo).worktree == repo.resolve(), "one's own is used by any git"
    monkeypatch.setattr(owners.os, "geteuid", lambda: 4711)
    if refused:
        with pytest.raises(RepositoryError, match=r"is another user's, and git 2\.3") as told:
            layout(git, repo)
        assert "git 2.35.2 or later" in (told.value.hint or "")
    else:
        assert layout(git, repo).worktree == repo.resolve()


def test_whom_root_stands_in_for_may_use_their_own(repo: Path, tmp_path: Path, monkeypatch) -> None:
    git = fake_git(tmp_path, "2.31.0")
    owner = repo.stat().st_uid
    if owner:
        monkeypatch.setattr(owners.os, "geteuid", lambda: 0)
        sudo = GitCommand({**git.environ, "SUDO_UID": str(owner)}, git.executable)
        assert layout(sudo, repo).worktree == repo.resolve()
    assert owners.numbers(git.run(["version"]).text) == (2, 31, 0)


def test_no_monitor_of_a_repository_is_started(repo: Path, tmp_path: Path) -> None:
    """A clone may hold a whole repository as plain files: its configuration is not the person's."""
    ran = tmp_path / "ran"
    monitor = tmp_path / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {ran}\n")
    monitor.chmod(0o755)
    git = GitCommand(dict(os.environ))
    git.run(["config", "core.fsmonitor", str(monitor)], cwd=repo)
    git.run(["status", "--porcelain"], cwd=repo)
    git.run(["ls-files", "--others"], cwd=repo)
    git.run(["update-index", "--refresh"], cwd=repo, check=False)
    assert not ran.exists()
    git.run(["-c", f"core.fsmonitor={monitor}", "status"], cwd=repo)
    assert ran.exists(), "the monitor would have been seen"
