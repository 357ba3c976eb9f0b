"""How much dreams may give up in a month, worked out from the trees of the dreams that landed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gitmem.core.account import claims_at, is_memory, path_of
from gitmem.core.daily_log import is_log
from gitmem.core.errors import MissingObject
from gitmem.core.merge import Files
from gitmem.core.trailers import Fate, parse
from gitmem.git.repository import BLOB, EXECUTABLE, Commit, CommitDiff, Repository
from gitmem.git.trees import read_files, read_paths
from gitmem.ledger.dreams import dreamt
from gitmem.rules.account import FLOOR, SHARE, Mark, agent_of, given_up
from gitmem.rules.paths import check_path

WINDOW = 30 * 86_400
"""Seconds in which a tenth of the claims may go."""

LAG = 64
"""Commits older than the window in a row after which history is not followed further: clocks differ."""

_FEW = 8
"""Paths that are looked up one by one; for more, the folders that they are in are read."""

_JOINS = frozenset({"merge", "sync"})
"""Operations of merges that bring together what stood before, and land nothing."""


def allowance(repo: Repository, tip: str, now: float, files: Files | None = None) -> int:
    """How many claims the next dream may drop or supersede.

    Args:
        tip: commit of the memory ref.
        now: epoch seconds.
        files: its memories, where they are read already.
    """
    used = len(spent(repo, tip, now))
    return max(0, limit(repo, tip, files) - used)


def limit(repo: Repository, tip: str, files: Files | None = None) -> int:
    """How many claims dreams may drop or supersede in 30 days: a tenth of the scope's, and 3 at least."""
    if files is None:
        files = read_files(repo, repo.commit(tip).tree)
    number = sum(len(claims_at(path, data)) for path, data in files.items() if is_memory(path))
    return max(FLOOR, number // SHARE)


def spent(repo: Repository, tip: str, now: float) -> frozenset[Mark]:
    """The claims that dreams gave up in the 30 days before, and that do not stand again.

    A dream lands by merge, squash or rebase; its commits are known by their trailers, and what they did by
    their trees alone.

    Args:
        tip: commit of the memory ref.
        now: epoch seconds.
    """
    landed, edge = _landed(repo, tip, now - WINDOW)
    if not landed:
        return frozenset()
    found: dict[Mark, set[str]] = {}
    try:
        for step in repo.steps(tip, without=edge):
            if step.commit.oid in landed and step.commit.parents:
                for mark, source in _given_up(repo, step).items():
                    found.setdefault(mark, set()).add(path_of(source))
    except MissingObject:
        pass
    here = read_paths(repo, repo.commit(tip).tree, set().union(*found.values())) if found else {}
    again = {(agent_of(path), claim.key) for path, data in here.items() for claim in claims_at(path, data)}
    return frozenset(found.keys() - again)


def named(repo: Repository, tree: str, old: Files, new: Files, fates: tuple[Fate, ...]) -> Files:
    """Memories of a tree that no change touched, and that claims are said to have gone to."""
    by_source = {fate.source: fate for fate in fates if not is_log(path_of(fate.source))}
    wanted: set[str] = set()
    for fate in (*by_source.values(), *(one for one in fates if is_log(path_of(one.source)))):
        path = path_of(fate.source)
        if path in old or not fate.source or is_log(path):
            wanted.add(path_of(fate.target))
    wanted = {path for path in wanted if _readable(path) and path not in old and path not in new}
    if len(wanted) > _FEW:
        return read_paths(repo, tree, wanted)
    found = {}
    for path in wanted:
        entry = repo.entry(tree, path)
        if entry is not None and entry.mode in (BLOB, EXECUTABLE):
            found[path] = repo.blob(entry.oid)
    return found


def _readable(path: str) -> bool:
    return is_memory(path) and check_path(path) is None


def _given_up(repo: Repository, step: CommitDiff) -> dict[Mark, str]:
    """What one landed commit gave up: its first parent against it."""
    fates = parse(step.commit.message).claims
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    for path, gone, come in step.before[0]:
        if is_memory(path):
            old |= {path: repo.blob(gone)} if gone else {}
            new |= {path: repo.blob(come)} if come else {}
    if not old:
        return {}
    more = named(repo, step.commit.tree, old, new, fates)
    return given_up({**old, **more}, {**new, **more}, fates, lost=True)


def _landed(repo: Repository, tip: str, since: float) -> tuple[frozenset[str], tuple[str, ...]]:
    """Dreams' commits that came to a memory ref since a time, and the commits at which the search ended."""
    chain, brought = tip, dict[str, int]()
    dreams: set[str] = set()
    times: dict[str, int] = {}
    parents: dict[str, tuple[str, ...]] = {}
    late = 0
    for commit in _history(repo, tip):
        said = parse(commit.message)
        parents[commit.oid] = commit.parents
        straight = commit.oid == chain
        if straight:
            chain = commit.parents[0] if commit.parents else ""
        # A branch that waited for months is as young as the merge that landed it.
        time = commit.committer.time if straight else max(commit.committer.time, brought.get(commit.oid, 0))
        late = 0 if time >= since else late + 1
        if late > LAG:
            break
        times[commit.oid] = time
        if dreamt(said) or said.claims:
            dreams.add(commit.oid)
        for parent in commit.parents[:1] if said.op in _JOINS else commit.parents:
            handed = time if parent != chain and parent != commit.parents[0] else brought.get(commit.oid, 0)
            brought[parent] = max(brought.get(parent, 0), handed)
    edge = {parent for found in parents.values() for parent in found if parent not in parents}
    _follow(times, parents, since + WINDOW)
    return frozenset(oid for oid in dreams if times[oid] >= since), tuple(sorted(edge))


def _follow(times: dict[str, int], parents: Mapping[str, tuple[str, ...]], now: float) -> None:
    """Makes no commit older than what it builds on: a date can be written by whoever commits.

    A parent that is dated after the present says nothing; its clock was wrong.

    Args:
        times: name of each commit to epoch seconds, changed in place; newest first.
    """
    moved = True
    while moved:
        moved = False
        for oid in reversed(times):
            known = [times[one] for one in parents[oid] if one in times and times[one] <= now]
            if known and max(known) > times[oid]:
                times[oid], moved = max(known), True


def _history(repo: Repository, tip: str) -> Iterator[Commit]:
    """The history as far as it is here: a checkout in CI may be shallow."""
    try:
        yield from repo.history(tip)
    except MissingObject:
        return
