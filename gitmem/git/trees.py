"""Trees as mappings of path to blob, read and written along the changed paths alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from types import MappingProxyType
from typing import Protocol

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.limits import OTHER_BYTES
from gitmem.core.names import ARCHIVE, LOGS
from gitmem.git.objects import is_entry_name
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, TreeEntry

DEEPEST = 320
"""Folders in one another that are gone into: memory has five at most, and code rarely twenty."""

Edits = Mapping[str, bytes | None]
"""Path to new content; None deletes."""


class Objects(Protocol):
    """What of a repository trees are made of (see `repository.Repository`)."""

    def tree(self, oid: str) -> dict[str, TreeEntry]: ...
    def entry(self, tree: str, path: str) -> TreeEntry | None: ...
    def blob(self, oid: str) -> bytes: ...
    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]: ...
    def add_blob(self, data: bytes) -> str: ...
    def add_tree(self, entries: Mapping[str, TreeEntry]) -> str: ...


class CachedObjects:
    """A repository whose trees and blobs are read once each: for one job that comes back to the same ones.

    What it gave is shared by all who ask for it, and may not be changed.
    """

    def __init__(self, repo: Objects) -> None:
        self._repo = repo
        self._trees: dict[str, dict[str, TreeEntry]] = {}
        self._blobs: dict[str, bytes] = {}
        self.add_blob, self.add_tree = repo.add_blob, repo.add_tree

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        """Reads one level of a tree."""
        if oid not in self._trees:
            self._trees[oid] = self._repo.tree(oid)
        return self._trees[oid]

    def entry(self, tree: str, path: str) -> TreeEntry | None:
        """Reads the one line that a path has in a tree."""
        found: TreeEntry | None = TreeEntry(TREE, tree)
        for name in path.split("/"):
            if found is None or found.mode != TREE:
                return None
            found = self.tree(found.oid).get(name)
        return found

    def blob(self, oid: str) -> bytes:
        """Reads a blob."""
        if oid not in self._blobs:
            self._blobs[oid] = self._repo.blob(oid)
        return self._blobs[oid]

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Reads blobs in one stream; what is missing is left out."""
        self._blobs.update(self._repo.read_blobs([oid for oid in oids if oid not in self._blobs]))
        yield from ((oid, self._blobs[oid]) for oid in oids if oid in self._blobs)


def list_files(
    repo: Repository, tree: str, under: str = "", without: Set[str] = frozenset()
) -> dict[str, str]:
    """Files of a tree at any depth: path to blob name.

    Args:
        tree: object name of the root.
        under: a folder inside it, without a slash at the end; paths stay relative to the root.
        without: folders right below that are not entered.

    Returns:
        Regular files only: links and submodules have no business in a memory tree and are passed over.
    """
    start = subtree(repo, tree, under) if under else tree
    return dict(_walk(repo, start, f"{under}/" if under else "", without)) if start else {}


def hot_files(repo: Repository, tree: str, agent: str) -> dict[str, str]:
    """Files of an agent's folder but those of its archive and logs: path inside the folder to blob name.

    Not one folder of the archive is opened: it may hold any number of memories.

    Args:
        tree: the root of a memory tree.
    """
    folder = subtree(repo, tree, agent)
    return list_files(repo, folder, without=frozenset({ARCHIVE, LOGS})) if folder else {}


def read_files(repo: Repository, tree: str, under: str = "") -> dict[str, bytes]:
    """Files of a tree with their content; arguments as for `list_files`."""
    return read_all(repo, list_files(repo, tree, under))


def read_all(repo: Objects, oids: Mapping[str, str]) -> dict[str, bytes]:
    """Reads blobs by their paths, in one stream.

    Args:
        oids: path to object name.

    Raises:
        MissingObject: one is missing or damaged.
    """
    read = dict(repo.read_blobs(list(dict.fromkeys(oids.values())))) if len(oids) > 1 else {}
    return {path: read[oid] if oid in read else repo.blob(oid) for path, oid in oids.items()}


def subtree(repo: Objects, tree: str, path: str) -> str | None:
    """Object name of a folder inside a tree, or None."""
    entry = repo.entry(tree, path)
    return entry.oid if entry is not None and entry.mode == TREE else None


def read_file(repo: Objects, tree: str, path: str) -> bytes | None:
    """Content of one regular file of a tree, or None where it has none there."""
    entry = repo.entry(tree, path)
    return repo.blob(entry.oid) if entry is not None and entry.mode in (BLOB, EXECUTABLE) else None


def read_log(repo: Repository, tree: str, path: str) -> bytes | None:
    """Content of a daily log; None where a tree has none there, or it is too large to be one."""
    entry = repo.entry(tree, path)
    if entry is None or entry.mode != BLOB or repo.sizes((entry.oid,))[entry.oid] > OTHER_BYTES:
        return None
    return repo.blob(entry.oid)


def tree_or_none(repo: Repository, commit: str | None) -> str | None:
    """Tree of a commit; None for none, and where history ends before it."""
    try:
        return repo.commit(commit).tree if commit else None
    except MissingObject:
        return None


