"""Settings written, and who the person is by them.

Git's own lock files of a killed writer must keep no later one out (see `locks`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from gitmem.core.errors import RepositoryError
from gitmem.git.command import IDENTITY_HINT, GitCommand, Result, Scope, failure
from gitmem.git.locks import FOLDER, moving
from gitmem.git.repository import Signature


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


_IDENT = re.compile(r"(?P<name>.*) <(?P<email>[^<>]*)> (?P<time>\d+) (?P<offset>[+-]\d{4})")


def identity(
    git: GitCommand,
    cwd: Path | None,
    now: int | None,
    *,
    role: Literal["author", "committer"] = "author",
    git_dir: Path | None = None,
) -> Signature:
    """Reads who the person is, as git itself decides it: by its variables, then by configuration.

    What runs in a git hook reads with an environment that is without them: there they name the author of
    the commit in hand, who may be another.

    Args:
        cwd: folder whose repository's configuration counts.
        now: seconds since the epoch; None takes git's own time (its date variables, or the present).
        role: whose name; git can be told two.
        git_dir: the repository, instead of `cwd`.

    Raises:
        RepositoryError: no identity is configured. One guessed from the host name is never used.
    """
    asked = [f"GIT_{role.upper()}_NAME", f"GIT_{role.upper()}_EMAIL"]
    asked += ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"] if now is None else []
    said = {key: value for key in asked if (value := git.environ.get(key))}
    words = ["-c", "user.useConfigOnly=true", "var", f"GIT_{role.upper()}_IDENT"]
    found = _IDENT.fullmatch(git.run(words, cwd=cwd, git_dir=git_dir, env=said).text)
    if not found:
        raise RepositoryError("git does not say who you are", IDENTITY_HINT)
    hours, minutes = int(found["offset"][1:3]), int(found["offset"][3:])
    offset = (hours * 60 + minutes) * (-1 if found["offset"][0] == "-" else 1)
    return Signature(found["name"], found["email"], int(found["time"]) if now is None else now, offset)
