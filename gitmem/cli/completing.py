"""What a shell is told when a person presses TAB for a memory, a session or a word of a verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import typer

from gitmem.core.daily_log import day_of
from gitmem.core.names import hot_path, is_memory_file
from gitmem.integrations.edges import Edges, by_command, initialised_at, real_edges
from gitmem.store.commits import memory_commit
from gitmem.store.trees import list_files


def memory_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Files of the memories that begin like this, hot and archived; none where anything is in the way.

    Only names are read, no content, so that it is quick. What a file is called goes to a shell: names with
    anything but plain characters are left out.
    """
    try:
        found = {
            PurePosixPath(file).stem
            for _, _, file in (path.partition("/") for path in _paths(ctx))
            if is_memory_file(file)
        }
        return _plain(found, incomplete)
    except Exception:  # a shell waits at its prompt: nothing may be said there
        return []


def names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same, and the dates of daily logs."""
    try:
        found = {
            PurePosixPath(path).stem
            for path in _paths(ctx)
            if is_memory_file(path.partition("/")[2]) or day_of(path) is not None
        }
        return _plain(found, incomplete)
    except Exception:  # as above
        return []


def agent_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Agents that have a memory and begin like this, as `memory_names`."""
    try:
        return _plain({path.partition("/")[0] for path in _paths(ctx) if "/" in path}, incomplete)
    except Exception:  # as above
        return []


def session_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of recorded sessions that begin like this; none where anything is in the way."""
    try:
        from gitmem.integrations.sessions import sessions_here

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


def _paths(ctx: typer.Context) -> Iterator[str]:
    workspace = by_command(initialised_at(_edges(ctx)))
    for scope in workspace.scopes:
        tip = memory_commit(scope.repo, scope.ref)
        for path in list_files(scope.repo, scope.repo.commit(tip).tree) if tip else ():
            yield hot_path(path) or path


def _plain(found: set[str], incomplete: str) -> list[str]:
    safe = (one for one in found if one.replace("-", "").replace("_", "").isalnum())
    return sorted(one for one in safe if one.startswith(incomplete))


def _edges(ctx: typer.Context) -> Edges:
    directory = ctx.find_root().params.get("directory")
    return real_edges(Path(directory) if directory else None)
