"""Merging two commits of a memory ref: the pure merge on what differs, in the same commit everywhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from functools import partial

from gitmem.core.errors import RepositoryError
from gitmem.core.merge import MergedTree, agent_folder, merge_trees
from gitmem.core.names import twins
from gitmem.core.tombstone import FILE as TOMBSTONES
from gitmem.core.trailers import Provenance, format_message
from gitmem.rules.paths import check_path, colliding
from gitmem.store.commits import ROOT_SIGNATURE
from gitmem.store.epochs import refuse_other
from gitmem.store.repository import Repository
from gitmem.store.trees import Held, Objects, changed_files, read_paths, write_tree
from gitmem.values import dataclass

SUBJECT = "Merge memory"

DEEPEST = 100
"""Merge bases of merge bases that are merged in turn; deeper down the first one alone has to do."""


@dataclass(frozen=True)
class MergedCommit:
    """Two commits brought together.

    Attributes:
        commit: the merge commit; where one side holds the other, that side.
        tree: its tree.
        buried: (path, text) of claims that a tombstone took from an edit.
        split: paths that moved aside because two different memories wanted one.
        both: paths whose content is neither side's.
    """

    commit: str
    tree: str
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    both: tuple[str, ...] = ()


def merge_commits(repo: Repository, ours: str, theirs: str) -> MergedCommit:
    """Merges two commits; no ref is moved.

    The commit depends on the two commits alone: parents stand sorted by name, author and committer are
    gitmem's own at the later parent's time, so clones that merge the same heads make the same object.

    Args:
        ours, theirs: names of commits; either order gives the same result.

    Raises:
        MissingObject: history is incomplete.
        OtherEpoch: they lie on two sides of a purge.
        RepositoryError: a tree holds a path that no memory tree may hold.
    """
    return _merge(repo, ours, theirs, 0)


def merge_of_trees(repo: Repository, base: str, one: str, other: str) -> MergedCommit:
    """Merges trees; there is no commit, so its name stays empty.

    Raises:
        RepositoryError: a tree holds a path that no memory tree may hold.
    """
    if other in (base, one):
        return MergedCommit("", one)
    merged, tree = _trees(repo, base, one, other)
    return replace(merged, tree=tree)


def _merge(repo: Repository, ours: str, theirs: str, depth: int) -> MergedCommit:
    for newer, older in ((ours, theirs), (theirs, ours)):
        if newer == older or repo.is_ancestor(older, newer):
            return MergedCommit(newer, repo.commit(newer).tree)
    refuse_other(repo, ours, theirs)
    first, second = sorted((ours, theirs))
    one, other = repo.commit(first), repo.commit(second)
    merged, tree = _trees(repo, _base_tree(repo, first, second, depth), one.tree, other.tree)
    time = max(one.committer.time, other.committer.time)
    who = replace(ROOT_SIGNATURE, time=time)
    message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
    oid = repo.add_commit(tree, (first, second), who, who, message)
    return replace(merged, commit=oid)


def _base_tree(repo: Repository, one: str, other: str, depth: int) -> str | None:
    """Tree of the common ancestor; several are merged first, in sorted order."""
    bases = repo.merge_bases(one, other)
    if not bases:
        return None
    base = bases[0]
    for further in bases[1:] if depth < DEEPEST else ():
        base = _merge(repo, base, further, depth + 1).commit
    return repo.commit(base).tree


def _trees(repo: Repository, base: str | None, one: str, other: str) -> tuple[MergedCommit, str]:
    held = Held(repo)
    paths = changed_files(held, base, one) | changed_files(held, base, other)
    check_paths(paths)
    given = paths | {f"{folder}/{TOMBSTONES}" for path in paths if (folder := agent_folder(path))}
    given |= twins(paths)
    sides = [read_paths(held, tree, given) if tree else {} for tree in (base, one, other)]
    edits, merged = landing(held, one, given, sides[1], merge_trees(*sides))
    files = merged.files
    both = tuple(
        path
        for path in sorted({*given, *files})
        if files.get(path) not in (sides[1].get(path), sides[2].get(path))
    )
    with repo.together():
        tree = write_tree(held, one, edits)
    return MergedCommit("", tree, merged.buried, merged.split, both), tree


def landing(
    repo: Objects, tree: str, given: Set[str], ours: Mapping[str, bytes], merged: MergedTree
) -> tuple[dict[str, bytes | None], MergedTree]:
    """What a merge of some paths changes in the tree into which it goes.

    Args:
        tree: that tree.
        given: the paths that were merged.
        ours: what the tree has at them.
        merged: what the merge made.

    Returns:
        Path to new content, None to delete; and the merge, with files that moved aside united with what
        stands where they went.
    """
    read = partial(read_paths, repo, tree)
    merged = without_collisions(merged, given, read)
    files, standing = merged.files, {**ours, **read(set(merged.split) - given)}
    changed = (path for path in sorted({*standing, *files}) if files.get(path) != standing.get(path))
    return {path: files.get(path) for path in changed}, merged


def without_collisions(
    merged: MergedTree, given: Set[str], read: Callable[[set[str]], Mapping[str, bytes]]
) -> MergedTree:
    """Unites a file that moved aside with one that stood at that path all along.

    Args:
        merged: what a merge of some paths made.
        given: the paths that it was given.
        read: content of those of some paths that the tree holds into which the result goes.
    """
    taken = read(set(merged.split) - given)
    files = dict(merged.files)
    for path, data in taken.items():
        files |= merge_trees({}, {path: data}, {path: files[path]}).files
    return replace(merged, files=files)


def check_paths(paths: set[str]) -> None:
    """Raises where a path may not be in a memory tree, or is a file and a folder at once.

    Raises:
        RepositoryError: it names the path.
    """
    if twins := colliding(paths):
        raise RepositoryError(f"{twins[0]!a} and {twins[1]!a} read as one path", _PATH_HINT)
    for path in sorted(paths):
        if reason := check_path(path):
            raise RepositoryError(f"{path!a} may not be in a memory tree: {reason}", _PATH_HINT)
        parts = path.split("/")
        for length in range(1, len(parts)):
            if "/".join(parts[:length]) in paths:
                raise RepositoryError(
                    f"{'/'.join(parts[:length])!a} is a file on one side and a folder on the other",
                    _PATH_HINT,
                )


_PATH_HINT = "Look at who committed it (git log --all -- PATH), and have it taken out of the memory branch."
