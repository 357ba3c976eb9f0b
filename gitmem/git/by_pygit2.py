"""Objects through libgit2: no process for reading one that is packed; worth its start-up for long work.

What libgit2 cannot do, or not safely, is git's own: refs, revision syntax, and all that walks a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from gitmem.core.errors import MissingObject
from gitmem.git import objects

_NAMES = {ObjectType.COMMIT: "commit", ObjectType.TREE: "tree", ObjectType.BLOB: "blob"}


class Pygit2Objects:
    """Objects of one SHA-1 repository through libgit2 (see `object_store.ObjectStore`).

    Args:
        common_dir: the common git directory.
        handle: the repository as libgit2 opened it.
    """

    def __init__(self, common_dir: Path, handle: pygit2.Repository) -> None:
        self._objects = common_dir / "objects"
        self._repo = handle

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object. Raises MissingObject where it is missing or damaged."""
        objects.check_oid(oid, 40)
        return self._read_loose(oid) or self._read_packed(oid)

    def read_many(self, oids: Sequence[str]) -> dict[str, tuple[str, bytes]]:
        """Reads objects; what is missing or damaged is left out."""
        found = {}
        for oid in oids:
            with suppress(MissingObject):
                found[oid] = self.read(oid)
        return found

    def close(self) -> None:
        """Frees the handle."""
        self._repo.free()

    def _read_loose(self, oid: str) -> tuple[str, bytes] | None:
        # Libgit2 (1.9) never returns from a loose object that was cut short, as a power cut leaves one.
        try:
            # Not through a `Path`: making one takes longer than the system's answer.
            with FileIO(f"{self._objects}/{oid[:2]}/{oid[2:]}") as file:
                data = file.readall()
        except FileNotFoundError:
            return None
        except OSError:
            raise objects.damaged(oid) from None
        return objects.parse_loose(data, oid)

    def _read_packed(self, oid: str) -> tuple[str, bytes]:
        try:
            kind, data = self._repo.read(oid)
        except KeyError:
            raise objects.missing(oid) from None
        except (pygit2.GitError, ValueError, OSError):
            raise objects.damaged(oid) from None
        return _NAMES.get(ObjectType(kind), "tag"), data
