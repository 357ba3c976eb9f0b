"""A catalog of trees that are values: for whoever must search what no ref of a repository holds yet."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from weakref import finalize

from gitmem.search import database, postings
from gitmem.search.catalog import Catalog, Value
from gitmem.search.entries import ENTER_NOW, entry_rows
from gitmem.search.text import Read, read_memory


class LooseCatalog(Catalog):
    """A catalog in memory, for one job; what several refs have in common is indexed once."""

    def __init__(self) -> None:
        connection = database.in_memory()
        super().__init__(Path(), connection)
        # Many hold a part of it, and it ends with the last of them.
        finalize(self, connection.close)

    def add(self, ref: str, files: Mapping[str, bytes], read: Read = read_memory) -> None:
        """Adds memory files to what a ref holds; nothing is known of when they were taught.

        Args:
            files: path from the root of a memory tree to content.
            read: parser of memory files.
        """
        held: dict[str, bytes] = {}
        wanted: dict[str, str] = {}
        for path in sorted(files):
            wanted[path] = oid = hashlib.sha256(files[path]).hexdigest()
            held[oid] = files[path]
        connection = self._connection
        ids = postings.index_texts(connection, _Values(held), wanted, read)
        with database.transaction(connection):
            connection.execute("INSERT OR IGNORE INTO ref(name, tip) VALUES(?, '')", (ref,))
            number: int = connection.execute("SELECT id FROM ref WHERE name = ?", (ref,)).fetchone()[0]
            connection.executemany(ENTER_NOW, entry_rows(number, ref, wanted, ids, {}))

    def _steadily(self, work: Callable[[], Value], busy: Value) -> Value:  # noqa: ARG002 - as above it
        return work()  # no file, so nothing that could be damaged or held by others


class _Values:
    def __init__(self, held: Mapping[str, bytes]) -> None:
        self._held = held

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Contents by object name."""
        return ((oid, self._held[oid]) for oid in oids)
