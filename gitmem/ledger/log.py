"""The log of memory: commits of a ref, a folder or one memory, also one that is gone; what they changed.

A memory is followed under the names that it had before. One that is gone is known by its file alone, and is
looked for in the histories that its ref left, too.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from itertools import chain, islice, repeat
from typing import Literal

from gitmem.core.claim import Claim
from gitmem.core.errors import MissingObject, UsageError
from gitmem.core.memory import Memory
from gitmem.core.memory import parse as read_memory
from gitmem.core.names import (
    ARCHIVE,
    archive_path,
    file_name,
    homes,
    hot_path,
    is_memory_file,
    kind,
    log_path,
)
from gitmem.core.trailers import Provenance, parse
from gitmem.git.history import touching
from gitmem.git.repository import Commit, Repository
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.holdings import Spot, chosen_agent
from gitmem.ledger.lookup import Ambiguous, FoundMemory, find, opened, readings
from gitmem.ledger.moments import commits_at, is_root
from gitmem.ledger.push_plan import side_tips
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class LogEntry:
    """One commit of a memory ref.

    Attributes:
        author: name and address, `Ann <ann@example.com>`.
        time: author time, seconds since the epoch.
        paths: files that it changed, from the root of the tree; of those asked about.
    """

    commit: str
    subject: str
    author: str
    time: int
    provenance: Provenance
    paths: tuple[str, ...]


def entries(repo: Repository, tip: str, paths: Sequence[str] = ()) -> Iterator[LogEntry]:
    """Yields the commits of a memory ref, newest first.

    Args:
        paths: files or folders, as for `Repository.touching`; only commits that changed one are given.
            Without any, every commit is but the empty root.
    """
    for touch in touching(repo, tip, paths):
        try:
            commit = repo.commit(touch.commit)
        except MissingObject:
            return
        if not is_root(commit):
            yield LogEntry(
                commit.oid,
                commit.subject,
                f"{commit.author.name} <{commit.author.email}>",
                commit.author.time,
                parse(commit.message),
                touch.paths,
            )


def entries_of(repo: Repository, tip: str, paths: Sequence[str]) -> Iterator[LogEntry]:
    """Yields the commits of one memory, newest first, under the names that it had before as well.

    Args:
        paths: where it stands or stood, as for `Repository.touching`.
    """
    given: set[str] = set()
    asked = [set(paths)]
    todo = [(tip, tuple(paths))]
    while todo:
        start, stood = todo.pop(0)
        for entry in entries(repo, start, stood):
            if entry.commit in given:
                continue
            given.add(entry.commit)
            yield entry
            for parent, old in _before(repo, entry):
                places = {old, *homes(old)}
                if places not in asked:
                    asked.append(places)
                    todo.append((parent, tuple(sorted(places))))


def _before(repo: Repository, entry: LogEntry) -> Iterator[tuple[str, str]]:
    """Where a file that a commit brought was before, in each parent: the rule of the merge decides."""
    from gitmem.core.merge import renames

    try:
        commit = repo.commit(entry.commit)
        came = [path for path in entry.paths if repo.entry(commit.tree, path)]
        for oid in commit.parents if came else ():
            parent = repo.commit(oid)
            if any(repo.entry(parent.tree, home) for path in came for home in homes(path)):
                continue
            changed = changed_files(repo, parent.tree, commit.tree)
            moved = renames(read_paths(repo, parent.tree, changed), read_paths(repo, commit.tree, changed))
            yield from ((oid, old) for old, new in moved.items() if new in came)
    except MissingObject:
        return


def fates(provenance: Provenance) -> dict[str, int]:
    """How many claims a dream kept, merged, superseded and dropped, those that are none left out."""
    return dict(Counter(fate.kind for fate in provenance.claims))


_Log = Iterator[tuple[Scope, LogEntry]]


def log_entries(
    workspace: Workspace,
    name: str | None = None,
    scope: str | None = None,
    agent: str | None = None,
    *,
    merges: bool = False,
) -> Iterator[tuple[Scope, LogEntry]]:
    """Yields the commits of memory, newest first, over all scopes.

    Args:
        name: only what changed this memory, also one that was deleted; as for `lookup.find`. A merge that
            changed it is among them.
        scope, agent: narrow it.
        merges: also, without a name, those that join two lines of memory and teach nothing.

    Raises:
        UsageError: there is and was no such memory, or several have the name.
    """
    if name is not None:
        streams = _named(workspace, name, scope, agent)
    else:
        folder = chosen_agent(agent)
        streams = [
            zip(repeat(where), (one for one in log if merges or one.provenance.op != "merge"))
            for where, tip in commits_at(workspace, scope)
            for log in [entries(where.repo, tip, (folder,) if folder else ())]
        ]
    return heapq.merge(*streams, key=lambda pair: -pair[1].time)


def _named(workspace: Workspace, name: str, scope: str | None, agent: str | None) -> list[_Log]:
    """The log of a memory, wherever its file stood; a deleted one is known by its file."""
    try:
        found = find(workspace, name, scope, agent, logs=True)
    except Ambiguous:
        raise
    except UsageError:
        gone: list[_Log] = []
        for where, tip, paths in places(workspace, name, scope, agent):
            log = entries_of(where.repo, tip, paths)
            gone += [zip(repeat(where), chain([newest], log)) for newest in islice(log, 1)]
        if not gone:
            raise
        return gone
    where = workspace.scope(found.scope)
    return [zip(repeat(where), entries_of(where.repo, found.commit, homes(found.path)))]


def places(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    *,
    deep: bool = False,
) -> Iterator[tuple[Scope, str, tuple[str, ...]]]:
    """Yields where a memory or daily log that is gone may have stood; it is known by its file alone.

    Args:
        name, scope, agent: as for `lookup.find`.
        deep: in whatever folders of the agent, which takes git longer.

    Yields:
        Scope, its tip, and paths as `Repository.touching` takes them.
    """
    paths: list[str] = []
    meanings = readings(name, scope, agent)
    for read in meanings:
        bare = read.name.removesuffix(".md")
        if "/" in bare:
            files = [bare + ".md"] if is_memory_file(bare + ".md") else []
        else:
            files = list(dict.fromkeys((bare + ".md", file_name(bare))))
        if deep and "/" not in bare:
            named = [f"**/{file}" for file in files]
        else:
            named = [place for file in files for place in (file, archive_path(file))]
        with suppress(ValueError):
            day = log_path(date.fromisoformat(bare.rpartition("/")[2]))
            if "/" not in bare or bare.removeprefix(f"{ARCHIVE}/") == day.removesuffix(".md"):
                named += [day, f"{ARCHIVE}/{day}"]
        paths += [f"{chosen_agent(read.agent) or '*'}/{place}" for place in named]
    # No path at all would mean every commit.
    for where, tip in commits_at(workspace, meanings[0].scope) if paths else ():
        yield from ((where, one, tuple(paths)) for one in (tip, *side_tips(where.repo, where.ref)))


def last_known(
    workspace: Workspace,
    name: str,
    scope: str | None = None,
    agent: str | None = None,
    *,
    logs: bool = False,
) -> FoundMemory:
    """Finds a memory that is there, else one that is gone as it last was.

    The beginning of a name is no name. Arguments as for `lookup.find`.

    Raises:
        UsageError: there never was one of that name.
        Ambiguous: several have it, or had it; they are listed.
    """
    try:
        return find(workspace, name, scope, agent, whole=True, logs=logs)
    except Ambiguous:
        raise
    except UsageError:
        gone: list[Spot] = []
        # An address is of one file: nothing deeper is meant.
        for deep in (False, True) if name.count("/") < 2 else (False,):
            spots: dict[str, Spot] = {}
            for where, tip, paths in () if gone else places(workspace, name, scope, agent, deep=deep):
                for path, commit in _last(where.repo, tip, paths).items():
                    if logs or kind(path) == "memory":
                        spot = _spot(where, commit, path)
                        spots.setdefault(spot.address, spot)
            gone += spots.values()
        if not gone:
            raise
    if len(gone) > 1:
        raise Ambiguous(
            f"{name!r} named {len(gone)} memories that are gone: {', '.join(one.address for one in gone)}",
            "Say which: give it as scope/agent/name, or narrow with --scope and --agent.",
        )
    (spot,) = gone
    return opened(workspace, spot)


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


@dataclass(frozen=True)
class ClaimChange:
    """What became of one claim (`+` came, `-` went, `~` was marked) or of a key of the frontmatter."""

    sign: Literal["+", "-", "~"]
    text: str


def claim_diff(path: str, before: bytes | None, after: bytes | None) -> tuple[ClaimChange, ...]:
    """Compares two states of a memory, claim by claim; what only moved or was re-wrapped is no change.

    Args:
        path: for the file's kind: tombstones and host files have no claims, and give nothing.
        before, after: content; None where there is no file.

    Returns:
        Claims that went and came in the order of the texts, then changes of the frontmatter.
    """
    if kind(path) not in ("memory", "index", "log"):
        return ()
    old, new = (read_memory(path, data) if data is not None else None for data in (before, after))
    olds, news = (_claims(memory) for memory in (old, new))
    changes = [ClaimChange("-", claim.text) for id, claim in olds.items() if id not in news]
    changes += [ClaimChange("+", claim.text) for id, claim in news.items() if id not in olds]
    changes += [
        ClaimChange("~", claim.text)
        for id, claim in news.items()
        if id in olds and olds[id].dispute != claim.dispute
    ]
    return (*changes, *_front_changes(old, new))


def _claims(memory: Memory | None) -> dict[str, Claim]:
    return {claim.id: claim for claim in memory.parsed.claims} if memory else {}


def _front_changes(old: Memory | None, new: Memory | None) -> Iterator[ClaimChange]:
    before, after = (memory.description if memory else "" for memory in (old, new))
    if before != after and before:
        yield ClaimChange("-", f"description: {before}")
    if before != after and after:
        yield ClaimChange("+", f"description: {after}")
    if old and new:
        for key in ("name", "type"):
            one, other = getattr(old, key), getattr(new, key)
            if one != other:
                yield ClaimChange("~", f"{key}: {one} -> {other}")
