"""The outside world of one command, as whoever starts it gives it, and the workspace around its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.git.command import GitCommand, bare_layout
from gitmem.git.ref_files import GitRefs
from gitmem.ledger.files import claude_folder, data_folder, read_regular
from gitmem.ledger.workspace import Surroundings, Workspace, open_workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.git.by_command import GitRepository
    from gitmem.git.repository import Repository
    from gitmem.ledger.catalog import MemoryCatalog


def _nobody(_: str) -> None:
    """Tells nobody."""


def _nowhere(_: Path) -> bool:
    """No client has hooks."""
    return False


@dataclass(frozen=True)
class Edges:
    """The outside world of one command.

    Attributes:
        environ: environment of the process, less what could redirect gitmem.
        cwd: folder that the command is about.
        now: seconds since the epoch.
        say: tells the person something that no result of a flow carries.
        person_in: the folder that the person is in, where that may be another; None where it is not known.
        carries: whether an agent in a work tree can be told something, since a client's hooks are there.
    """

    environ: Mapping[str, str]
    cwd: Path
    now: float
    say: Callable[[str], None] = field(default=_nobody, repr=False, compare=False)
    person_in: Path | None = field(default=None, repr=False, compare=False)
    carries: Callable[[Path], bool] = field(default=_nowhere, repr=False, compare=False)

    @property
    def home(self) -> Path:
        """The person's home directory."""
        return Path(self.environ.get("HOME") or "~").expanduser()

    def path(self, given: str | Path) -> Path:
        """A path as a person writes it: from the folder that the command is about, or from a home (`~`).

        Raises:
            UsageError: the home is of nobody here.
        """
        try:
            return self.cwd / Path(given).expanduser()
        except RuntimeError:
            who = str(given).partition("/")[0]
            raise UsageError(f"{given}: nobody is called {who[1:]} here", "Give the whole path.") from None

    def from_top(self, worktree: Path | None, given: str | Path) -> str:
        """The same as a name in the tree: without `..`, and through no link of its own.

        Args:
            worktree: None in a bare repository, where it is given from the top.

        Raises:
            UsageError: it leads out of the work tree.
        """
        path = self.path(given)
        if path.is_relative_to(self.cwd):  # a shell may have come there by a link
            path = Path(os.path.realpath(self.cwd), path.relative_to(self.cwd))
        found = os.path.relpath(path, os.path.realpath(worktree)) if worktree else os.path.normpath(given)
        if found.partition(os.sep)[0] == os.pardir:
            raise UsageError(f"{given} is not inside this work tree", "Name a file of this work tree.")
        return found.replace(os.sep, "/")

    @property
    def data(self) -> Path:
        """Folder of the private repository."""
        return data_folder(self.environ, self.home)

    @property
    def config(self) -> Path:
        """Claude Code's own folder."""
        return claude_folder(self.environ, self.home)


def _catalog(state: Path) -> MemoryCatalog:
    from gitmem.search.catalog import Catalog  # most hooks ask it nothing

    return Catalog.open(state)


def workspace_at(edges: Edges, *, shows: bool = True) -> Workspace:
    """The memory of the repository around `edges.cwd`; `init` need not have run.

    Args:
        shows: whether this process shows texts by `flows.redaction`; a hook's answer goes by rules alone.

    Raises:
        RepositoryError: there is no repository, or it is bare, or it may not be used.
    """
    around = Surroundings(GitCommand(edges.environ), edges.home, edges.data, edges.config, _catalog)
    workspace = open_workspace(around, edges.cwd)
    where = workspace.layout
    if where.bare or where.worktree is None:
        hint = "Run it in a repository with a work tree."
        raise RepositoryError(f"{where.git_dir} has no work tree", hint)
    root = where.worktree
    if where.git_dir != where.common_dir:  # linked: the client takes where its repository is
        root = where.common_dir.parent if where.common_dir.name == ".git" else where.common_dir
    root = root.resolve()

    def auto_memory() -> Path | None:
        from gitmem.transcripts.claude_home import auto_memory_dir, read_settings

        return auto_memory_dir(edges.environ, edges.home, root, read_settings(edges.config))

    opened = Workspace(around, where, workspace.settings, auto_memory)
    if shows:
        from gitmem.flows.redaction import configure

        configure(lambda: opened.allowed, edges.data)
    return opened


def initialised_at(edges: Edges, *, shows: bool = True) -> Workspace:
    """The same, for commands that need `init` to have run.

    Raises:
        RepositoryError: it has not.
    """
    workspace = workspace_at(edges, shows=shows)
    if workspace.settings.get("projectId") and workspace.state.is_dir() and not workspace.has_private:
        raise RepositoryError(
            f"{workspace.private_path}, which holds private memory, is missing or was emptied",
            "Run: git mem doctor",
        )
    if not workspace.initialised:
        raise RepositoryError(f"{workspace.layout.worktree} has no gitmem memory yet", "Run: git mem init")
    return workspace


class _RefsFirst(GitRefs):
    """A repository of which most prompts look at refs; for all else it is opened, by the `git` command."""

    @cached_property
    def _opened(self) -> GitRepository:
        from gitmem.git.by_command import GitRepository

        return GitRepository(self.git, self._where)

    def close(self) -> None:
        if "_opened" in vars(self):
            self._opened.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._opened, name)


def by_command(workspace: Workspace, *, fetches: bool = True) -> Workspace:
    """Opens a workspace's repositories through the `git` command.

    A look needs some ten calls, which together take less time than importing pygit2.

    Args:
        fetches: whether git may fetch what a partial clone lacks; a hook waits for no network.
    """
    git = workspace.git if fetches else replace(workspace.git, fetches=False)
    workspace.code = cast("Repository", _RefsFirst(git, workspace.main_layout))
    if workspace.has_private:
        private = _RefsFirst(git, bare_layout(workspace.private_path, git))
        workspace.private = cast("Repository", private)
    return workspace


def own_text(edges: Edges, name: str, most: int) -> str:
    """A text of the person's own in `$XDG_CONFIG_HOME/gitmem`, where no repository writes.

    Args:
        name: of the file, which may be a link into a folder of theirs.
        most: bytes that are read.

    Returns:
        Empty where there is none.

    Raises:
        OSError: it cannot be read.
    """
    base = Path(edges.environ.get("XDG_CONFIG_HOME", ""))
    path = (base if base.is_absolute() else edges.home / ".config") / "gitmem" / name
    found = read_regular(Path(os.path.realpath(path)), most)
    return found[0][:most].decode("utf-8", "replace") if found else ""
