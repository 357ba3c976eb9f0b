"""Where texts stand: at the tips of refs, or in a tree of the past that was laid out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.search.index import Catalog

DAY = 86_400

HOT_DAYS = 7
"""Days for which the lines of a log are found: by then a dream has made memories of what was worth it."""

NEWEST = 2_000
"""Entries of one ref that are looked through for what was taught within a time, the newest ones."""

_COLUMNS = "e.id, e.blob, e.ref, e.path, e.archived, e.time, e.thread"


def is_line(path: str) -> bool:
    """Whether a line of a daily log stands there: `<path>#<12 hex>`."""
    return path[-13:-12] == "#" and not path.endswith(".md")


class Entry(NamedTuple):
    """One file, or line of a log, that has a text.

    Attributes:
        id: below zero for one of the past.
        blob: number of the text.
        thread: what one agent learned in one session has the same; None where no session is known.
    """

    id: int
    blob: int
    ref: str
    path: str
    archived: int
    time: int
    thread: int | None
    commit: str

    @property
    def agent(self) -> str:
        """The folder that it stands in."""
        return self.path.partition("/")[0]

    @property
    def stem(self) -> str:
        """Its file's name without the ending."""
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def is_line(self) -> bool:
        """Whether it is a line of a daily log."""
        return is_line(self.path)


@dataclass(frozen=True)
class Ground:
    """What is searched.

    Attributes:
        refs: full names.
        agents: name spaces; None for all.
        when: ref to commit, for refs searched as of then.
        now: epoch seconds, from which the days of logs count; None counts from what was taught last.
    """

    catalog: Catalog
    refs: Collection[str]
    agents: Collection[str] | None
    when: Mapping[str, str]
    now: int | None = None

    @cached_property
    def tables(self) -> Mapping[str, Mapping[int, tuple[str, str]]]:
        """Table to number of a ref in it to the ref, and the commit that it is searched as of."""
        now = {ref: (ref, "") for ref in self.refs if ref not in self.when}
        then = {f"{ref}@{self.when[ref]}": (ref, self.when[ref]) for ref in self.refs if ref in self.when}
        tables = {}
        for table, names, keys in (("main.entry", "main.ref", now), ("temp.past", "temp.laid", then)):
            if keys:
                slots = ",".join("?" * len(keys))
                rows = f"SELECT id, name FROM {names} WHERE name IN ({slots})"  # noqa: S608
                found = self.catalog.read(rows, list(keys))
                if found:
                    tables[table] = {number: keys[name] for number, name in found}
        return tables

    def entries(self, blobs: Iterable[int]) -> Iterator[Entry]:
        """Yields what has one of these texts (`+` has SQLite look up by text, not by ref)."""
        numbers = _listed(blobs)
        for table, refs in self.tables.items():
            yield from self._entries(
                refs,
                f"SELECT {_COLUMNS} FROM {table} e"  # noqa: S608
                f" WHERE e.blob IN ({numbers}) AND +e.ref IN ({_listed(refs)})",
            )

    def between(self, first: int, last: int, most: int) -> Iterator[Entry]:
        """Yields what was last taught between two times (epoch seconds), the newest of each ref."""
        for table, refs in self.tables.items():
            for ref in refs:
                newest = self._entries(
                    refs,
                    f"SELECT {_COLUMNS} FROM {table} e WHERE e.ref = {ref:d}"  # noqa: S608
                    f" AND e.time BETWEEN {first:d} AND {last:d} ORDER BY e.time DESC"
                    f" LIMIT {most if self.agents is None else NEWEST:d}",
                )
                yield from list(newest)[:most]

    def beside(self, entries: Iterable[Entry], reach: int) -> dict[int, Sequence[Entry]]:
        """Lists threads in order: by the time when something was taught, then by path.

        Returns:
            Thread to some of what stands in it: at least these entries, and the `reach` before and after
            each of them.
        """
        found: dict[int, dict[int, Entry]] = {}
        for entry in entries:
            if entry.thread is not None:
                found.setdefault(entry.thread, {})[entry.id] = entry
        for entry in [entry for some in found.values() for entry in some.values()]:
            table = "temp.past" if entry.id < 0 else "main.entry"
            for then, order in (("<", "DESC"), (">", "ASC")):
                # A session may have taught thousands: of each thread only what is near is read.
                near = self._entries(
                    self.tables[table],
                    f"SELECT {_COLUMNS} FROM {table} e WHERE e.thread = ?"  # noqa: S608
                    f" AND (e.time, e.path) {then} (?, ?)"
                    f" ORDER BY e.time {order}, e.path {order} LIMIT {reach:d}",
                    (entry.thread, entry.time, entry.path),
                )
                found[entry.thread or 0].update((one.id, one) for one in near)
        return {
            thread: sorted(some.values(), key=lambda entry: (entry.time, entry.path))
            for thread, some in found.items()
        }

    def _entries(
        self, refs: Mapping[int, tuple[str, str]], query: str, values: Sequence[Any] = ()
    ) -> Iterator[Entry]:
        agents = self.agents
        for id, blob, number, path, archived, time, thread in self.catalog.read(query, values):
            if agents is None or path.partition("/")[0] in agents:
                if is_line(path) and not self._since(id < 0, number) <= time:
                    continue
                ref, commit = refs[number]
                yield Entry(id, blob, ref, path, archived, time, thread, commit)

    def _since(self, past: bool, number: int) -> int:
        """From when on the lines of a ref's logs are found, epoch seconds."""
        if past or self.now is None:
            if (past, number) not in self._last:
                rows = f"SELECT max(time) FROM {'temp.past' if past else 'main.entry'} WHERE ref = ?"  # noqa: S608
                self._last[past, number] = self.catalog.read(rows, (number,))[0][0] or 0
            return self._last[past, number] - HOT_DAYS * DAY
        return self.now - HOT_DAYS * DAY

    @cached_property
    def _last(self) -> dict[tuple[bool, int], int]:
        """When something was taught last, by table and ref, as far as anybody asked."""
        return {}


def _listed(numbers: Iterable[Any]) -> str:
    return ",".join(map(str, numbers))
