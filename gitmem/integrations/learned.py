"""What was learned, when and from whom: the log of all scopes, or of one memory."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import chain

from gitmem.core.errors import UsageError
from gitmem.core.names import homes
from gitmem.core.text import iso
from gitmem.integrations.words import sound
from gitmem.store.commits import memory_commit
from gitmem.store.gone import places
from gitmem.store.log import LogEntry, entries, entries_of, fates
from gitmem.store.lookup import Ambiguous, chosen_agent, chosen_scopes, find
from gitmem.store.workspace import Scope, Workspace


def learned(
    workspace: Workspace, name: str | None = None, scope: str | None = None, agent: str | None = None
) -> Iterator[tuple[Scope, LogEntry]]:
    """Yields the commits of memory, newest first, over all scopes.

    Args:
        name: only what changed this memory, also one that was deleted; as for `lookup.find`.
        scope, agent: narrow it.

    Raises:
        UsageError: there is and was no such memory, or several have the name.
    """
    if name is not None:
        streams = _named(workspace, name, scope, agent)
    else:
        folder = chosen_agent(agent)
        streams = [
            _with(where, entries(where.repo, tip, (folder,) if folder else ()))
            for where, tip in _tips(workspace, scope)
        ]
    return heapq.merge(*streams, key=lambda pair: -pair[1].time)


def as_value(scope: Scope, entry: LogEntry) -> dict[str, object]:
    """One commit as a value; empty strings where a trailer is missing."""
    told = entry.provenance
    return {
        "commit": entry.commit,
        "scope": scope.name,
        "time": iso(entry.time),
        "author": sound(entry.author),
        "op": told.op,
        "writer": told.writer,
        "engine": sound(told.engine),
        "session": sound(told.session),
        "code_commit": sound(told.code_commit),
        "undoes": sound(told.undoes),
        "subject": sound(entry.subject),
        "paths": [sound(path) for path in entry.paths],
        "claims": fates(told),
    }


def _named(
    workspace: Workspace, name: str, scope: str | None, agent: str | None
) -> list[Iterator[tuple[Scope, LogEntry]]]:
    """The log of a memory, wherever its file stood; a deleted one is known by its file."""
    try:
        found = find(workspace, name, scope, agent, logs=True)
    except Ambiguous:
        raise
    except UsageError as error:
        gone = _deleted(workspace, name, scope, agent)
        if not gone:
            raise error from None
        return gone
    where = workspace.scope(found.scope)
    return [_with(where, entries_of(where.repo, found.commit, homes(found.path)))]


def _deleted(
    workspace: Workspace, name: str, scope: str | None, agent: str | None
) -> list[Iterator[tuple[Scope, LogEntry]]]:
    streams = []
    for where, tip, paths in places(workspace, name, scope, agent):
        log = entries_of(where.repo, tip, paths)
        newest = next(log, None)
        if newest is not None:
            streams.append(_with(where, chain([newest], log)))
    return streams


def _tips(workspace: Workspace, scope: str | None) -> Iterator[tuple[Scope, str]]:
    for where in chosen_scopes(workspace, scope):
        tip = memory_commit(where.repo, where.ref)
        if tip is not None:
            yield where, tip


def _with(scope: Scope, log: Iterable[LogEntry]) -> Iterator[tuple[Scope, LogEntry]]:
    return ((scope, entry) for entry in log)
