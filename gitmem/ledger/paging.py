"""Paging: the hot set of an agent is kept within its limit, the oldest going to the archive.

Nothing of the archive is read but the files asked for, however many it holds. A daily log ages out: once
nothing waits for it any more it leaves the hot days, by a commit that takes no line away. Live directories
lay it out no more; what somebody appends elsewhere meanwhile brings it back (`names.stays_archived`).

The line of what is paged out leaves the index, too, unless a person wrote more there than the memory says:
that is memory itself. It stays in the folder as well, and recall finds what it names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import field
from datetime import UTC, date, datetime, timedelta

from gitmem.core.daily_log import day_of
from gitmem.core.errors import MissingObject
from gitmem.core.limits import HOT_MEMORIES
from gitmem.core.merge import merge_trees
from gitmem.core.names import archive_path, archived_path, hot_file, hot_path, is_memory_file
from gitmem.core.text import counted
from gitmem.core.trailers import Provenance
from gitmem.git.repository import TREE, Repository
from gitmem.git.trees import changed_files, hot_files, list_files, read_file, read_paths, subtree
from gitmem.ledger.indexes import with_indexes
from gitmem.ledger.land import Tip, Write, Written, land
from gitmem.ledger.workspace import Scope
from gitmem.values import dataclass

Ages = Callable[[Tip, Mapping[str, str]], Mapping[str, float]]
"""From a tip and its hot memories (path to blob) to when each was last taught; unknown ones are absent."""

AGED = timedelta(days=14)
"""How old a log's day is before it leaves the hot ones: twice as long as recall finds its lines."""

Waits = Callable[[Tip, Collection[str]], Collection[str]]
"""From a tip and some of its logs to those of which a fact still waits for a dream."""


@dataclass(frozen=True)
class Paging:
    """What changes places in one agent's folder.

    Attributes:
        moves: path in the tree to its path in the archive, the oldest memory first.
        edits: the index without those lines; and what stood hot and archived at once, united.
        united: hot paths of the latter.
    """

    moves: Mapping[str, str] = field(default_factory=dict)
    edits: Mapping[str, bytes | None] = field(default_factory=dict)
    united: tuple[str, ...] = ()


def plan_paging(repo: Repository, tip: Tip, agent: str, ages: Ages, limit: int = HOT_MEMORIES) -> Paging:
    """Decides what of an agent leaves the hot set: the oldest first (author time, then path).

    What the tip itself brought back from the archive goes last, however old it is. A memory that stands in
    both places (hosts merge without knowing of archives) is united where it is hot.

    Args:
        limit: memories that may be hot.
    """
    hot = hot_memories(repo, tip.tree, agent)
    changed = _changed(repo, tip, agent)
    twice = archive_contents(repo, tip.tree, {hot_path(path) or path for path in changed} & hot.keys())
    moves: list[str] = []
    excess = len(hot) - limit
    if excess > 0:
        times = ages(tip, hot)
        back = {path for path in hot.keys() & changed if archived_path(path) in changed}
        order = sorted(hot, key=lambda path: (path in back, times.get(path, 0), path))
        asked: set[str] = set()
        while moves != (moves := [path for path in order if path not in twice][:excess]):
            twice |= archive_contents(repo, tip.tree, set(moves) - asked)
            asked |= set(moves)
    if not moves and not twice:
        return Paging()
    given = read_paths(repo, tip.tree, set(twice))
    edits: dict[str, bytes | None] = {}
    for path, data in sorted(twice.items()):
        united = merge_trees({}, {path: given[path]}, {path: data})
        if beside := read_paths(repo, tip.tree, set(united.split)):
            united = merge_trees(beside, beside | {path: given[path]}, beside | {path: data})
        edits |= united.files
        edits[archived_path(path) or path] = None
    moved: dict[str, bytes | None] = dict.fromkeys(moves)
    indexed = with_indexes(repo, tip.tree, edits | moved)
    edits = {path: data for path, data in indexed.items() if path not in moved}
    places = {path: place for path in moves if (place := archived_path(path))}
    return Paging(places, edits, tuple(sorted(twice)))


def page(scope: Scope, agent: str, ages: Ages | None = None, limit: int = HOT_MEMORIES) -> Written | None:
    """Brings an agent's hot set within its limit by one commit, if it is over it.

    Args:
        agent: folder name in the tree.
        ages: when memories were taught, where history cannot tell; the catalog's unless given.

    Returns:
        The commit, or None where nothing had to change places.
    """
    repo = scope.repo
    if repo.ref(scope.ref) is None:
        return None

    def plan(tip: Tip) -> Write | None:
        found = plan_paging(repo, tip, agent, ages or known_ages(scope), limit)
        if not found.moves and not found.edits:
            return None
        return Write(found.edits, _subject(agent, found), Provenance("page", "sync"), moves=found.moves)

    return land(scope, plan, None)


