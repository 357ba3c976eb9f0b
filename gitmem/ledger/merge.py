"""Merging two commits of a memory ref: the pure merge on what differs, in the same commit everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.limits import OTHER_BYTES
from gitmem.core.merge import SPLIT_DIGITS, MergedTree, merge_trees
from gitmem.core.names import INDEX, is_agent_folder, is_memory_file, twins, unfit
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.objects import is_entry_name
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, TreeEntry
from gitmem.git.trees import (
    CachedObjects,
    Objects,
    changed_files,
    difference,
    hot_files,
    list_files,
    read_paths,
    subtree,
    write_tree,
)
from gitmem.ledger.epochs import refuse_other
from gitmem.ledger.land import ROOT_SIGNATURE
from gitmem.rules.paths import check_path, collision, misfits
from gitmem.values import dataclass

SUBJECT = "Merge memory"

TOO_LARGE = "is too large"
"""How the reason begins for which a file is set aside that has a name that it may have."""

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
    """
    return _merge(repo, ours, theirs, 0)


def merge_of_trees(repo: Repository, base: str, one: str, other: str) -> MergedCommit:
    """Merges trees; there is no commit, so its name stays empty."""
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
    base, *others = bases
    for further in others if depth < DEEPEST else ():
        base = _merge(repo, base, further, depth + 1).commit
    return repo.commit(base).tree


def _trees(repo: Repository, base: str | None, one: str, other: str) -> tuple[MergedCommit, str]:
    held = CachedObjects(repo)
    paths = changed_files(held, base, one) | changed_files(held, base, other)
    aside = set_aside(repo, [tree for tree in (base, one, other) if tree], paths)
    paths -= aside.keys()
    given = paths | twins(paths)
    sides = [read_paths(held, tree, given) if tree else {} for tree in (base, one, other)]
    found, merged = landing(held, one, given, sides[1], merge_trees(*sides))
    edits: dict[str, bytes | TreeEntry | None] = dict(found)
    edits |= _passed_over(held, (base, one, other), aside)
    files = merged.files
    both = tuple(
        path
        for path in sorted({*given, *files})
        if files.get(path) not in (sides[1].get(path), sides[2].get(path))
    )
    moved = _beside_folders(held, one, edits)
    with repo.together():
        tree = write_tree(held, one, edits)
    return MergedCommit("", tree, merged.buried, (*merged.split, *moved), both), tree


def is_writable(path: str) -> bool:
    """Whether git itself takes a path into a tree; a hostile one may hold others all the same."""
    return all(map(is_entry_name, path.split("/")))


def set_aside(repo: Repository, trees: Iterable[str], paths: Set[str]) -> dict[str, str]:
    """Files that stay in a tree as they are, in no merge and in no live directory, each with the reason.

    One file that somebody put on a shared branch by hand keeps nothing else from being shared. What git
    itself takes into no tree does not even stay: it is left in the history that brought it.

    Args:
        trees: in which the paths are looked up.
        paths: the files that are asked about.
    """
    trees, held = list(trees), CachedObjects(repo)
    around = set(paths)
    if not all(map(str.isascii, paths)):  # one may read as another that nobody changed
        around |= {path for tree in trees for path in list_files(repo, tree)}
    found = {path: why for path, why in misfits(around).items() if path in paths}
    blobs: dict[str, str] = {}
    for tree in trees:
        for path in paths - found.keys():
            if entry := _file_at(held, tree, path):
                blobs[entry.oid] = path
    for oid, size in repo.sizes(sorted(blobs)).items():
        if size > OTHER_BYTES:
            found[blobs[oid]] = f"{TOO_LARGE}: it has {size:,} bytes, and {OTHER_BYTES:,} are the most"
    return found


def standing_aside(repo: Repository, tree: str) -> dict[str, str]:
    """Files right in front of agents, in their folders and not in archives, that no folder shows, and why.

    Args:
        tree: the root of a memory tree.
    """
    names: dict[str, str] = {}
    for agent, entry in repo.tree(tree).items():
        if entry.mode == TREE and is_agent_folder(agent):
            names |= {f"{agent}/{name}": name for name in hot_files(repo, tree, agent)}
    try:
        found = set_aside(repo, [tree], names.keys())
    except MissingObject:  # what is damaged is told of by whoever reads it
        found = misfits(names)
    for path, name in names.items():
        if path not in found and name != INDEX and name.endswith(".md") and not is_memory_file(name):
            found[path] = unfit(name) or ""
    return dict(sorted(found.items()))


def _passed_over(
    repo: Objects, trees: tuple[str | None, str, str], paths: Iterable[str]
) -> dict[str, TreeEntry | None]:
    """Entries of files that are set aside, merged as wholes: of two that differ one gets another name."""
    found: dict[str, TreeEntry | None] = {}
    for path in sorted(paths):
        before, ours, theirs = (_file_at(repo, tree, path) if tree else None for tree in trees)
        if not is_writable(path):
            found[path] = None
        elif before == ours:
            found[path] = theirs
        elif before == theirs or ours == theirs or theirs is None:
            found[path] = ours
        elif ours is None:
            found[path] = theirs
        else:
            kept, other = sorted((ours, theirs), key=lambda entry: entry.oid)
            found |= {path: kept, _beside(path, other): other}
    return found


def _file_at(repo: Objects, tree: str, path: str) -> TreeEntry | None:
    entry = repo.entry(tree, path)
    return entry if entry is not None and entry.mode in (BLOB, EXECUTABLE) else None


def _beside(path: str, entry: TreeEntry) -> str:
    spot = PurePosixPath(path)
    return str(spot.with_name(f"{spot.stem}-{entry.oid[:SPLIT_DIGITS]}{spot.suffix}"))


def _beside_folders(
    repo: Objects, tree: str, edits: dict[str, bytes | TreeEntry | None]
) -> tuple[str, ...]:
    """Gives files another name that would stand where the other side has a folder.

    Args:
        tree: what the edits go into; they are changed.

    Returns:
        The new names.
    """
    written = [path for path, data in sorted(edits.items()) if data is not None]
    folders = {"/".join(path.split("/")[:n]) for path in written for n in range(1, path.count("/") + 1)}
    moved: dict[str, TreeEntry] = {}
    for path in written:
        if path in folders or _stays_folder(repo, tree, path, edits):
            file = edits.pop(path)
            entry = TreeEntry(BLOB, repo.add_blob(file)) if isinstance(file, bytes) else file
            moved |= {_beside(path, entry): entry} if entry else {}
    for folder in sorted(folders - edits.keys()):
        if entry := _file_at(repo, tree, folder):
            moved[_beside(folder, entry)] = entry
    edits |= moved
    return tuple(moved)


def _stays_folder(repo: Objects, tree: str, path: str, edits: Mapping[str, object]) -> bool:
    """Whether a tree has a folder at a path of which anything is left after some edits."""
    folder = subtree(repo, tree, path)
    left = changed_files(repo, None, folder, f"{path}/") if folder else set()
    return any(edits.get(file, file) is not None for file in left)


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
    return difference(standing, files), merged


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
    if twins := collision(sorted(paths)):
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
