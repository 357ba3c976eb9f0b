"""A part of a dream: what memory is with some of its changes, and the commits that make it so.

What memory would be with a dream in it (`whole`, `some`), what that would bring back (`revived`), the same
as commits (`replayed`, `without`), and as a dream of its own (`wait_apart`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from gitmem.core import tombstone
from gitmem.core.account import is_memory, path_of, proposals, references
from gitmem.core.claim import Claim
from gitmem.core.merge import Files, agent_folder, kind, merge_trees, only
from gitmem.core.names import homes, twins
from gitmem.core.trailers import LEFT_OUT, Provenance, format_message
from gitmem.git.trees import read_files, read_paths, write_tree
from gitmem.ledger.dreams import Dream, DreamCommit, own_commits
from gitmem.ledger.land import Tip
from gitmem.ledger.merge import without_collisions
from gitmem.ledger.proposals import dreams_in, let_wait
from gitmem.rules.account import where_they_stand


def whole(dream: Dream, ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """The merge of the dream's memories: it has no say in indexes, hosts' files and tombstones.

    An index is read by every session, and no review shows what a branch made of it.
    """
    repo = dream.scope.repo
    base = read_files(repo, repo.commit(dream.base).tree)
    theirs = {
        path: data
        for path, data in read_files(repo, repo.commit(dream.tip).tree).items()
        if is_memory(path) or base.get(path) == data
    }
    theirs |= {path: base[path] for path in base if path not in theirs and not is_memory(path)}
    return dict(merge_trees(base, ours, theirs).files)


def some(chosen: Iterable[DreamCommit], ours: Mapping[str, bytes]) -> dict[str, bytes]:
    """Applies changes one by one, each as a merge from the state before it."""
    newest = deque(_states(chosen, ours), maxlen=1)
    return newest[0] if newest else dict(ours)


def _states(chosen: Iterable[DreamCommit], ours: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    merged = dict(ours)
    for change in chosen:
        pairs = {path: pair for path, pair in change.files.items() if kind(path) == "memory"}
        before = {path: old for path, (old, _) in pairs.items() if old is not None}
        after = {path: new for path, (_, new) in pairs.items() if new is not None}
        # A memory may have been paged out, or brought back, since.
        places = {*pairs, *twins(pairs)}
        here = only(merged, places)
        stones = {path: data for path, data in merged.items() if path.endswith(f"/{tombstone.FILE}")}
        result = merge_trees(before | stones, here | stones, after | stones)
        standing = {path: data for path, data in merged.items() if path not in places}
        result = without_collisions(result, {*places, *stones}, partial(only, standing))
        merged = standing | result.files
        yield merged


def replayed(dream: Dream, chosen: Iterable[DreamCommit], tip: Tip) -> str:
    """Commits of these changes as they would stand on the memory ref, with what they say; no ref moves.

    Each names the commit that it was made of, as `git cherry-pick -x` does: on the same ground it would
    be that very commit, and the dream would have left the memory ref there.

    Returns:
        The newest of them.
    """
    repo = dream.scope.repo
    changes = list(chosen)
    at, tree = tip.commit, tip.tree
    state = read_files(repo, tree)
    with repo.together():
        for change, after in zip(changes, _states(changes, state), strict=True):
            # An index line that comes back with a memory is no part of what the dream asks for.
            own = {path for path in {*state, *after} if is_memory(path) or path in change.files}
            paths = {path for path in own if state.get(path) != after.get(path)}
            tree = write_tree(repo, tree, {path: after.get(path) for path in paths})
            said = repo.commit(change.commit)
            message = said.message
            for one, here in zip(change.fates, where_they_stand(change.fates, state, after), strict=True):
                message = message.replace(f"Gitmem-Claim: {one.line()}", f"Gitmem-Claim: {here.line()}")
            picked = f"{message.rstrip()}\n{_PICKED} {change.commit})\n"
            at = repo.add_commit(tree, (at,), said.author, said.committer, picked)
            state = after
    return at


_PICKED = "(cherry picked from commit"


def without(dream: Dream, off: Collection[int]) -> str:
    """The dream's commits without some of its changes; commits before the first of them stay as they are.

    A commit that changes nothing keeps the number of each that is left off now, or was before, also at the
    end: a decision is known by its number, which nobody's later commit may get. No ref moves.

    Args:
        off: numbers of changes, at least one of them the dream's.
    """
    repo = dream.scope.repo
    changes = {change.n: change for change in dream.changes}
    begin = min(n for n in changes if n in off)
    first = repo.commit(changes[begin].commit)
    at, who = first.parents[0], first.committer
    told = Provenance(op="dream", writer="dream")
    for n in range(begin, dream.highest + 1):
        tree = repo.commit(at).tree
        if n in changes and n not in off:
            at = replayed(dream, [changes[n]], Tip(at, tree))
            continue
        with repo.together():
            at = repo.add_commit(tree, (at,), who, who, format_message(f"{LEFT_OUT}{n}", told))
    return at


def wait_apart(dream: Dream, changes: Sequence[DreamCommit], ground: str, why: str) -> str:
    """Lets some changes of a dream wait as a dream of their own, made again on a commit of memory.

    Returns:
        Its id, by its content: asked for again after a crash it is the same. Empty where nothing is left of
        them there.
    """
    repo, family = dream.scope.repo, dreams_in(dream.scope)
    tip = Tip(ground, repo.commit(ground).tree)
    made = replayed(dream, changes, tip)
    if repo.commit(made).tree == tip.tree:
        return ""
    id = f"d-{made[: len(dream.id) - 2]}"
    let_wait(family, id, made, f"gitmem review: {why}")
    return id


def summed_up(dream: Dream, base: str, at: str) -> str:
    """These commits with the dream's last one on top, which sums it up; no ref moves."""
    repo = dream.scope.repo
    last = own_commits(repo, dream.tip, base)[-1]
    sums = not last.subject.startswith(LEFT_OUT)
    if dream.summary and sums and last.oid not in {change.commit for change in dream.changes}:
        at = repo.add_commit(repo.commit(at).tree, (at,), last.author, last.committer, last.message)
    return at


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
