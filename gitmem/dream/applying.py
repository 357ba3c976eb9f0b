"""What memory would be with a dream in it, or with some of its changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from gitmem.core import tombstone
from gitmem.core.account import is_memory
from gitmem.core.merge import kind, merge_trees, only
from gitmem.core.names import twins
from gitmem.dream.branch import Dream, DreamCommit
from gitmem.rules.account import where_they_stand
from gitmem.store.commits import Tip
from gitmem.store.merging import without_collisions
from gitmem.store.trees import read_files, write_tree


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
            at = repo.add_commit(tree, (at,), said.author, said.committer, message)
            state = after
    return at
