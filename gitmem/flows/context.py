"""Where the environment, the home directory and the clock are read: once, for everything below."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import RepositoryError
from gitmem.flows.exit import configure
from gitmem.flows.place import data_folder
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand
from gitmem.git.objects import LATEST
from gitmem.git.open import open_repository
from gitmem.ledger.workspace import Surroundings, Workspace, open_workspace
from gitmem.transcripts.claude_home import auto_memory_dir, claude_config_dir, read_settings
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.ledger.catalog import MemoryCatalog

# Would lead the secret detector to a library of somebody else's choice.
UNSAFE_VARIABLES = frozenset({"BETTERLEAKS_LIB_PATH"})


def _nobody(_: str) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class Edges:
    """The outside world of one command.

    Attributes:
        environ: environment of the process, less what could redirect gitmem.
        cwd: folder that the command is about.
        now: seconds since the epoch.
        say: tells the person something that no result of a flow carries.
    """

    environ: Mapping[str, str]
    cwd: Path
    now: float
    say: Callable[[str], None] = field(default=_nobody, repr=False, compare=False)

    @property
    def home(self) -> Path:
        """The person's home directory."""
        return Path(self.environ.get("HOME") or "~").expanduser()

    @property
    def data(self) -> Path:
        """Folder of the private repository."""
        return data_folder(self.environ, self.home)

    @property
    def config(self) -> Path:
        """Claude Code's own folder."""
        return claude_config_dir(self.environ, self.home)


def real_edges(cwd: Path | None = None) -> Edges:
    """The world of this process; a fixed time can be given for tests as `GITMEM_NOW` (epoch seconds)."""
    for name in UNSAFE_VARIABLES:
        os.environ.pop(name, None)
    fixed = os.environ.get("GITMEM_NOW", "")
    now = float(fixed) if fixed.replace(".", "", 1).isdigit() else time.time()
    now = min(now, LATEST)
    try:
        here = (cwd or Path.cwd()).resolve()
    except OSError as error:
        raise RepositoryError(
            f"The current folder cannot be used: {error.strerror}", "cd elsewhere."
        ) from error
    return Edges(dict(os.environ), here, now)


def _catalog(state: Path) -> MemoryCatalog:
    from gitmem.search.index import Catalog  # most hooks ask it nothing

    return Catalog.open(state)


def workspace_at(edges: Edges) -> Workspace:
    """The memory of the repository around `edges.cwd`; `init` need not have run.

    Raises:
        RepositoryError: there is no repository, or it is bare, or it may not be used.
    """
    around = Surroundings(GitCommand(edges.environ), edges.home, edges.data, edges.config, _catalog)
    workspace = open_workspace(around, edges.cwd)
    if workspace.layout.bare or workspace.layout.worktree is None:
        raise RepositoryError(
            f"{workspace.layout.git_dir} has no work tree", "Run it in a repository with a work tree."
        )
    root = workspace.layout.common_dir
    root = (root.parent if root.name == ".git" else root).resolve()
    auto = auto_memory_dir(edges.environ, edges.home, root, read_settings(edges.config))
    opened = Workspace(around, workspace.layout, workspace.settings, auto)
    configure(lambda: allowed_fingerprints(opened), edges.data)
    return opened


def initialised_at(edges: Edges) -> Workspace:
    """The same, for commands that need `init` to have run.

    Raises:
        RepositoryError: it has not.
    """
    workspace = workspace_at(edges)
    if workspace.settings.get("projectId") and workspace.state.is_dir() and not workspace.has_private:
        raise RepositoryError(
            f"{workspace.private_path}, which holds private memory, is missing or was emptied",
            "Run: git mem doctor",
        )
    if not workspace.initialised:
        raise RepositoryError(f"{workspace.layout.worktree} has no gitmem memory yet", "Run: git mem init")
    return workspace


def by_command(workspace: Workspace, *, fetches: bool = True) -> Workspace:
    """Opens a workspace's repositories through the `git` command.

    A look needs some ten calls, which together take less time than importing pygit2.

    Args:
        fetches: whether git may fetch what a partial clone lacks; a hook waits for no network.
    """
    git = workspace.git if fetches else replace(workspace.git, fetches=False)
    workspace.code = GitRepository(git, workspace.main_layout)
    if workspace.has_private:
        workspace.private = open_repository(workspace.private_path, git, prefer="git", bare=True)
    return workspace


def allowed_fingerprints(workspace: Workspace) -> frozenset[str]:
    """Fingerprints of secrets that the person accepted: `gitmem.allow`, from their own configuration."""
    return frozenset(word for value in workspace.settings.all("allow") for word in value.split())
