"""What a shell is told when a person presses TAB for a memory, a session or a word of a verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import typer

from gitmem.app.context import real_edges
from gitmem.core.daily_log import day_of
from gitmem.core.names import file_address, hot_path, is_memory_file
from gitmem.flows.context import Edges, by_command, initialised_at
from gitmem.git.trees import list_files
from gitmem.ledger.land import memory_commit


def memory_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Memories that begin like this, hot and archived; none where anything is in the way.

    One in a folder of the agent's (`topics/deep`) is offered by its stem and by its address there; in full
    (`local/main/topics/deep`) once a slash was typed. Only names are read, no content, so that it is quick.
    What a file is called goes to a shell: names with anything but plain characters are left out.
    """
    return _named(ctx, incomplete, logs=False)


def names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The same, and the dates of daily logs."""
    return _named(ctx, incomplete, logs=True)


def _named(ctx: typer.Context, incomplete: str, *, logs: bool) -> list[str]:
    found: set[str] = set()
    try:
        for scope, path in _paths(ctx):
            agent, _, file = path.partition("/")
            if is_memory_file(file) or (logs and day_of(path) is not None):
                address = file_address(file)
                found |= {address, address.rpartition("/")[2]}
                if "/" in incomplete:
                    found.add(f"{scope}/{agent}/{address}")
        return _plain(found, incomplete)
    except Exception:  # a shell waits at its prompt: nothing may be said there
        return []


def agent_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Agents that have a memory and begin like this, as `memory_names`."""
    try:
        return _plain({path.partition("/")[0] for _, path in _paths(ctx) if "/" in path}, incomplete)
    except Exception:  # as above
        return []


def session_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of recorded sessions that begin like this; none where anything is in the way."""
    try:
        from gitmem.flows.sessions import sessions_here

        edges = _edges(ctx)
        found = {file.id for file in sessions_here(by_command(initialised_at(edges)), edges)}
        return sorted(id for id in found if id.startswith(incomplete) and id.replace("-", "").isalnum())
    except Exception:  # as above
        return []


def review_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of what waits for a decision and begins like this, as `memory_names`."""
    try:
        from gitmem.flows.review import decidable

        found = {item.id for item in decidable(by_command(initialised_at(_edges(ctx))))}
        return _plain(found, incomplete)
    except Exception:  # as above
        return []


def words(*choices: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""

    def those(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return those


def _paths(ctx: typer.Context) -> Iterator[tuple[str, str]]:
    """Scope and path of each file of memory, where it is hot."""
    workspace = by_command(initialised_at(_edges(ctx)))
    for scope in workspace.scopes:
        tip = memory_commit(scope.repo, scope.ref)
        for path in list_files(scope.repo, scope.repo.commit(tip).tree) if tip else ():
            yield scope.name, hot_path(path) or path


def _plain(found: set[str], incomplete: str) -> list[str]:
    safe = (one for one in found if one.translate(dict.fromkeys(map(ord, "-_/"))).isalnum())
    return sorted(one for one in safe if one.startswith(incomplete))


def _edges(ctx: typer.Context) -> Edges:
    directory = ctx.find_root().params.get("directory")
    return real_edges(Path(directory) if directory else None)
