"""What a shell is told when a person presses TAB for a memory, a session or a word of a verb."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath

import typer

from gitmem.integrations.edges import Edges, by_command, initialised_at, real_edges
from gitmem.memory.archive import hot_path
from gitmem.memory.names import is_memory_file
from gitmem.store.commits import memory_commit
from gitmem.store.trees import list_files


def memory_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Files of the memories that begin like this, hot and archived; none where anything is in the way.

    Only names are read, no content, so that it is quick. What a file is called goes to a shell: names with
    anything but plain characters are left out.
    """
    try:
        workspace = by_command(initialised_at(_edges(ctx)))
        found: set[str] = set()
        for scope in workspace.scopes:
            tip = memory_commit(scope.repo, scope.ref)
            for path in list_files(scope.repo, scope.repo.commit(tip).tree) if tip else ():
                _, _, file = (hot_path(path) or path).partition("/")
                stem = PurePosixPath(file).stem
                if is_memory_file(file) and stem.replace("-", "").replace("_", "").isalnum():
                    found.add(stem)
        return sorted(stem for stem in found if stem.startswith(incomplete))
    except Exception:  # a shell waits at its prompt: nothing may be said there
        return []


def session_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of recorded sessions that begin like this; none where anything is in the way."""
    try:
        from gitmem.integrations.recordings import sessions_here

        edges = _edges(ctx)
        found = {file.id for file in sessions_here(by_command(initialised_at(edges)), edges)}
        return sorted(id for id in found if id.startswith(incomplete) and id.replace("-", "").isalnum())
    except Exception:  # as above
        return []


def words(*choices: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""

    def those(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return those


def _edges(ctx: typer.Context) -> Edges:
    directory = ctx.find_root().params.get("directory")
    return real_edges(Path(directory) if directory else None)
