"""Memories that are gone from the tip of their ref: where they stood, and how they last were."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import date

from gitmem.core.errors import UsageError
from gitmem.core.memory import parse
from gitmem.core.names import ARCHIVE, archive_path, file_name, homes, hot_path, kind, log_path
from gitmem.store.commits import memory_commit
from gitmem.store.days import asked_day
from gitmem.store.log import entries
from gitmem.store.lookup import Ambiguous, Found, Spot, chosen_agent, chosen_scopes, find
from gitmem.store.repository import Commit, Repository
from gitmem.store.unshared import kept
from gitmem.store.workspace import SCOPES, Scope, Workspace


def places(
    workspace: Workspace, name: str, scope: str | None = None, agent: str | None = None
) -> Iterator[tuple[Scope, str, tuple[str, ...]]]:
    """Yields where a memory or daily log that is gone may have stood; it is known by its file alone.

    Args:
        name, scope, agent: as for `lookup.find`.

    Yields:
        Scope, its tip, and paths as `Repository.touching` takes them.
    """
    asked = asked_day(name)
    if asked is not None:
        name = "/".join(filter(None, (asked.scope, asked.agent, asked.day.isoformat())))
    *led, last = name.strip().split("/")
    scope = scope or next((word for word in led[:1] if word in SCOPES), None)
    agent = agent or next((word for word in led[-1:] if word != scope), None)
    folder = chosen_agent(agent) or "*"
    files = dict.fromkeys((f"{last.removesuffix('.md')}.md", file_name(last.removesuffix(".md"))))
    named = [place for file in files for place in (file, archive_path(file))]
    with suppress(ValueError):
        day = log_path(date.fromisoformat(last.removesuffix(".md")))
        named += [day, f"{ARCHIVE}/{day}"]
    paths = tuple(f"{folder}/{place}" for place in named)
    for where in chosen_scopes(workspace, scope):
        tip = memory_commit(where.repo, where.ref)
        if tip is not None:
            yield where, tip, paths
            # What was gone before it was shared is in no history that others have.
            yield from ((where, one, paths) for one in kept(where.repo) if where.name == "project")


def last_known(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    *,
    logs: bool = False,
) -> Found:
    """Finds a memory that is there, else one that is gone as it last was.

    A memory that is gone comes before one whose name only begins like it. Arguments as for `lookup.find`.

    Raises:
        UsageError: there never was one of that name.
        Ambiguous: several have it, or had it; they are listed.
    """
    try:
        return find(workspace, name, scope, agent, whole=True, logs=logs)
    except Ambiguous:
        raise
    except UsageError:
        spots: dict[str, Spot] = {}
        for where, tip, paths in places(workspace, name, scope, agent):
            for path, commit in _last(where.repo, tip, paths).items():
                if logs or kind(path) == "memory":
                    spot = _spot(where, commit, path)
                    spots.setdefault(spot.address, spot)
        gone = list(spots.values())
    if not gone:
        return find(workspace, name, scope, agent, logs=logs)
    if len(gone) > 1:
        raise Ambiguous(
            f"{name!r} named {len(gone)} memories that are gone: {', '.join(one.address for one in gone)}",
            "Say which: give it as scope/agent/name, or narrow with --scope and --agent.",
        )
    (spot,) = gone
    memory = parse(spot.file, workspace.scope(spot.scope).repo.blob(spot.blob))
    return Found(spot.scope, spot.agent, spot.file, memory, spot.blob, spot.commit)


def _last(repo: Repository, tip: str, paths: tuple[str, ...]) -> dict[str, Commit]:
    """The newest commit that still had each memory which once stood at one of these paths."""
    found: dict[str, tuple[str, Commit]] = {}
    for entry in entries(repo, tip, paths):
        for path in entry.paths:
            hot = hot_path(path) or path
            if hot not in found and (last := _held(repo, entry.commit, hot)):
                found[hot] = last
    return dict(found.values())


def _held(repo: Repository, oid: str, hot: str) -> tuple[str, Commit] | None:
    """Where a memory stood in a commit, or in the parent from which that commit took it."""
    commit = repo.commit(oid)
    for one in (commit, *map(repo.commit, commit.parents)):
        for place in homes(hot):
            if repo.entry(one.tree, place):
                return place, one
    return None


def _spot(scope: Scope, commit: Commit, path: str) -> Spot:
    agent, _, file = path.partition("/")
    entry = scope.repo.entry(commit.tree, path)
    assert entry is not None  # noqa: S101 - `_held` saw it there
    return Spot(scope.name, agent, file, entry.oid, commit.oid)
