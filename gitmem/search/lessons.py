"""When, and on which code, memories were taught: looked up in what `search/ages.py` kept of its walks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping

from gitmem.search import database

Lesson = tuple[int, str]
"""When a content was taught, seconds since the epoch, and the commit of the code that its teacher named."""


class RecordedWalk:
    """What is known of one ref's history; `ages` walks it.

    A commit's place is its committer time, or where clocks went backwards one more than its parents': it
    grows along every line of descent.
    """

    def __init__(self, connection: sqlite3.Connection, ref: str) -> None:
        self._connection = connection
        self._ref = ref
        self._places: dict[str, int] = {}

    def place(self, commit: str) -> int | None:
        """Place of a commit that was walked, or None."""
        if commit not in self._places:
            for table in ("main.walked", "temp.walked"):
                row = self._connection.execute(
                    f"SELECT place FROM {table} WHERE ref = ? AND oid = ?",  # noqa: S608
                    (self._ref, bytes.fromhex(commit)),
                ).fetchone()
                if row:
                    self._places[commit] = row[0]
        return self._places.get(commit)

    def rows(self, paths: Iterable[bytes]) -> Iterator[tuple[bytes, bytes, int, Lesson]]:
        """Gives (path, blob, place, lesson) of all that stood at some paths, places ascending for each."""
        asked = list(paths)
        for table in ("main.taught", "temp.taught"):
            for some in database.portions(asked):
                slots = ",".join("?" * len(some))
                for path, oid, place, time, code in self._connection.execute(
                    f"SELECT path, oid, place, time, code FROM {table} WHERE ref = ?"  # noqa: S608
                    f" AND path IN ({slots}) ORDER BY path, place",
                    (self._ref, *some),
                ):
                    yield path, oid, place, (time, code)

    def lessons(self, commit: str, files: Mapping[str, str]) -> dict[str, Lesson]:
        """Lessons of memories (path to blob) as of a commit; the last ones that are known where it was not
        walked."""
        last = self.place(commit)
        wanted = {encoded(path): path for path in files}
        found: dict[str, Lesson] = {}
        for key, blob, place, lesson in self.rows(wanted):
            path = wanted[key]
            if last is not None and place <= last and blob.hex() == files[path]:
                found[path] = lesson  # of several the last: places ascend
        return found


def brought(connection: sqlite3.Connection, ref: str, files: Mapping[str, str]) -> dict[str, list[str]]:
    """Finds commits that may have brought contents to where they stand, as far as was walked.

    Args:
        files: path to blob.

    Returns:
        Path to commits, the oldest first. Commits of one second are told together, and some may be of a
        history that the ref no longer has.
    """
    wanted = {encoded(path): path for path in files}
    places: dict[str, set[int]] = {}
    slots = ",".join("?" * len(wanted))
    for key, oid, place in connection.execute(
        f"SELECT path, oid, place FROM main.taught WHERE ref = ? AND path IN ({slots})",  # noqa: S608
        (ref, *wanted),
    ):
        if oid.hex() == files[wanted[key]]:
            places.setdefault(wanted[key], set()).add(place)
    asked = sorted({place for some in places.values() for place in some})[: database.PORTION]
    slots = ",".join("?" * len(asked))
    walked = connection.execute(
        f"SELECT place, oid FROM main.walked WHERE ref = ? AND place IN ({slots}) ORDER BY place, oid",  # noqa: S608
        (ref, *asked),
    ).fetchall()
    return {path: [oid.hex() for place, oid in walked if place in some] for path, some in places.items()}


def encoded(path: str) -> bytes:
    """A path as SQLite can hold it, odd bytes included."""
    return path.encode("utf-8", "surrogateescape")
