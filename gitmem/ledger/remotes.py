"""The remote that memory is shared with: which it is, and whether it holds anything besides."""

from __future__ import annotations

from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand, failure
from gitmem.git.config import config_get_all
from gitmem.git.remote import Remote
from gitmem.ledger.workspace import BRANCHES, DOCS_REF

SEPARATE = "gitmem"
"""Name of the remote that is made for a memory repository apart from the code."""

ONLY_MEMORY = f"+{BRANCHES}*:refs/remotes/{SEPARATE}/gitmem/*"
"""What that remote fetches; a remote that fetches nothing else holds memory alone, and may be empty."""


_SETTINGS = r"^(remote\..+\.[^.]+|gitmem\.remote)$"


def memory_remote(git: GitCommand, cwd: Path, name: str, address: str = "") -> Remote:
    """A remote, seen through the branches that hold memory: arguments as for `Remote`."""
    # The documents' branch is code, and perhaps all of its history where a clone has a part.
    return Remote(git, cwd, name, address, (BRANCHES,), DOCS_REF)


def find_remote(git: GitCommand, cwd: Path, name: str = "", *, anew: bool = False) -> Remote:
    """Finds the remote that memory is shared with: named, else `gitmem.remote`, `origin` or the only one.

    Args:
        anew: a remote that was chosen before and is gone counts for nothing.

    Raises:
        RepositoryError: there is none, or none with that name.
    """
    known, chosen = _configured(git, cwd)
    wanted = name or chosen
    if anew and not name and wanted not in known:
        wanted = ""
    if wanted:
        if wanted not in known:
            raise RepositoryError(
                f"There is no remote {wanted!r} here", f"Add it: git remote add {wanted} URL"
            )
        return memory_remote(git, cwd, wanted)
    if "origin" in known:
        return memory_remote(git, cwd, "origin")
    if len(known) == 1:
        return memory_remote(git, cwd, known[0])
    if known:
        raise RepositoryError(
            f"Which remote? There are {', '.join(known)}", f"Say which: git config gitmem.remote {known[0]}"
        )
    raise RepositoryError("This repository has no remote", "Add one: git remote add origin URL")


def remote_names(git: GitCommand, cwd: Path) -> tuple[str, ...]:
    """Names of the remotes that git knows here."""
    return _configured(git, cwd)[0]


def _configured(git: GitCommand, cwd: Path) -> tuple[tuple[str, ...], str]:
    """Names of the remotes, and the one that was chosen for memory here: asked for with one git call."""
    words = ["config", "--includes", "--show-scope", "-z", "--get-regexp", _SETTINGS]
    result = git.run(words, cwd=cwd, check=False)
    if result.returncode > 1:
        raise failure(result, cwd)
    names, chosen = dict[str, None](), ""
    fields = result.text.split("\0")
    for scope, pair in zip(fields[0::2], fields[1::2], strict=False):
        key, _, value = pair.partition("\n")
        if key.startswith("remote."):
            names[key.removeprefix("remote.").rpartition(".")[0]] = None
        elif scope == "local":
            chosen = value
    return tuple(sorted(names)), chosen


def holds_memory_alone(remote: Remote) -> bool:
    """Whether the person named it as a repository for memory (`share --remote URL`)."""
    found = config_get_all(
        remote.git, remote.cwd, f"remote.{remote.name}.fetch", scope="local", git_dir=remote.git_dir
    )
    return bool(found) and all(one.lstrip("+").startswith(BRANCHES) for one in found)


def has_code(remote: Remote) -> bool:
    """Whether the remote has any branch that is no memory.

    Raises:
        RepositoryError: it cannot be reached.
    """
    return any(not name.startswith(BRANCHES) for name in remote.listed("refs/heads/*"))
