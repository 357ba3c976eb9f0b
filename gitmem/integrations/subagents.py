"""A subagent's session: where its memory belongs, as its definition says, and whether its recording is one.

Definitions in a work tree are a repository's, and hostile: of all they say, one of three words counts.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gitmem.core import frontmatter
from gitmem.core.errors import UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode
from gitmem.integrations.place import read_json, read_regular
from gitmem.store.symlinks import linked
from gitmem.store.workspace import MAIN, SCOPES, ScopeName
from gitmem.transcripts.discover import SessionFile, belongs, first_cwd

AGENTS = "agents"
BYTES = 262_144
"""Of a definition: the frontmatter stands at its beginning."""


def memory_scope(name: str, worktree: Path | None, claude_folder: str, config: Path) -> ScopeName | None:
    """The scope that a subagent's definition names; None where it has no memory.

    The work tree's definition wins over the person's own, as it does for the client.

    Args:
        name: the agent's name, as a hook said it.
        worktree: top of the work tree.
        claude_folder: name of the client's folder in it.
        config: the client's folder of the person.
    """
    if folder(name) is None or unsafe_segment(f"{name}.md") is not None:
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


def folder(name: str) -> str | None:
    """The agent's folder in a memory tree; None where no subagent can be called so."""
    try:
        made = agent_name(name)
    except UsageError:
        return None
    return made if made != MAIN and Path(name).name == name else None


def recordings(sessions: Iterable[SessionFile]) -> Iterator[tuple[Path, str]]:
    """Recordings of the subagents of some sessions, and the name of each one's agent.

    The client writes `agent-<id>.meta.json` beside each, `{"agentType": …}` (seen in 2.1.197).
    """
    for session in sessions:
        if session.client != "claude-code":
            continue
        for meta in sorted((session.path.with_suffix("") / "subagents").glob("agent-*.meta.json")):
            value = read_json(meta, BYTES)
            name = value.get("agentType") if isinstance(value, dict) else None
            if isinstance(name, str) and name:
                yield meta.with_name(meta.name.removesuffix(".meta.json") + ".jsonl"), name


def is_transcript(path: Path, config: Path, tops: Sequence[Path]) -> bool:
    """Whether a path that a hook named is a subagent's recording of this repository.

    It has to lie where the client keeps such recordings, and to have begun in one of the work trees.

    Args:
        config: the client's folder.
        tops: real paths of all work trees.
    """
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        return False
    root = config / "projects"
    for base in dict.fromkeys((root, root.resolve())):
        if not path.is_relative_to(base):
            continue
        inside = path.relative_to(base).parts
        placed = (len(inside) == 4 and inside[2] == "subagents") or len(inside) == 2
        if not placed or not inside[-1].startswith("agent-") or not inside[-1].endswith(".jsonl"):
            return False
        if linked(base, path):
            return False
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except OSError:
            return False
        return is_file and belongs(first_cwd(path), tops)
    return False
