"""All that a memory ever was: its paths through renames and the archive, and what commits say of it."""

from __future__ import annotations

from gitmem.core.memory import Memory, parse
from gitmem.core.merge import kind
from gitmem.core.names import archived_path, hot_path
from gitmem.core.purge import Purge, unfit
from gitmem.store.repository import Difference, Repository
from gitmem.store.trees import blob_or_none

_Moves = list[tuple[tuple[str, str], tuple[str, str]]]


def whole_memory(repo: Repository, tip: str, path: str) -> Purge:
    """What has to go for a memory to be gone from history.

    Args:
        path: where it stands or stood in the tree.

    Raises:
        MissingObject: history is incomplete.
    """
    contents: dict[str, set[str]] = {}
    moves: _Moves = []
    for step in repo.steps(tip):
        for before in step.before:
            moves += _moves(before)
            for place, *blobs in before:
                contents.setdefault(place, set()).update(filter(None, blobs))
    paths = _with_twins({path})
    while True:
        more = {
            there
            for old, new in moves
            for here, there in ((old[0], new[0]), (new[0], old[0]))
            if here in paths and there not in paths and _is_same(repo, old, new)
        }
        if not more:
            break
        paths |= _with_twins(more)
    said: set[str] = set()
    for place in paths:
        for oid in contents.get(place, ()):
            data = blob_or_none(repo, oid)
            if data is not None:
                said |= _said(parse(place, data))
    return Purge(memories=frozenset(paths), said=frozenset(text for text in said if unfit(text) is None))


def _moves(before: tuple[Difference, ...]) -> _Moves:
    """Pairs of a memory that went and one that came, of one agent, in one commit."""
    gone = [(path, old) for path, old, new in before if old and new is None and kind(path) == "memory"]
    come = [(path, new) for path, old, new in before if new and old is None and kind(path) == "memory"]
    return [
        (one, other)
        for one in gone
        for other in come
        if one[0].partition("/")[0] == other[0].partition("/")[0]
    ]


def _is_same(repo: Repository, old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Whether one is the other renamed: the same name, or at least half of the claims (design.md 6)."""
    if old[1] == new[1]:
        return True
    sides = [blob_or_none(repo, oid) for _, oid in (old, new)]
    if sides[0] is None or sides[1] is None:
        return False
    one, other = parse(old[0], sides[0]), parse(new[0], sides[1])
    keys = [{claim.key for claim in memory.claims} for memory in (one, other)]
    common = keys[0] & keys[1]
    return one.name == other.name or 2 * len(common) >= max(map(len, keys)) > 0


def _with_twins(paths: set[str]) -> set[str]:
    hot = {hot_path(path) or path for path in paths}
    return hot | paths | {place for path in hot if (place := archived_path(path))}


def _said(memory: Memory) -> set[str]:
    return {memory.name, memory.description, *(claim.key for claim in memory.claims)}
