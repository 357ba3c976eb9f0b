"""The remote that memory is shared with: which it is, and whether it holds anything besides."""

from __future__ import annotations

from gitmem.core.errors import RepositoryError
from gitmem.git.command import Configuration, GitCommand, Layout
from gitmem.git.remote import Remote
from gitmem.ledger.workspace import BRANCHES, DOCS_REF, Workspace

SEPARATE = "gitmem"
"""Name of the remote that is made for a memory repository apart from the code."""

ONLY_MEMORY = f"+{BRANCHES}*:refs/remotes/{SEPARATE}/gitmem/*"
"""What that remote fetches; a remote that fetches nothing else holds memory alone, and may be empty."""


def memory_remote(git: GitCommand, where: Layout, name: str, address: str = "") -> Remote:
    """A remote, seen through the branches that hold memory: arguments as for `Remote`."""
    # The documents' branch is code, and perhaps all of its history where a clone has a part.
    top = where.worktree or where.common_dir
    return Remote(git, top, where.common_dir, name, address, (BRANCHES,), DOCS_REF)


def find_remote(workspace: Workspace, name: str = "", *, anew: bool = False) -> Remote:
    """Finds the remote that memory is shared with; arguments and errors as for `remote_name`."""
    chosen = remote_name(workspace.settings.config, name, anew=anew)
    return memory_remote(workspace.git, workspace.layout, chosen)


def remote_name(config: Configuration, name: str = "", *, anew: bool = False) -> str:
    """Which remote memory is shared with: the named one, else `gitmem.remote`, `origin` or the only one.

    Args:
        anew: a remote that was chosen before and is gone counts for nothing.

    Raises:
        RepositoryError: there is none, or none with that name.
    """
    known = config.remotes
    wanted = name or config.get("gitmem.remote", "local")
    if anew and not name and wanted not in known:
        wanted = ""
    if wanted:
        if wanted not in known:
            raise RepositoryError(
                f"There is no remote {wanted!r} here", f"Add it: git remote add {wanted} URL"
            )
        return wanted
    if "origin" in known:
        return "origin"
    if len(known) == 1:
        return known[0]
    if known:
        raise RepositoryError(
            f"Which remote? There are {', '.join(known)}", f"Say which: git config gitmem.remote {known[0]}"
        )
    raise RepositoryError("This repository has no remote", "Add one: git remote add origin URL")


def holds_memory_alone(config: Configuration, name: str) -> bool:
    """Whether the person named a remote as a repository for memory (`share --remote URL`)."""
    found = config.all(f"remote.{name}.fetch", "local")
    return bool(found) and all(one.lstrip("+").startswith(BRANCHES) for one in found)
