"""What accepting a dream would bring back: claims that a person took out since it was dreamt."""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.core.account import path_of, proposals, references
from gitmem.core.claim import Claim
from gitmem.core.merge import Files, agent_folder, only
from gitmem.core.names import homes
from gitmem.dream.branch import Dream, DreamCommit
from gitmem.store.trees import read_paths


def revived(dream: Dream, chosen: Iterable[DreamCommit], ours: Files, merged: Files) -> dict[str, Claim]:
    """Finds the claims that were taken out since the dream began, and would stand again, in other words.

    In a merge what was edited on one side outlives that the other deleted it. A dream only says again what
    was there, and may not turn a decision on it over. What was worded otherwise meanwhile is no such claim.

    Args:
        ours: the memory ref's files.
        merged: the same with the changes in it.

    Returns:
        Name of each claim, where the dream began, to the claim.
    """
    fates = [fate for change in chosen for fate in change.fates if fate.target]
    repo = dream.scope.repo
    paths = {path_of(fate.source) for fate in fates}
    start = read_paths(repo, repo.commit(dream.ground or dream.base).tree, paths)
    before = references(start)
    standing = _marks(ours)
    alive = {fate.target for fate in fates if _mark(fate.source) in standing or fate.source not in before}
    there = _marks(merged)
    back = [
        fate.source
        for fate in fates
        if fate.target not in alive and _mark(fate.target) in there and _mark(fate.target) not in standing
    ]
    if not back:
        return {}
    places = {home for path in paths for home in (path, *homes(path))}
    now = only(ours, places)
    worded = {one.before for one in proposals(start, now) if one.kind in ("changed", "moved")}
    return {source: before[source] for source in back if source not in worded}


def _marks(files: Files) -> set[tuple[str, str]]:
    return {_mark(ref) for ref in references(files)}


def _mark(reference: str) -> tuple[str, str]:
    """A claim wherever it stands: its agent, and its digits."""
    return agent_folder(path_of(reference)), reference.rpartition("#")[2]
