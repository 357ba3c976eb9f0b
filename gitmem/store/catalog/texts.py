"""The texts in the catalog: one row and one full-text entry a blob, for good: blobs never change."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Mapping

from gitmem.memory.limits import MEMORY_BYTES
from gitmem.store.catalog import heads
from gitmem.store.catalog.database import writing
from gitmem.store.catalog.fields import Fields, Read
from gitmem.store.repository import MissingObject, Repository

BATCH = 1_000
"""Blobs a transaction: other writers wait no longer, and a build that is killed goes on from there."""

COMMON_SHARE = 0.05
COMMON_FROM = 200
"""Terms in more than this share of the texts are too common to seek, once there are this many texts."""


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, int]:
    """Rows of the blobs that are indexed already, by object name."""
    ids: dict[str, int] = {}
    for oid in set(oids):
        row = connection.execute("SELECT id FROM blob WHERE oid = ?", (bytes.fromhex(oid),)).fetchone()
        if row:
            ids[oid] = row[0]
    return ids


def index_texts(
    connection: sqlite3.Connection, repo: Repository, wanted: Mapping[str, str], read: Read
) -> dict[str, int]:
    """Indexes the blobs that the catalog lacks.

    Args:
        wanted: path to object name; of several paths the first names a blob without frontmatter.

    Returns:
        Row of each blob by object name; without those that are missing from the repository.
    """
    ids = known(connection, wanted.values())
    first = {oid: path for path, oid in sorted(wanted.items(), reverse=True)}
    missing = sorted((path, oid) for oid, path in first.items() if oid not in ids)
    for start in range(0, len(missing), BATCH):
        fields: list[tuple[str, Fields]] = []
        read_heads: list[tuple[str, heads.Head]] = []
        for path, oid in missing[start : start + BATCH]:
            try:
                data = repo.blob(oid)
            except MissingObject:
                continue
            fields.append((oid, read(path, data[:MEMORY_BYTES])))
            read_heads.append((oid, heads.head_of(data)))
        with writing(connection):
            for oid, field in fields:
                ids[oid] = _insert(connection, oid, field)
        heads.keep(connection, read_heads)
    return ids


def body_digest(
    connection: sqlite3.Connection, repo: Repository, path: str, oid: str, read: Read
) -> bytes | None:
    """Digest of a memory's body, from the catalog or else from the blob; None where it is missing."""
    row = connection.execute("SELECT body FROM blob WHERE oid = ?", (bytes.fromhex(oid),)).fetchone()
    if row:
        return bytes(row[0])
    try:
        return _digest(read(path, repo.blob(oid)[:MEMORY_BYTES]).body)
    except MissingObject:
        return None


def count_common(connection: sqlite3.Connection) -> None:
    """Counts anew which terms are everywhere, each time the number of texts has grown by a tenth."""
    total = connection.execute("SELECT count(*) FROM blob").fetchone()[0]
    row = connection.execute("SELECT value FROM fact WHERE name = 'counted'").fetchone()
    if total <= COMMON_FROM or (row and total < 1.1 * row[0]):
        return
    with writing(connection):
        connection.execute("DELETE FROM common")
        connection.execute(
            "INSERT INTO common(term) SELECT term FROM term WHERE doc > ?", (COMMON_SHARE * total,)
        )
        connection.execute("INSERT OR REPLACE INTO fact(name, value) VALUES('counted', ?)", (total,))


def storable(text: str) -> str:
    """Text without lone surrogates, which SQLite cannot hold."""
    return text.encode("utf-8", "replace").decode()


def _insert(connection: sqlite3.Connection, oid: str, field: Fields) -> int:
    from gitmem.store.catalog.words import indexed

    key = bytes.fromhex(oid)
    row = connection.execute("SELECT id FROM blob WHERE oid = ?", (key,)).fetchone()
    if row:  # another process was quicker
        return int(row[0])
    name, description, body = (storable(text) for text in (field.name, field.description, field.body))
    rowid: int = connection.execute(
        "INSERT INTO blob(oid, name, description, type, words, body) VALUES(?, ?, ?, ?, ?, ?) RETURNING id",
        (key, name, description, storable(field.type), len(body.split()), _digest(field.body)),
    ).fetchone()[0]
    connection.execute(
        "INSERT INTO text(rowid, name, description, body) VALUES(?, ?, ?, ?)",
        (rowid, indexed(name), indexed(description), indexed(body)),
    )
    return rowid


def _digest(body: str) -> bytes:
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).digest()[:8]