def known_ages(scope: Scope) -> Ages:
    """Ages as the catalog knows them."""

    def ages(tip: Tip, hot: Mapping[str, str]) -> Mapping[str, float]:
        with closing(scope.catalog()) as catalog:
            return catalog.times(scope.repo, scope.ref, tip.commit, hot)

    return ages


def hot_memories(repo: Repository, tree: str, agent: str) -> dict[str, str]:
    """The hot memories of an agent: path in the tree to blob."""
    found = hot_files(repo, tree, agent)
    return {f"{agent}/{file}": oid for file, oid in found.items() if is_memory_file(file)}


def archive_contents(repo: Repository, tree: str, paths: Iterable[str]) -> dict[str, bytes]:
    """What the archive holds of these memories: hot path to content, where it holds any."""
    places = {place: path for path in paths if (place := archived_path(path))}
    return {places[place]: data for place, data in read_paths(repo, tree, set(places)).items()}


def current_place(repo: Repository, tree: str, agent: str, file: str) -> tuple[str, bytes] | None:
    """Where a memory stands now that stood at `file` before: there, hot, or in the archive.

    Returns:
        Its file inside the agent's folder and its content; None where it is gone.
    """
    hot = hot_file(file)
    for place in dict.fromkeys((file, hot, archive_path(hot))):
        data = read_file(repo, tree, f"{agent}/{place}")
        if data is not None:
            return place, data
    return None


def bring_back(repo: Repository, tree: str, path: str, data: bytes) -> dict[str, bytes | None]:
    """Edits that write a changed memory: what was archived comes back to where the agent sees it.

    Args:
        path: where it stands in the tree.
    """
    hot = hot_path(path)
    if hot is None:
        return {path: data}
    return with_indexes(repo, tree, {path: None, hot: data})


def _changed(repo: Repository, tip: Tip, agent: str) -> set[str]:
    """Paths of an agent that the tip changed against its first parent."""
    parents = repo.commit(tip.commit).parents
    try:
        before = repo.commit(parents[0]).tree if parents else None
    except MissingObject:  # a shallow clone ends here
        return set()
    old, new = (subtree(repo, tree, agent) if tree else None for tree in (before, tip.tree))
    return changed_files(repo, old, new, f"{agent}/")


def _subject(agent: str, plan: Paging) -> str:
    if plan.moves:
        return f"Page {counted(len(plan.moves), 'memory')} of {agent} to the archive"
    return f"Unite {counted(len(plan.united), 'memory')} of {agent} with the archive"


def old_logs(repo: Repository, tree: str, today: date) -> dict[str, str]:
    """The hot logs of a tree that are old enough: path to blob."""
    found: dict[str, str] = {}
    for agent, entry in repo.tree(tree).items():
        if entry.mode == TREE and not agent.startswith("."):
            for file, oid in list_files(repo, entry.oid, "logs").items():
                path = f"{agent}/{file}"
                day = day_of(path)
                if day is not None and day < today - AGED and archived_path(path):
                    found[path] = oid
    return found


def age_out(scope: Scope, now: float, waits: Waits) -> Written | None:
    """Moves old logs to the archive by one commit.

    Args:
        now: epoch seconds.

    Returns:
        The commit, or None where no log is old enough, or a fact of each waits.
    """
    repo = scope.repo
    today = datetime.fromtimestamp(now, UTC).date()
    if repo.ref(scope.ref) is None:
        return None

    def plan(tip: Tip) -> Write | None:
        old = old_logs(repo, tip.tree, today)
        moving = sorted(old.keys() - set(waits(tip, old.keys()))) if old else []
        if not moving:
            return None
        edits, moves = _changes(repo, tip, moving)
        return Write(
            edits, f"Age out {counted(len(moving), 'daily log')}", Provenance("page", "sync"), moves=moves
        )

    return land(scope, plan, None)


def _changes(
    repo: Repository, tip: Tip, logs: Collection[str]
) -> tuple[Mapping[str, bytes | None], Mapping[str, str]]:
    """Edits that unite logs with what the archive has of them, and moves of the others."""
    places = {path: place for path in logs if (place := archived_path(path))}
    twice = archive_contents(repo, tip.tree, places)
    edits: dict[str, bytes | None] = {}
    for path, data in read_paths(repo, tip.tree, set(twice)).items():
        edits[places[path]] = merge_trees({}, {path: data}, {path: twice[path]}).files[path]
        edits[path] = None
    return edits, {path: place for path, place in places.items() if path not in twice}
