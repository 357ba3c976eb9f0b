"""Settings written: git's own lock files of a killed writer must keep no later one out (see `locks`)."""

from __future__ import annotations

from pathlib import Path

from gitmem.git.command import GitCommand, Result, Scope, failure
from gitmem.git.locks import FOLDER, moving


def config_set(
    git: GitCommand,
    cwd: Path | None,
    key: str,
    value: str,
    *,
    scope: Scope = "local",
    git_dir: Path | None = None,
) -> None:
    """Sets a setting to one value, in place of all that it had in that scope.

    Raises:
        RepositoryError: the file is locked or cannot be written.
    """
    result = _write_config(git, ["config", f"--{scope}", "--replace-all", key, value], cwd, git_dir)
    if result.returncode:
        raise failure(result, cwd or git_dir)


def config_unset(
    git: GitCommand, cwd: Path | None, key: str, *, scope: Scope = "local", git_dir: Path | None = None
) -> None:
    """Removes all values of a setting from a scope; one that is not set is fine."""
    result = _write_config(git, ["config", f"--{scope}", "--unset-all", key], cwd, git_dir)
    if result.returncode not in (0, 5):
        raise failure(result, cwd or git_dir)


def _write_config(git: GitCommand, words: list[str], cwd: Path | None, git_dir: Path | None) -> Result:
    if git_dir is None or "--global" in words or not (git_dir / FOLDER).is_dir():
        return git.run(words, cwd=cwd, git_dir=git_dir, check=False)
    with moving(git_dir, ("config",), "*", "config") as turn:
        return turn.run(git, words, cwd=cwd, git_dir=git_dir)
