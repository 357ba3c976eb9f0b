"""A repository in memory: just enough of the interface for what only reads objects."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping

from gitmem.store.repository import BLOB, TREE, Commit, Entry, MissingObject, Signature

START = 1_790_000_000
DAY = 86_400


class MemoryRepository:
    """Objects by name; `opened` lists the blobs that were read, in order."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}
        self.trees: dict[str, dict[str, Entry]] = {}
        self.commits: dict[str, Commit] = {}
        self.opened: list[str] = []
        self.trees_read = 0

    def blob(self, oid: str) -> bytes:
        self.opened.append(oid)
        return self._get(self.blobs, oid)

    def tree(self, oid: str) -> dict[str, Entry]:
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
        entries: dict[str, Entry] = {}
        folders: dict[str, dict[str, str | bytes]] = {}
        for path, content in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = content
            else:
                data = content.encode() if isinstance(content, str) else content
                oid = self._name("blob", data)
                self.blobs[oid] = data
                entries[first] = Entry(modes.get(prefix + first, BLOB), oid)
        for name, below in folders.items():
            entries[name] = Entry(TREE, self._tree(below, modes, f"{prefix}{name}/"))
        oid = self._name("tree", repr(sorted(entries.items())).encode())
        self.trees[oid] = entries
        return oid

    @staticmethod
    def _name(kind: str, data: bytes) -> str:
        return hashlib.sha1(kind.encode() + b"\0" + data, usedforsecurity=False).hexdigest()

    @staticmethod
    def _get(store: dict[str, object], oid: str):  # type: ignore[no-untyped-def, type-arg]
        try:
            return store[oid]
        except KeyError:
            raise MissingObject(f"object {oid} is missing") from None
