"""The log of a memory ref: its commits, all of them, those of a folder, or those of one memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitmem.core.names import homes
from gitmem.core.trailers import Provenance, parse
from gitmem.store.damaged import touching
from gitmem.store.history import is_root
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.trees import changed_files, read_paths


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


def fates(provenance: Provenance) -> dict[str, int]:
    """How many claims a dream kept, merged, superseded and dropped, those that are none left out."""
    return dict(Counter(fate.kind for fate in provenance.claims))


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
