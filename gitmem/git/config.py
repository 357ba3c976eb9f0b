"""Settings read and written, the work trees that git knows, and who the person is.

Git's own lock files of a killed writer must keep no later one out (see `locks`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from gitmem.core.errors import RepositoryError
from gitmem.git.command import Configuration, GitCommand, GitResult, Scope, failure, plain_configuration
from gitmem.git.errors import IDENTITY_HINT
from gitmem.git.locks import FOLDER, ref_turn
from gitmem.git.repository import Signature
from gitmem.values import dataclass

_STAYS = {"bool": re.compile("true|false"), "path": re.compile("/.*")}
"""Values of a type that are already as git would convert them to it."""


def config_get_all(
    git: GitCommand,
    cwd: Path | None,
    key: str,
    *,
    scope: Scope | None = None,
    kind: Literal["bool", "path"] | None = None,
    git_dir: Path | None = None,
) -> tuple[str, ...]:
    """Reads every value of a setting, the one that counts last.

    Args:
        scope: only values from there. "global" is the person's own configuration with what it includes, and
            nothing that a repository brings along; None means all that git reads.
        kind: type that git converts to.

    Raises:
        RepositoryError: the configuration cannot be read, or a value is not of that kind.
    """
    plain = plain_configuration(git, cwd, git_dir)
    if plain is not None:
        section, _, rest = key.partition(".")
        name, dot, variable = rest.rpartition(".")
        values = plain.all(f"{section.lower()}.{name}{dot}{variable.lower()}", scope)
        if not kind or all(_STAYS[kind].fullmatch(value) for value in values):
            return values
    words = [
        "config",
        "--includes",
        "--show-scope",
        "-z",
        *([f"--type={kind}"] if kind else []),
        "--get-all",
        key,
    ]
    result = git.run(words, cwd=cwd, git_dir=git_dir, check=False)
    if result.returncode == 1:
        return ()
    if result.returncode:
        raise failure(result, cwd or git_dir)
    fields = result.text.split("\0")
    pairs = zip(fields[0::2], fields[1::2], strict=False)
    return tuple(value for where, value in pairs if scope in (None, where))


def config_get(
    git: GitCommand,
    cwd: Path | None,
    key: str,
    *,
    scope: Scope | None = None,
    kind: Literal["bool", "path"] | None = None,
    git_dir: Path | None = None,
) -> str | None:
    """Reads the value of a setting that counts, or None; arguments as for `config_get_all`."""
    values = config_get_all(git, cwd, key, scope=scope, kind=kind, git_dir=git_dir)
    return values[-1] if values else None


@dataclass(frozen=True)
class Worktree:
    """One work tree of a repository.

    Attributes:
        head: commit it stands on; None on an unborn branch or in a bare repository.
        branch: full ref name; None when detached.
        bare: the entry is the bare repository itself.
        prunable: its folder is gone.
    """

    path: Path
    head: str | None
    branch: str | None
    bare: bool
    prunable: bool


def worktrees(git: GitCommand, cwd: Path | None, *, git_dir: Path | None = None) -> tuple[Worktree, ...]:
    """Lists the work trees of a repository, the main one first."""
    # Not `-z`, which needs git 2.36: a path with a line break is cut short here, and then simply not found.
    found = []
    for record in git.run(["worktree", "list", "--porcelain"], cwd=cwd, git_dir=git_dir).text.split("\n\n"):
        fields = dict(line.partition(" ")[::2] for line in record.splitlines())
        if path := fields.get("worktree"):
            head = fields.get("HEAD", "0")
            found.append(
                Worktree(
                    Path(path),
                    head if head.strip("0") else None,
                    fields.get("branch"),
                    "bare" in fields,
                    "prunable" in fields,
                )
            )
    return tuple(found)


def index_file(top: Path) -> Path:
    """The index of a work tree, each of which has its own.

    Raises:
        OSError: there is no telling.
    """
    git = top / ".git"
    if git.is_dir():
        return git / "index"
    return top / os.fsdecode(git.read_bytes()).removeprefix("gitdir: ").rstrip("\n") / "index"


def lists_none(index: Path, folders: Sequence[str]) -> bool:
    """Whether an index has no file below some folders for certain: its bytes tell, unless they are odd."""
    data = index.read_bytes()
    # Names are whole in these versions, and all of them are here unless the index is split.
    whole = data.startswith((b"DIRC\0\0\0\2", b"DIRC\0\0\0\3")) and b"link" not in data
    return whole and not any(os.fsencode(folder) in data for folder in folders)


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


def config_path(git: GitCommand, config: Configuration, key: str, git_dir: Path) -> str:
    """A path among settings as git expands it; empty where there is none, and then git is not asked.

    Raises:
        RepositoryError: it begins in a home of nobody's.
    """
    if not config.all(key.lower()):
        return ""
    return config_get(git, None, key, kind="path", git_dir=git_dir) or ""


def _write_config(git: GitCommand, words: list[str], cwd: Path | None, git_dir: Path | None) -> GitResult:
    if git_dir is None or "--global" in words or not (git_dir / FOLDER).is_dir():
        return git.run(words, cwd=cwd, git_dir=git_dir, check=False)
    with ref_turn(git_dir, ("config",), "*", "config") as turn:
        return turn.run(git, words, cwd=cwd, git_dir=git_dir)


_IDENT = re.compile(r"(?P<name>.*) <(?P<email>[^<>]*)> \d+ (?P<offset>[+-]\d{4})")

_AS_IT_IS = re.compile(r"""(?=[^\0- .,:;<>"\\'])[^\n<>]+(?<=[^\0- .,:;<>"\\'])""")
"""A name or an address in which no git finds anything to clean up."""


def identity(git: GitCommand, config: Configuration, git_dir: Path) -> Signature:
    """Reads who the author of a commit would be, as git itself decides it: by its variables, then by
    configuration. The time is 0, its offset today's.

    What runs in a git hook reads with an environment that is without them: there they name the author of
    the commit in hand, who may be another.

    Args:
        config: what counts in the repository.
        git_dir: the repository.

    Raises:
        RepositoryError: no identity is configured. One guessed from the host name is never used.
    """
    said = {key: git.environ.get(key, "") for key in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")}
    name, email = (
        said[f"GIT_AUTHOR_{key.upper()}"] or config.get(f"author.{key}") or config.get(f"user.{key}")
        for key in ("name", "email")
    )
    if _AS_IT_IS.fullmatch(name) and _AS_IT_IS.fullmatch(email):
        return Signature(name, email, 0, time.localtime().tm_gmtoff // 60)
    words = ["-c", "user.useConfigOnly=true", "var", "GIT_AUTHOR_IDENT"]
    given = {key: value for key, value in said.items() if value}
    found = _IDENT.fullmatch(git.run(words, git_dir=git_dir, env=given).text)
    if not found:
        raise RepositoryError("git does not say who you are", IDENTITY_HINT)
    hours, minutes = int(found["offset"][1:3]), int(found["offset"][3:])
    offset = (hours * 60 + minutes) * (-1 if found["offset"][0] == "-" else 1)
    return Signature(found["name"], found["email"], 0, offset)
