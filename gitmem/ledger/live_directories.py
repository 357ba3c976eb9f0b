"""Live directories: the folders that agents read and write, and which scope each of them shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gitmem.core.errors import UsageError
from gitmem.core.names import agent_folder_name, agent_name
from gitmem.ledger.files import linked
from gitmem.ledger.layout import record_key
from gitmem.ledger.workspace import MAIN, Scope, ScopeName, Workspace
from gitmem.values import dataclass

LIVE_FOLDERS: dict[ScopeName, str] = {"project": "agent-memory", "local": "agent-memory-local"}


@dataclass(frozen=True)
class LiveDirectory:
    """A folder that an agent reads and writes.

    Attributes:
        scope: scope that it shows.
        agent: the agent's folder name in the tree (escaped).
        path: the folder; may be missing.
        anchor: folder above it that is trusted: no link is followed between the two.
        tracked: whether the code branch tracks files in it, which makes it read-only to gitmem.
        home: git directory of the code repository that it belongs to, where its place does not tell.
    """

    scope: Scope
    agent: str
    path: Path
    anchor: Path
    tracked: bool = False
    home: str = ""

    @property
    def key(self) -> str:
        """Name of its record and lock."""
        return record_key(self.path)


def live_directories(workspace: Workspace, worktree: Path | None = None) -> tuple[LiveDirectory, ...]:
    """Live directories that exist for one work tree, the current one unless given, in a fixed order."""
    top = worktree or workspace.layout.worktree
    found: list[LiveDirectory] = []
    if top is not None:
        for name, folder in LIVE_FOLDERS.items():
            parent = top / workspace.claude_folder / folder
            if not _is_personal(workspace, parent):
                found += _agents(workspace.scope(name), parent, top)
        tracked = _tracked(workspace, top) if found else ()
        found = [replace(live, tracked=live.path.relative_to(top).as_posix() in tracked) for live in found]
    auto = workspace.auto_memory
    if auto is not None and auto.is_dir():
        found.append(_auto(workspace, auto))
        if (auto / "team").is_dir():
            found.append(_team(workspace, auto))
    config = workspace.around.config
    found += _agents(workspace.scope("user"), config / "agent-memory", config)
    return tuple(found)


def live_directory(
    workspace: Workspace, scope: ScopeName, agent: str, worktree: Path | None = None
) -> LiveDirectory | None:
    """Where an agent's memory of a scope is laid out, whether or not it exists; None for nowhere.

    Args:
        agent: folder name in the tree.
        worktree: top of the work tree; the current one where None.
    """
    top, auto = worktree or workspace.layout.worktree, workspace.auto_memory
    if agent == MAIN and scope == "local":
        return _auto(workspace, auto) if auto is not None else None
    if agent == MAIN and scope == "user":
        return None
    if agent == MAIN and auto is not None and (auto / "team").is_dir():
        return _team(workspace, auto)
    try:
        folder = agent_folder_name(agent)
    except UsageError:
        return None
    if Path(folder).name != folder:
        return None
    if scope == "user":
        config = workspace.around.config
        return LiveDirectory(workspace.scope("user"), agent, config / "agent-memory" / folder, config)
    if top is None:
        return None
    path = top / workspace.claude_folder / LIVE_FOLDERS[scope] / folder
    if _is_personal(workspace, path.parent):
        return None
    tracked = path.relative_to(top).as_posix() in _tracked(workspace, top)
    return LiveDirectory(workspace.scope(scope), agent, path, top, tracked)


def _is_personal(workspace: Workspace, parent: Path) -> bool:
    """Whether a folder of this work tree is the person's own: a home directory may be a work tree."""
    return parent.resolve() == (workspace.around.config / "agent-memory").resolve()


def _auto(workspace: Workspace, folder: Path) -> LiveDirectory:
    home = str(workspace.layout.common_dir)
    return LiveDirectory(workspace.scope("local"), MAIN, folder, folder.parent, home=home)


def _team(workspace: Workspace, folder: Path) -> LiveDirectory:
    return LiveDirectory(workspace.scope("project"), MAIN, folder / "team", folder)


def _agents(scope: Scope, parent: Path, anchor: Path) -> Iterator[LiveDirectory]:
    if not parent.is_dir() or linked(anchor, parent):
        return
    for path in sorted(parent.iterdir()):
        if path.is_dir() and not path.is_symlink() and not path.name.startswith("."):
            try:
                yield LiveDirectory(scope, agent_name(path.name), path, anchor)
            except UsageError:
                continue


def _tracked(workspace: Workspace, top: Path) -> frozenset[str]:
    """Agents' folders (relative to the work tree) in which the code branch tracks a file."""
    folders = tuple(f"{workspace.claude_folder}/{folder}/" for folder in LIVE_FOLDERS.values())
    files = (path for path in workspace.tracked_files(top) if path.startswith(folders))
    return frozenset("/".join(path.split("/")[:3]) for path in files)
