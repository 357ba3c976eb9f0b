"""Where the environment, the home directory and the clock are read: once, for everything below."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem.errors import RepositoryError
from gitmem.sessions.discover import auto_memory_dir, claude_config_dir, read_settings
from gitmem.store.git import GitCommand, config_get_all, identity
from gitmem.store.repository import Signature
from gitmem.store.workspace import Surroundings, Workspace, open_workspace

# Would lead the secret detector to a library of somebody else's choice.
UNSAFE_VARIABLES = frozenset({"BETTERLEAKS_LIB_PATH"})


@dataclass(frozen=True)
class Edges:
    """The outside world of one command.

    Attributes:
        environ: environment of the process, less what could redirect gitmem.
        cwd: folder that the command is about.
        now: seconds since the epoch.
    """

    environ: Mapping[str, str]
    cwd: Path
    now: float

    @property
    def home(self) -> Path:
        """The person's home directory."""
        return Path(self.environ.get("HOME") or "~").expanduser()

    @property
    def data(self) -> Path:
        """Folder of the private repository."""
        base = Path(self.environ.get("XDG_DATA_HOME", ""))
        return (base if base.is_absolute() else self.home / ".local" / "share") / "gitmem"

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
    try:
        here = (cwd or Path.cwd()).resolve()
    except OSError as error:
        raise RepositoryError(
            f"The current folder cannot be used: {error.strerror}", "cd elsewhere."
        ) from error
    return Edges(dict(os.environ), here, now)


def workspace_at(edges: Edges) -> Workspace:
    """The memory of the repository around `edges.cwd`; `init` need not have run.

    Raises:
        RepositoryError: there is no repository, or it is bare, or it may not be used.
    """
    around = Surroundings(GitCommand(edges.environ), edges.home, edges.data, edges.config)
    workspace = open_workspace(around, edges.cwd)
    if workspace.layout.bare or workspace.layout.worktree is None:
        raise RepositoryError(
            f"{workspace.layout.git_dir} has no work tree", "Run it in a repository with a work tree."
        )
    root = workspace.layout.common_dir
    root = (root.parent if root.name == ".git" else root).resolve()
    auto = auto_memory_dir(edges.environ, edges.home, root, read_settings(edges.config))
    return Workspace(around, workspace.layout, workspace.settings, auto)


def initialised_at(edges: Edges) -> Workspace:
    """The same, for commands that need `init` to have run.

    Raises:
        RepositoryError: it has not.
    """
    workspace = workspace_at(edges)
    if not workspace.initialised:
        raise RepositoryError(f"{workspace.layout.worktree} has no gitmem memory yet", "Run: git mem init")
    return workspace


def author(workspace: Workspace, edges: Edges) -> Signature:
    """Who the person is, at the present.

    Raises:
        RepositoryError: git knows no identity.
    """
    return identity(workspace.git, None, int(edges.now), git_dir=workspace.layout.common_dir)


def allowed_fingerprints(workspace: Workspace) -> frozenset[str]:
    """Fingerprints of secrets that the person accepted: `gitmem.allow`, from their own configuration."""
    where = workspace.layout.common_dir
    values = config_get_all(workspace.git, None, "gitmem.allow", scope="global", git_dir=where)
    return frozenset(word for value in values for word in value.split())
