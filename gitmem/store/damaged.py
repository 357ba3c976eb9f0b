"""Walks over a history in which objects are missing: as far as it can be read, and no further.

Git gives up as a whole where one commit or tree cannot be read; what is newer can still be told.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitmem.store.repository import Commit, MissingObject, Repository, Touch
from gitmem.store.trees import changed_files, tree_or_none


def touching(repo: Repository, tip: str, paths: Sequence[str] = ()) -> Iterator[Touch]:
    """Yields `Repository.touching`; a commit that cannot be read ends its line of history."""
    given: set[str] = set()
    try:
        for touch in repo.touching(tip, paths):
            given.add(touch.commit)
            yield touch
    except MissingObject:
        for commit in readable(repo, tip):
            found = tuple(path for path in changed(repo, commit) if not paths or _within(path, paths))
            if commit.oid not in given and (found or not paths):
                yield Touch(commit.oid, found)


def lineage(repo: Repository, tip: str, paths: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """`Repository.lineage`, in the same way; merges whose sides come to the same may stay in it."""
    try:
        return repo.lineage(tip, paths)
    except MissingObject:
        pass
    commits = list(readable(repo, tip))
    kept: dict[str, tuple[str, ...]] = {}
    nearest: dict[str, tuple[str, ...]] = {}
    for commit in reversed(commits):
        above = tuple(dict.fromkeys(oid for parent in commit.parents for oid in nearest[parent]))
        if len({nearest[parent] for parent in commit.parents}) > 1 or any(
            _within(path, paths) for path in changed(repo, commit)
        ):
            kept[commit.oid] = above
            above = (commit.oid,)
        nearest[commit.oid] = above
    return dict(reversed(kept.items()))


def changed(repo: Repository, commit: Commit) -> tuple[str, ...]:
    """Files that a commit changed: against its parent, and for a merge against every one of them."""
    trees = [tree_or_none(repo, parent) for parent in commit.parents] or [None]
    try:
        return tuple(sorted(set.intersection(*(changed_files(repo, tree, commit.tree) for tree in trees))))
    except MissingObject:
        return ()


def readable(repo: Repository, tip: str) -> Iterator[Commit]:
    """Commits that can be reached and read, in the order of `history`, less the parents that cannot."""
    found: dict[str, Commit] = {}
    missing: set[str] = set()
    todo = [tip]
    while todo:
        oid = todo.pop()
        if oid not in found and oid not in missing:
            try:
                found[oid] = repo.commit(oid)
                todo += found[oid].parents
            except MissingObject:
                missing.add(oid)
    children = dict.fromkeys(found, 0)
    for oid, commit in found.items():
        found[oid] = replace(commit, parents=tuple(p for p in commit.parents if p in children))
        for parent in found[oid].parents:
            children[parent] += 1
    ready = [(-found[oid].committer.time, oid) for oid, count in children.items() if not count]
    while ready:
        commit = found[heapq.heappop(ready)[1]]
        yield commit
        for parent in commit.parents:
            children[parent] -= 1
            if not children[parent]:
                heapq.heappush(ready, (-found[parent].committer.time, parent))


def _within(path: str, given: Sequence[str]) -> bool:
    for each in given:
        rest = path.partition("/")[2] if each.startswith("*/") else path
        sought = each.removeprefix("*/")
        if rest == sought or rest.startswith(f"{sought}/"):
            return True
    return False
