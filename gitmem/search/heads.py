"""What the frontmatter of a memory says, kept by blob: a content that was read once is not read again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from gitmem.search import database
from gitmem.store.repository import MissingObject, Repository

if TYPE_CHECKING:
    from gitmem.core.memory import Memory

DISPUTED = b"*(disputed "
"""What a disputed claim's mark begins with."""

_NEW = "INSERT OR REPLACE INTO head(oid, value) VALUES(?, ?)"


class Head(NamedTuple):
    """What is known of one content without opening it; there may be very many.

    Attributes:
        name: empty where the file gives none.
        disputed: whether it may hold a disputed claim.
        size: bytes.
        problems: what a reader would stumble over; None where nobody has looked yet.
    """

    name: str
    description: str
    type: str
    disputed: bool
    size: int
    problems: tuple[str, ...] | None = None


def heads(
    connection: sqlite3.Connection, repo: Repository, oids: Collection[str], *, checked: bool = False
) -> dict[str, Head]:
    """Gives what the frontmatter of some blobs says, opening only those that nobody has opened before.

    Args:
        checked: whether `Head.problems` is wanted.

    Returns:
        Blob to head; without those that are missing from the repository.
    """
    found = known(connection, oids)
    lacking = [oid for oid in oids if oid not in found or (checked and found[oid].problems is None)]
    if not lacking:
        return found
    from gitmem.core.memory import parse, problems

    read: dict[str, Head] = {}
    for oid in lacking:
        try:
            data = repo.blob(oid)
        except MissingObject:
            found.pop(oid, None)
            continue
        memory = parse("", data)
        head = _head(memory, data)
        read[oid] = head._replace(problems=problems(memory)) if checked else head
    keep(connection, read.items())
    return found | read


def keep(connection: sqlite3.Connection, read: Iterable[tuple[str, Head]]) -> None:
    """Remembers heads by blob, unless another process is writing."""
    rows = [(bytes.fromhex(oid), stored(head)) for oid, head in read]
    if rows:
        database.keep(connection, [(_NEW, rows)])


def _head(memory: Memory, data: bytes) -> Head:
    name = memory.front.text("name") if memory.front else ""
    return Head(name, memory.description, memory.type, DISPUTED in data, len(data))


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, Head]:
    """The heads of some blobs, as far as they are known; nothing is opened."""
    found: dict[str, Head] = {}
    for some in database.portions(dict.fromkeys(bytes.fromhex(oid) for oid in oids)):
        slots = ",".join("?" * len(some))
        # What was looked at more closely comes last, and counts.
        rows = connection.execute(
            f"SELECT oid, head FROM blob WHERE oid IN ({slots})"  # noqa: S608
            f" UNION ALL SELECT oid, value FROM head WHERE oid IN ({slots})",
            (*some, *some),
        ).fetchall()
        try:
            read = read_values([value for _, value in rows])
        except (ValueError, TypeError):
            continue  # whatever wrote that: they are read again
        found.update((oid.hex(), head) for (oid, _), head in zip(rows, read, strict=True))
    return found


def read_values(values: Iterable[str]) -> list[Head]:
    """Heads as they are kept; all at once is twice as quick.

    Raises:
        ValueError, TypeError: one is no head.
    """
    return [
        Head(name, about, type, disputed, size, None if trouble is None else tuple(trouble))
        for name, about, type, disputed, size, trouble in json.loads(f"[{','.join(values)}]")
    ]


def stored(head: Head) -> str:
    """A head as it is kept."""
    # JSON in ASCII holds what SQLite's text cannot: bytes that were no UTF-8, as lone surrogates.
    values = [head.name, head.description, head.type, head.disputed, head.size, head.problems]
    return json.dumps(values, separators=(",", ":"))
