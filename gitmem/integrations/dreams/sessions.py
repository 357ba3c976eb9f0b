"""Which sessions count towards the next dream of a scope.

Of a repository's own memory (project, local) those that were held in it. What is known about a person
serves in every repository, so for the scope `user` the sessions of Claude Code count wherever they were
held, and of other clients, whose recordings would have to be opened, those of this repository.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from gitmem.integrations.edges import Edges
from gitmem.integrations.sessions import sessions_here
from gitmem.store.workspace import Scope, Workspace

PRESENT = "CLAUDE_CODE_SESSION_ID"
"""Names the session in the environment of what its agent runs."""


def present_session(environ: Mapping[str, str]) -> frozenset[str]:
    """The session in which this process was started, if it was in one."""
    return frozenset({environ.get(PRESENT, "")} - {""})


def count_sessions(
    workspace: Workspace, edges: Edges, place: Scope, since: float, present: Collection[str]
) -> int:
    """Counts sessions that were written to after a time.

    Args:
        since: epoch seconds.
        present: ids of those that are going on, which do not count.
    """
    found = {file.id: file.mtime_ns for file in sessions_here(workspace, edges)}
    if place.name == "user":
        found |= dict(_everywhere(edges))
    return sum(changed > since * 1e9 and id not in present for id, changed in found.items())


def _everywhere(edges: Edges) -> Iterator[tuple[str, int]]:
    """Id and last change (nanoseconds) of each session of Claude Code; no recording is opened."""
    for folder in _entries(edges.config / "projects"):
        if not folder.is_dir(follow_symlinks=False):
            continue
        for file in _entries(folder.path):
            if not file.name.endswith(".jsonl") or file.name.startswith((".", "agent-")):
                continue
            with suppress(OSError):
                status = file.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield file.name.removesuffix(".jsonl"), status.st_mtime_ns


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
