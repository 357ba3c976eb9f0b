"""What differs between two trees, found without reading what is equal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from gitmem.core.errors import MissingObject
from gitmem.core.limits import PATH_SEGMENTS
from gitmem.core.names import INDEX, is_log
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, TreeEntry

DEEPEST = PATH_SEGMENTS
"""Folder levels that are walked: `<agent>/logs/YYYY/MM/<day>.md` is five; a hostile tree may have more."""


def is_memory(path: str) -> bool:
    """Whether a file of that path is a memory file: see `Trees.changes`, which yields logs as well."""
    parts = path.split("/")
    return (
        path.endswith(".md")
        and 1 < len(parts) <= DEEPEST + 1
        and not (len(parts) == 2 and parts[1] == INDEX)
        and not any(part.startswith(".") or "\\" in part for part in parts)
        and not is_log(path)
    )


class Trees:
    """Reads trees of one repository, each at most once while it is recent."""

    def __init__(self, repo: Repository) -> None:
        self._read = lru_cache(maxsize=512)(repo.tree)

    def changes(self, old: str | None, new: str | None) -> Iterator[tuple[str, str | None, str | None]]:
        """Yields `(path, old blob, new blob)` for each memory file or log that differs, by path.

        Args:
            old, new: object names of root trees; None is the empty tree.

        Such a file is a regular `*.md` below an agent's folder, neither its index nor a dot file.
        A tree that is missing reads as empty.
        """
        yield from self._below("", old, new, 0)

    def _below(
        self, prefix: str, old: str | None, new: str | None, depth: int
    ) -> Iterator[tuple[str, str | None, str | None]]:
        if old == new or depth > DEEPEST:
            return
        before, after = self._level(old), self._level(new)
        same = {name for name, one in before.items() if (other := after.get(name)) and _equal(one, other)}
        for name in sorted((before.keys() | after.keys()) - same):
            one, other = before.get(name), after.get(name)
            if name.startswith(".") or "/" in name or "\\" in name:
                continue
            path = f"{prefix}{name}"
            yield from self._below(f"{path}/", _folder(one), _folder(other), depth + 1)
            if depth and name.endswith(".md") and not (depth == 1 and name == INDEX):
                gone, come = _file(one), _file(other)
                if gone != come:
                    yield path, gone, come

    def _level(self, oid: str | None) -> dict[str, TreeEntry]:
        if oid is None:
            return {}
        try:
            return self._read(oid)
        except MissingObject:
            return {}


def _equal(one: TreeEntry, other: TreeEntry) -> bool:
    return one.oid == other.oid and one.mode == other.mode


def _folder(entry: TreeEntry | None) -> str | None:
    return entry.oid if entry and entry.mode == TREE else None


def _file(entry: TreeEntry | None) -> str | None:
    return entry.oid if entry and entry.mode in (BLOB, EXECUTABLE) else None
