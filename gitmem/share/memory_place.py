"""Where memory is shared: a configured remote, or a repository for memory alone that a person names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.store.address import checked_address, same_place, without_credentials
from gitmem.store.git import config_get, config_set
from gitmem.store.remote import BRANCHES, ONLY_MEMORY, SEPARATE, Remote, find_remote
from gitmem.store.repository import short_name
from gitmem.store.workspace import Workspace
from gitmem.values import dataclass

REACH_SECONDS = 60.0
"""How long a host may take to list its branches."""


@dataclass(frozen=True)
class Place:
    """A remote as `share` found it.

    Attributes:
        url: address of the remote `gitmem` that is yet to be made; empty where the remote is there.
        branches: branches of the new remote that are no memory: it is shared with something else.
    """

    remote: Remote
    url: str = ""
    branches: tuple[str, ...] = ()


def find_place(workspace: Workspace, named: str, cwd: Path) -> Place:
    """Finds the remote that a person means; a new address is asked for its branches. Nothing is written.

    Args:
        named: name of a configured remote, else the address of a repository; empty for the usual remote.
        cwd: what a relative path is relative to.

    Raises:
        UsageError: it is no address, holds credentials, or is this repository itself.
        RepositoryError: there is no such remote, or it cannot be reached.
    """
    git, common = workspace.git, workspace.layout.common_dir
    top = workspace.layout.worktree or common
    remotes = {name: _url(workspace, name) for name in git.run(["remote"], cwd=top).text.split()}
    if not named or named in remotes or not _is_address(named, cwd):
        return Place(find_remote(git, top, named, anew=True))
    url = checked_address(named, cwd)
    if without_credentials(url) != url:
        raise UsageError(
            "An address with a user or password in it would be kept in a file that others can read",
            f"Give it as {without_credentials(url)}; git keeps them apart (git help credentials).",
        )
    own = [str(common), *(str(tree.path) for tree in workspace.worktrees), str(workspace.private_path)]
    if any(same_place(url, place, top) for place in own):
        raise UsageError(f"{url} is this repository, or your private one", "Name another repository.")
    for name, known in remotes.items():
        if known and same_place(url, known, top):
            return Place(find_remote(git, top, name))
    if SEPARATE in remotes:
        raise RepositoryError(
            f"There is a remote named {SEPARATE} already, at {without_credentials(remotes[SEPARATE])}",
            f"To move it: git remote set-url {SEPARATE} {url}",
        )
    found = Remote(git, top, SEPARATE, url)
    listed = replace(found, name=url).listed("refs/heads/*", timeout=REACH_SECONDS)
    foreign = tuple(sorted(short_name(ref) for ref in listed if not ref.startswith(BRANCHES)))
    return Place(Remote(git, top, SEPARATE), url, foreign)


def make_remote(workspace: Workspace, url: str) -> None:
    """Makes the remote `gitmem`, which fetches memory and nothing else; other remotes are left alone."""
    git, where = workspace.git, workspace.layout.common_dir
    for key, value in (("url", url), ("fetch", ONLY_MEMORY), ("tagOpt", "--no-tags")):
        config_set(git, None, f"remote.{SEPARATE}.{key}", value, git_dir=where)


def _url(workspace: Workspace, name: str) -> str:
    return config_get(workspace.git, None, f"remote.{name}.url", git_dir=workspace.layout.common_dir) or ""


def _is_address(named: str, cwd: Path) -> bool:
    """Whether a word is meant as an address, and not as the name of a remote that is not there."""
    return any(sign in named for sign in "/:\\") or (cwd / named).exists()