def changed_files(repo: Objects, one: str | None, other: str | None, prefix: str = "") -> set[str]:
    """Paths of regular files that differ between two trees; equal folders are not opened.

    Args:
        one, other: object names of trees; None is the empty tree.

    Raises:
        RepositoryError: folders lie deeper in one another than any memory does.
    """
    if one == other:
        return set()
    _refuse_deep(prefix)
    before, after = (repo.tree(tree) if tree else {} for tree in (one, other))
    changed: set[str] = set()
    for name in [*before, *(after.keys() - before.keys())]:
        entries = old, new = before.get(name), after.get(name)
        if old and new and old.oid == new.oid and old.mode == new.mode:
            continue
        folders = [entry.oid if entry and entry.mode == TREE else None for entry in entries]
        if any(folders):
            changed |= changed_files(repo, folders[0], folders[1], f"{prefix}{name}/")
        files = {entry.oid for entry in entries if entry and entry.mode in (BLOB, EXECUTABLE)}
        if len(files) == 2 or (files and any(e is None or e.mode == TREE for e in entries)):
            changed.add(prefix + name)
    return changed


def read_paths(repo: Objects, tree: str, paths: Set[str]) -> dict[str, bytes]:
    """Content of these files where the tree has them; opens only the folders on the way."""
    return read_all(repo, find_paths(repo, tree, paths))


def find_paths(repo: Objects, tree: str, paths: Set[str]) -> dict[str, str]:
    """The blobs of these files where the tree has them; opens only the folders on the way."""
    found: dict[str, str] = {}
    grouped: dict[str, set[str]] = {}
    entries = repo.tree(tree)
    for path in sorted(paths):
        head, _, rest = path.partition("/")
        entry = entries.get(head)
        if entry is None:
            continue
        if rest and entry.mode == TREE:
            grouped.setdefault(head, set()).add(rest)
        elif not rest and entry.mode in (BLOB, EXECUTABLE):
            found[path] = entry.oid
    for head, rests in grouped.items():
        inner = find_paths(repo, entries[head].oid, rests)
        found |= {f"{head}/{path}": oid for path, oid in inner.items()}
    return found


def difference(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, bytes | None]:
    """The edits that make one of these of the other: path to new content, None to delete; by path."""
    paths = (path for path in sorted({*before, *after}) if before.get(path) != after.get(path))
    return {path: after.get(path) for path in paths}


def write_tree(
    repo: Objects,
    tree: str | None,
    edits: Mapping[str, bytes | TreeEntry | None],
    moves: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Stores a tree with edits applied; folders that no edit lies in are not opened.

    Args:
        tree: the tree to start from; None is the empty one.
        edits: path to new content, or to an entry that is stored already; None deletes. A folder that
            becomes empty goes, and of those that are written anew what git itself takes into none.
        moves: old path to new path of files that change places as they are; no blob is read or written.

    Returns:
        Object name of the new tree.
    """
    changes: dict[str, bytes | TreeEntry | None] = dict(edits)
    folders: dict[str, dict[str, TreeEntry]] = {}
    for old, new in moves.items():
        folder, _, name = old.rpartition("/")
        if folder not in folders:
            at = subtree(repo, tree, folder) if tree and folder else tree
            folders[folder] = repo.tree(at) if at else {}
        changes |= {old: None, new: folders[folder][name]}
    return _edited(repo, tree, changes) or repo.add_tree({})


def _edited(repo: Objects, tree: str | None, edits: Mapping[str, bytes | TreeEntry | None]) -> str | None:
    entries = (
        {name: entry for name, entry in repo.tree(tree).items() if is_entry_name(name)} if tree else {}
    )
    inner: dict[str, dict[str, bytes | TreeEntry | None]] = {}
    for path, data in edits.items():
        head, _, rest = path.partition("/")
        if rest:
            inner.setdefault(head, {})[rest] = data
        elif data is None:
            entries.pop(head, None)
        else:
            entries[head] = data if isinstance(data, TreeEntry) else TreeEntry(BLOB, repo.add_blob(data))
    for head, deeper in inner.items():
        entry = entries.get(head)
        folder = _edited(repo, entry.oid if entry and entry.mode == TREE else None, deeper)
        if folder:
            entries[head] = TreeEntry(TREE, folder)
        elif entry and entry.mode == TREE:
            del entries[head]
    return repo.add_tree(entries) if entries else None


def _walk(
    repo: Repository, tree: str, prefix: str, without: Set[str] = frozenset()
) -> Iterator[tuple[str, str]]:
    _refuse_deep(prefix)
    for name, entry in sorted(repo.tree(tree).items()):
        if entry.mode == TREE and name not in without:
            yield from _walk(repo, entry.oid, f"{prefix}{name}/")
        elif entry.mode in (BLOB, EXECUTABLE):
            yield prefix + name, entry.oid


def _refuse_deep(prefix: str) -> None:
    """Raises where somebody made a tree to be lost in: a fetched one may be as deep as they like."""
    if prefix.count("/") > DEEPEST:
        raise RepositoryError(
            f"{prefix[:60]!a}… lies more than {DEEPEST} folders deep: that is no memory tree",
            "Look at who committed it, and have its branch removed.",
        )


def blob_or_none(repo: Repository, oid: str) -> bytes | None:
    """A blob that may have been collected as garbage."""
    try:
        return repo.blob(oid)
    except MissingObject:
        return None
