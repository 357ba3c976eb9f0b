"""Takes out of a dream what a person rejected, or has yet to decide on, with all that builds on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from gitmem.core import tombstone
from gitmem.core.account import (
    account,
    is_memory,
    path_of,
    paths_named,
    references,
    reject_keys,
    where_it_goes,
)
from gitmem.core.claim import Claim
from gitmem.core.daily_log import is_log
from gitmem.core.merge import Files, merge_trees, only
from gitmem.core.text import decode, one_line
from gitmem.engines.engine import ConsolidateInput, DreamChange
from gitmem.values import dataclass

_SUBJECT_CHARS = 100


@dataclass(frozen=True)
class Pruned:
    """What is left of the proposals of an engine.

    Attributes:
        changes: in the order in which they apply, each starting from what those before it left.
        log: what was left out and why, one line each.
    """

    changes: tuple[DreamChange, ...]
    log: tuple[str, ...] = ()


def prune(given: ConsolidateInput, changes: tuple[DreamChange, ...]) -> Pruned:
    """Leaves out what is not to be proposed again; every engine's proposals are looked at.

    A change that comes after one that was left out is brought over by a three-way merge. Where that does
    not make of every claim what the change says, it builds on what was left out, and is left out too.

    Args:
        given: what the engine was asked with.
        changes: what it proposed.
    """
    whys = _whys(given, changes)
    if not any(whys):
        return Pruned(changes)
    kept: list[DreamChange] = []
    log: list[str] = []
    # The tree as the engine saw it, and as it is without what was left out.
    theirs, ours = dict(given.files), dict(given.files)
    for change, why in zip(changes, whys, strict=True):
        paths = _paths(change)
        before = only(theirs, paths)
        change.apply_to(theirs)
        brought = None if why else _brought_over(change, before, only(theirs, paths), only(ours, paths))
        if brought is None:
            why = why or "it builds on what was left out"
            log.append(f"left out: {one_line(change.subject, _SUBJECT_CHARS)}: {why}")
        else:
            kept.append(brought)
            brought.apply_to(ours)
    return Pruned(tuple(kept), tuple(log))


def _whys(given: ConsolidateInput, changes: Iterable[DreamChange]) -> list[str]:
    """Why each change is not to be proposed; empty where it may be."""
    unwanted = _unwanted(given)
    whys = []
    state = dict(given.files)
    for change in changes:
        whys.append(unwanted(reject_keys(change.fates, where_it_goes(change.fates, state))))
        change.apply_to(state)
    return whys


def _unwanted(given: ConsolidateInput) -> Callable[[Collection[str]], str]:
    """Tells why a change with these keys is not to be proposed; empty where it may be."""
    buried = [
        tombstone.finder(tombstone.parse(decode(data)), "rejected")
        for path, data in given.files.items()
        if path.rpartition("/")[2] == tombstone.FILE
    ]

    def why(keys: Collection[str]) -> str:
        if any(key in given.waiting for key in keys):
            return "it waits for a person already"
        return "a person rejected it" if any(found(key) for found in buried for key in keys) else ""

    return why


def _brought_over(change: DreamChange, before: Files, after: Files, ours: Files) -> DreamChange | None:
    """The change as made on another tree; None where it would not be the same change there.

    Args:
        before, after: the tree that the change was made on, and what it made of it, at its paths.
        ours: the other tree, there.
    """
    merged = dict(after) if ours == before else merge_trees(before, ours, after).files
    edits = {
        path: merged.get(path) for path in sorted({*ours, *merged}) if merged.get(path) != ours.get(path)
    }
    mine, other = references(ours), references(merged)
    told = all(
        (fate.source in mine or is_log(path_of(fate.source))) and (not fate.target or fate.target in other)
        for fate in change.fates
    )
    doubts = _disputes(other) - _disputes(mine)
    if not edits or not told or doubts or account(ours, merged, change.fates).unaccounted:
        return None
    # What no dream may write is for the proof to refuse.
    foreign = {path: data for path, data in change.edits.items() if not is_memory(path)}
    return replace(change, edits=edits | foreign)


def _disputes(claims: Mapping[str, Claim]) -> set[tuple[str, str]]:
    """Path and mark of each dispute."""
    return {(path_of(ref), claim.dispute) for ref, claim in claims.items() if claim.dispute}


def _paths(change: DreamChange) -> set[str]:
    """All memories that a change is about."""
    return set(filter(is_memory, {*change.edits, *paths_named(change.fates)}))
