"""A repository in memory: just enough of the interface for what only reads objects."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from gitmem.core.errors import MissingObject
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Commit, CommitDiff, Signature, TreeEntry
from gitmem.search.catalog import Catalog
from gitmem.search.text import read_memory

REF = "refs/gitmem/project"
START = 1_790_000_000
DAY = 86_400


def memory(name: str, description: str = "", body: str = "", type: str = "feedback") -> str:
    """A memory file."""
    return f"---\nname: {name}\ndescription: {description}\ntype: {type}\n---\n\n{body}\n"


Value = TypeVar("Value")

Base: Any = object
"""Stands in for a `Repository`, of which it has no more than is below."""


class MemoryRepository(Base):
    """Objects by name; `opened` lists the blobs that were read, in order."""

    git_dir = Path("/nowhere")
    hex_length = 40

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, TreeEntry]] = {}
        self.commits: dict[str, Commit] = {}
        self.opened: list[str] = []
        self.trees_read = 0

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        """All that is in here goes back to where memory begins."""
        return True

    def blob(self, oid: str) -> bytes:
        self.opened.append(oid)
        return self._get(self.blobs, oid)

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Those that are there, in order."""
        for oid in oids:
            self.opened.append(oid)
            if oid in self.blobs:
                yield oid, self.blobs[oid]

    def tree(self, oid: str) -> dict[str, TreeEntry]:
        self.trees_read += 1
        return self._get(self.trees, oid)

    def commit(self, oid: str) -> Commit:
        return self._get(self.commits, oid)

    def history(self, tip: str) -> Iterator[Commit]:
        """Children before parents, newest first among equals."""
        children: dict[str, int] = {tip: 0}
        todo = [tip]
        while todo:
            for parent in self.commit(todo.pop()).parents:
                if parent not in children:
                    todo.append(parent)
                children[parent] = children.get(parent, 0) + 1
        ready = [(-self.commit(tip).committer.time, tip)]
        while ready:
            commit = self.commit(heapq.heappop(ready)[1])
            yield commit
            for parent in commit.parents:
                children[parent] -= 1
                if not children[parent]:
                    heapq.heappush(ready, (-self.commit(parent).committer.time, parent))

    def steps(
        self, tip: str, paths: Sequence[str] = (), without: Sequence[str] = ()
    ) -> Iterator[CommitDiff]:
        """Parents before children; a path is a file's."""
        known = {commit.oid for oid in without for commit in self.history(oid)}
        for commit in reversed(list(self.history(tip))):
            trees = [self.commit(parent).tree for parent in commit.parents] or [""]
            now = self.files(commit.tree)
            before = tuple(
                tuple(
                    (path, old.get(path), now.get(path))
                    for old in [self.files(tree) if tree else {}]
                    for path in sorted({*old, *now})
                    if old.get(path) != now.get(path) and (not paths or path in paths)
                )
                for tree in trees
            )
            if commit.oid not in known and (any(before) or not paths):
                yield CommitDiff(commit, before)

    def files(self, tree: str, prefix: str = "") -> dict[str, str]:
        found: dict[str, str] = {}
        for name, entry in self.trees[tree].items():
            if entry.mode == TREE:
                found |= self.files(entry.oid, f"{prefix}{name}/")
            elif entry.mode in (BLOB, EXECUTABLE):
                found[prefix + name] = entry.oid
        return found

    def put(
        self,
        files: Mapping[str, str | bytes],
        *parents: str,
        time: int = START,
        message: str = "Learn\n",
        modes: Mapping[str, int] | None = None,
    ) -> str:
        """Commits a whole tree given as path to content; `modes` overrides file modes by path."""
        root = self._tree(files, modes or {}, "")
        who = Signature("Ann", "ann@example.com", time)
        oid = self._name("commit", f"{root} {parents} {time} {message}".encode())
        self.commits[oid] = Commit(oid, root, parents, who, who, message)
        return oid

    def _tree(self, files: Mapping[str, str | bytes], modes: Mapping[str, int], prefix: str) -> str:
        entries: dict[str, TreeEntry] = {}
        folders: dict[str, dict[str, str | bytes]] = {}
        for path, content in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = content
            else:
                data = content.encode() if isinstance(content, str) else content
                oid = self._name("blob", data)
                self.blobs[oid] = data
                entries[first] = TreeEntry(modes.get(prefix + first, BLOB), oid)
        for name, below in folders.items():
            entries[name] = TreeEntry(TREE, self._tree(below, modes, f"{prefix}{name}/"))
        oid = self._name("tree", repr(sorted(entries.items())).encode())
        self.trees[oid] = entries
        return oid

    @staticmethod
    def _name(kind: str, data: bytes) -> str:
        return hashlib.sha1(kind.encode() + b"\0" + data, usedforsecurity=False).hexdigest()

    @staticmethod
    def _get(store: Mapping[str, Value], oid: str) -> Value:
        try:
            return store[oid]
        except KeyError:
            raise MissingObject(f"object {oid} is missing") from None


def follow(
    catalog: Catalog,
    fake: MemoryRepository,
    files: Mapping[str, str | bytes],
    *parents: str,
    ref: str = REF,
    time: int = START,
) -> str:
    """Commits a whole tree and brings a catalog up to date with it; the commit."""
    tip = fake.put(files, *parents, time=time)
    assert catalog.bring_up_to_date(fake, ref, tip, read_memory)
    return tip
