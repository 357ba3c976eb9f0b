"""What the frontmatter of memories says, kept by blob: what was read once is not read again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable

from gitmem.git.repository import Repository
from gitmem.ledger.catalog import Head
from gitmem.search import database

# What was looked at more closely comes first, and counts.
_KNOWN = ("SELECT oid, value FROM head WHERE oid IN ({})", "SELECT oid, head FROM blob WHERE oid IN ({})")
_NEW_HEAD = "INSERT OR REPLACE INTO head(oid, value) VALUES(?, ?)"

# JSON in ASCII holds what SQLite's text cannot: bytes that were no UTF-8, as lone surrogates.
_JSON = json.JSONEncoder(separators=(",", ":")).encode


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
    lacking = [
        oid for oid in dict.fromkeys(oids) if oid not in found or (checked and found[oid].problems is None)
    ]
    if not lacking:
        return found
    from gitmem.core.memory import parse, problems

    read: dict[str, Head] = {}
    for oid, data in repo.read_blobs(list(lacking)):
        memory = parse("", data)
        name = memory.front.text("name") if memory.front else ""
        head = head_of(name, memory.description, memory.type, data)
        read[oid] = head._replace(problems=problems(memory)) if checked else head
    if read:
        rows = [(bytes.fromhex(oid), stored(head)) for oid, head in read.items()]
        database.keep(connection, [(_NEW_HEAD, rows)])
    return {oid: head for oid, head in found.items() if oid not in lacking} | read


def head_of(name: str, description: str, type: str, data: bytes) -> Head:
    """The head of a content whose frontmatter was read."""
    from gitmem.core.claim import DISPUTED_BYTES  # a look at heads that are known reads none

    return Head(name, description, type, DISPUTED_BYTES in data, len(data))


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, Head]:
    """The heads of some blobs, as far as they are known; nothing is opened."""
    found: dict[str, Head] = {}
    wanted = dict.fromkeys(oids)
    for words in _KNOWN:
        for some in database.portions(map(bytes.fromhex, [oid for oid in wanted if oid not in found])):
            rows = connection.execute(words.format(",".join("?" * len(some))), some).fetchall()
            try:
                read = read_heads([value for _, value in rows])
            except (ValueError, TypeError):
                continue  # whatever wrote that: they are read again
            found.update((oid.hex(), head) for (oid, _), head in zip(rows, read, strict=True))
    return found


def read_heads(values: Iterable[str]) -> list[Head]:
    """Heads as an index keeps them; all at once is twice as quick.

    Raises:
        ValueError, TypeError: one is no head.
    """
    return [
        Head(name, about, type, disputed, size, None if trouble is None else tuple(trouble))
        for name, about, type, disputed, size, trouble in json.loads(f"[{','.join(values)}]")
    ]


def stored(head: Head) -> str:
    """A head as it is kept."""
    return _JSON(head)
