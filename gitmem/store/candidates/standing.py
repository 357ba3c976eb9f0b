"""Where texts stand: at the tips of refs, or in a tree of the past that was laid out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from gitmem.store.catalog import Catalog
from gitmem.values import dataclass


class Entry(NamedTuple):
    """One file that has a text."""

    blob: int
    ref: str
    path: str
    agent: str
    archived: int
    time: int
    commit: str


@dataclass(frozen=True)
class Ground:
    """What is searched.

    Attributes:
        refs: full names.
        agents: name spaces; None for all.
        when: ref to commit, for refs searched as of then.
    """

    catalog: Catalog
    refs: Collection[str]
    agents: Collection[str] | None
    when: Mapping[str, str]

    def entries(self, blobs: Iterable[int]) -> Iterator[Entry]:
        """Yields what has one of these texts (`+` has SQLite look up by text, not by ref)."""
        numbers = ",".join(map(str, blobs))
        if numbers:
            yield from self._where(f"e.blob IN ({numbers}) AND +e.ref IN ", "")

    def between(self, first: int, last: int, most: int) -> Iterator[Entry]:
        """Yields what was last taught between two times (epoch seconds), the newest first."""
        yield from self._where(
            f"+e.time BETWEEN {first:d} AND {last:d} AND e.ref IN ", f" ORDER BY e.time DESC LIMIT {most:d}"
        )

    def _where(self, condition: str, rest: str) -> Iterator[Entry]:
        now = [ref for ref in self.refs if ref not in self.when]
        then = {f"{ref}@{self.when[ref]}": ref for ref in self.refs if ref in self.when}
        for table, keys in (("main.entry", now), ("temp.past", list(then))):
            if not keys:
                continue
            slots = ",".join("?" * len(keys))
            for blob, key, path, agent, archived, time in self.catalog.read(
                f"SELECT e.blob, e.ref, e.path, e.agent, e.archived, e.time FROM {table} e"  # noqa: S608
                f" WHERE {condition} ({slots}){rest}",
                keys,
            ):
                if self.agents is None or agent in self.agents:
                    ref = then.get(key, key)
                    yield Entry(blob, ref, path, agent, archived, time, self.when.get(ref, ""))
