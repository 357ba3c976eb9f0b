"""Which recordings are this repository's, and where a subagent's memory belongs, as its definition says.

Definitions in a work tree are a repository's, and hostile: of all they say, one of three words counts.
"""

from __future__ import annotations

from pathlib import Path

from gitmem.core import frontmatter
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode
from gitmem.integrations.edges import Edges
from gitmem.store.files import read_regular
from gitmem.store.symlinks import linked
from gitmem.store.workspace import MAIN, SCOPES, ScopeName, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts.model import Session, SessionFile
from gitmem.transcripts.privacy import ignoring

AGENTS = "agents"
BYTES = 262_144
"""Of a definition: the frontmatter stands at its beginning."""


def sessions_here(workspace: Workspace, edges: Edges) -> tuple[SessionFile, ...]:
    """Recordings of this repository by every client, of all its work trees, oldest change first."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    places = {**discover.folders(edges.environ, edges.home), "claude-code": edges.config}
    return discover.sessions_of(places, tops)


def whole(workspace: Workspace, path: Path) -> Session:
    """All of a session of `main`, without what is to be ignored: to be shown."""
    return discover.read(path, keep=False, ignore=ignoring(workspace.settings.all("ignore")))


def memory_scope(name: str, worktree: Path | None, claude_folder: str, config: Path) -> ScopeName | None:
    """The scope that a subagent's definition names; None where it has no memory.

    The work tree's definition wins over the person's own, as it does for the client.

    Args:
        name: the agent's name, as a hook said it.
        worktree: top of the work tree.
        claude_folder: name of the client's folder in it.
        config: the client's folder of the person.
    """
    if agent_folder(name) is None or unsafe_segment(f"{name}.md") is not None:
        return None
    places = [(worktree, worktree / claude_folder / AGENTS)] if worktree is not None else []
    for anchor, where in [*places, (config, config / AGENTS)]:
        path = where / f"{name}.md"
        if linked(anchor, path):
            continue
        try:
            found = read_regular(path, BYTES)
        except OSError:
            continue
        if found is None:
            continue
        front, _ = frontmatter.split(decode(found[0][:BYTES]))
        said = front.text("memory").strip().lower() if front else ""
        return next((scope for scope in SCOPES if scope == said), None)
    return None


def agent_folder(name: str) -> str | None:
    """The agent's folder in a memory tree; None where no subagent can be called so."""
    try:
        made = agent_name(name)
    except UsageError:
        return None
    return made if made != MAIN and Path(name).name == name else None
