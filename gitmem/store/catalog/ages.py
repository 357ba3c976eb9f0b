"""How old a memory is: author time of the last change of its body by an agent, extraction or person."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from gitmem.memory.trailers import parse
from gitmem.store.catalog.trees import Trees
from gitmem.store.repository import Commit, MissingObject, Repository

_TEACHERS = frozenset({"agent", "extract", "human"})
_NO_TEACHING = frozenset({"merge", "sync", "page", "dream"})


def body_times(
    repo: Repository,
    trees: Trees,
    tip: str,
    base: str | None,
    paths: Mapping[str, str],
    body: Callable[[str, str], bytes | None],
) -> tuple[dict[str, int], dict[str, str]]:
    """Finds when each memory was last taught, from the commits since `base`, newest first.

    A merge, dream or sync makes no fact young, nor does a move or a change of frontmatter alone.

    Args:
        paths: path to blob at `tip`, of the memories asked about.
        body: (path, blob) to a digest of the memory's body; None where it cannot be read.

    Returns:
        Path to author time (epoch seconds) for those found; and for the others the path that the
        memory had at `base`, where its time may be known. A memory that nobody on the list taught
        has the time of the oldest commit that changed it.
    """
    pending = {path: {path} for path in paths}
    found: dict[str, int] = {}
    oldest: dict[str, int] = {}
    for commit in _since(repo, tip, base):
        if not pending:
            break
        if len(commit.parents) > 1:
            continue
        changes = {path: pair for path, *pair in trees.changes(_tree(repo, commit), commit.tree)}
        gone = {path: old for path, (old, new) in changes.items() if old and not new}
        for path in [path for path in changes if path in pending]:
            before, after = changes[path]
            if after is None:
                continue
            digest = body(path, after)
            if before is not None and body(path, before) == digest:
                continue
            source = None if before else next((p for p, o in gone.items() if body(p, o) == digest), None)
            if source is not None:
                pending.setdefault(source, set()).update(pending.pop(path))
                continue
            if _teaches(commit):
                found.update(dict.fromkeys(pending.pop(path), commit.author.time))
            else:
                oldest.update(dict.fromkeys(pending[path], commit.author.time))
    elsewhere = {name: path for path, names in pending.items() for name in names}
    for name in elsewhere:
        if name in oldest:
            found[name] = oldest[name]
    return found, elsewhere


def _since(repo: Repository, tip: str, base: str | None) -> Iterator[Commit]:
    """Commits reachable from `tip` and not from `base`, children first; ends early at a missing object."""
    known = {base} if base else set()
    open_ends = {tip} - known
    try:
        for commit in repo.history(tip):
            if not open_ends:
                return
            open_ends.discard(commit.oid)
            if commit.oid in known:
                known.update(commit.parents)
                open_ends.difference_update(commit.parents)
            else:
                open_ends.update(parent for parent in commit.parents if parent not in known)
                yield commit
    except MissingObject:
        return


def _tree(repo: Repository, commit: Commit) -> str | None:
    """Tree of the first parent; None at a root, and where a shallow clone ends."""
    if not commit.parents:
        return None
    try:
        return repo.commit(commit.parents[0]).tree
    except MissingObject:
        return None


def _teaches(commit: Commit) -> bool:
    provenance = parse(commit.message)
    return provenance.writer in _TEACHERS and provenance.op not in _NO_TEACHING
