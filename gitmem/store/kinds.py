"""Which objects are surely there, and of what kind: they need not be read to be named by a new one."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gitmem.store.objects import kind_of
from gitmem.store.repository import Entry


class Kinds:
    """Remembers what was read, was written, or is named by a tree that was read.

    Args:
        read: (name, kind) reads an object; it raises MissingObject where it is missing or of another kind.
    """

    def __init__(self, read: Callable[[str, str], object]) -> None:
        self._read = read
        self._known: dict[str, str] = {}

    def saw(self, oid: str, kind: str) -> None:
        """Notes one object."""
        self._known[oid] = kind

    def saw_tree(self, entries: Mapping[str, Entry]) -> None:
        """Notes all that a tree names."""
        self._known.update((entry.oid, kind_of(entry.mode)) for entry in entries.values())

    def expect(self, oid: str, wanted: str) -> None:
        """Raises MissingObject unless the object is there and of that kind."""
        if self._known.get(oid) != wanted:
            self._read(oid, wanted)

    def expect_entries(self, entries: Mapping[str, Entry]) -> None:
        """The same for what a new tree names; submodules are commits of another repository."""
        for entry in entries.values():
            kind = kind_of(entry.mode)
            if kind != "commit":
                self.expect(entry.oid, kind)
