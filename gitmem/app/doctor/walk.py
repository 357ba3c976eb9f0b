"""Reads all that commits of memory reach, and says what of it cannot be read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gitmem.git.repository import SUBMODULE, TREE, MissingObject, Repository


@dataclass(frozen=True)
class Broken:
    """An object that cannot be read.

    Attributes:
        path: where it stands in a tree of memory; the kind of object where it has no place there.
        commit: the newest commit that needs it, of those looked at.
    """

    oid: str
    path: str
    commit: str


class Walk:
    """Reads every object that commits reach, each once."""

    def __init__(self, repo: Repository, sound: Iterable[str] = ()) -> None:
        self._repo = repo
        # What a shallow or partial clone left out is not broken.
        self._ends = _lines(repo.git_dir / "shallow")
        self._partial = any((repo.git_dir / "objects/pack").glob("*.promisor"))
        self.seen = set(sound)
        self.broken: list[Broken] = []

    def reach(self, tip: str) -> None:
        """Reads what a commit reaches."""
        todo = [tip]
        while todo:
            oid = todo.pop()
            if oid in self.seen:
                continue
            self.seen.add(oid)
            try:
                commit = self._repo.commit(oid)
            except MissingObject:
                self.broken.append(Broken(oid, "a commit", oid))
                continue
            self._tree(commit.tree, "", oid)
            if oid not in self._ends:
                todo += commit.parents

    def _tree(self, oid: str, prefix: str, commit: str) -> None:
        if oid in self.seen:
            return
        self.seen.add(oid)
        try:
            entries = self._repo.tree(oid)
        except MissingObject:
            self.broken.append(Broken(oid, prefix or "a tree", commit))
            return
        for name, entry in entries.items():
            path = prefix + name
            if entry.mode == TREE:
                self._tree(entry.oid, f"{path}/", commit)
            elif entry.mode != SUBMODULE and entry.oid not in self.seen and not self._partial:
                self.seen.add(entry.oid)
                try:
                    self._repo.blob(entry.oid)
                except MissingObject:
                    self.broken.append(Broken(entry.oid, path, commit))


def _lines(path: Path) -> frozenset[str]:
    try:
        return frozenset(path.read_text(encoding="ascii", errors="replace").split())
    except OSError:
        return frozenset()
