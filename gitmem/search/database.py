"""The SQLite file under the catalog: made, checked, and made anew where it cannot be trusted."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from gitmem.ledger.files import CATALOG, delete_index
from gitmem.search.words import has_stems

VERSION = 12
"""Of the tables, below zero in a file without stems: one who has them makes it anew."""

APPLICATION = 0x6D656D31
"""Marks the file as gitmem's (`mem1`): anything else under that name is replaced."""

BUSY_SECONDS = 0.25
"""How long a writer waits for another; a reader never waits, it reads the state before (WAL)."""

PORTION = 500
"""Keys that one statement asks for."""

CACHE_KB = 16_384
"""Memory for pages: one who asks again and again finds the middle of each index there."""

Key = TypeVar("Key")

_AGES = """
CREATE TABLE {where}.walked(ref TEXT NOT NULL, oid BLOB NOT NULL, place INTEGER NOT NULL,
  PRIMARY KEY(ref, oid)) WITHOUT ROWID;
CREATE TABLE {where}.taught(ref TEXT NOT NULL, path BLOB NOT NULL, oid BLOB NOT NULL,
  place INTEGER NOT NULL, time INTEGER NOT NULL, code TEXT NOT NULL,
  PRIMARY KEY(ref, path, place, oid)) WITHOUT ROWID;
"""
"""What history teaches."""

_ENTRIES = """
CREATE TABLE {where}.{table}(id INTEGER PRIMARY KEY, ref INTEGER NOT NULL, path TEXT NOT NULL,
  blob INTEGER NOT NULL, archived INTEGER NOT NULL, time INTEGER NOT NULL, thread INTEGER,
  UNIQUE(ref, path));
CREATE INDEX {where}.{table}_blob ON {table}(blob);
CREATE INDEX {where}.{table}_time ON {table}(ref, time);
CREATE INDEX {where}.{table}_thread ON {table}(thread, time, path) WHERE thread IS NOT NULL;
"""
"""What stands where. A thread is what one agent learned in one session."""

_SCHEMA = f"""
CREATE TABLE blob(id INTEGER PRIMARY KEY AUTOINCREMENT, oid BLOB NOT NULL UNIQUE, body BLOB NOT NULL,
  session TEXT NOT NULL, head TEXT NOT NULL, words TEXT NOT NULL);
CREATE TABLE word(text TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE posting(word INTEGER PRIMARY KEY, passages INTEGER NOT NULL, labels INTEGER NOT NULL,
  ids BLOB NOT NULL);
CREATE TABLE called(name TEXT NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY(name, blob)) WITHOUT ROWID;
CREATE INDEX called_blob ON called(blob);
CREATE TABLE link(name TEXT NOT NULL, blob INTEGER NOT NULL, PRIMARY KEY(name, blob)) WITHOUT ROWID;
CREATE INDEX link_blob ON link(blob);
CREATE TABLE period(blob INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,
  PRIMARY KEY(blob, first, last)) WITHOUT ROWID;
CREATE INDEX period_first ON period(first, last);
CREATE TABLE ref(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, tip TEXT NOT NULL);
{_ENTRIES.format(where="main", table="entry")}
CREATE TABLE opened(blob INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE fact(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE head(oid BLOB PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
{_AGES.format(where="main")}
"""
"""No number of a text is given twice: another process may still hold it."""

_TEMPORARY = f"""
{_AGES.format(where="temp")}
CREATE TEMP TABLE laid(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
{_ENTRIES.format(where="temp", table="past")}
"""

_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}


def code(error: sqlite3.Error) -> int:
    """SQLite's primary result code; `SQLITE_ERROR` where the error has none."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process holds the lock, so that trying later would do."""
    return code(error) in _LOCKED


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file's content is at fault, so that a new file would do."""
    return code(error) in _DAMAGED


def connect(folder: Path) -> sqlite3.Connection:
    """Opens the catalog file of a folder, or a catalog in memory where the folder cannot hold one."""
    file = folder / CATALOG
    for _ in range(2):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if file.is_symlink():
                file.unlink()
            # It holds what private memories say. What SQLite puts beside it gets the same bits.
            os.close(
                os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
            )
            if file.stat().st_mode & 0o077:
                file.chmod(0o600)
            return _open(file)
        except sqlite3.Error as error:
            if not is_damage(error) or not discard(folder):
                break
        except OSError:
            break
    return in_memory()


def portions(keys: Iterable[Key]) -> Iterator[list[Key]]:
    """Cuts keys into as many as one statement can ask for."""
    left = iter(keys)
    while some := list(islice(left, PORTION)):
        yield some


def keep(connection: sqlite3.Connection, statements: Iterable[tuple[str, Iterable[Any]]]) -> bool:
    """Writes what may as well be found out again: without waiting, and False where that cannot be now.

    Args:
        statements: each with the rows to run it for; all of them are kept, or none.

    Raises:
        sqlite3.Error: the file is damaged.
    """
    try:
        connection.execute("PRAGMA busy_timeout = 0")
        with transaction(connection):
            for words, rows in statements:
                connection.executemany(words, rows)
    except sqlite3.Error as error:
        if is_damage(error):
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(1000 * BUSY_SECONDS)}")
    return True


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Holds the write lock for a block, which is kept or undone as a whole."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def in_memory() -> sqlite3.Connection:
    """Opens an empty catalog that ends with its last holder, in whatever thread that is let go."""
    connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    connection.executescript(_SCHEMA)
    connection.executescript(_TEMPORARY)
    return connection


def discard(folder: Path) -> bool:
    """Deletes a damaged or foreign file; False where that is not allowed.

    Another process may have replaced the file already: under the lock it is looked at again first.
    """
    from gitmem.core.errors import RepositoryError
    from gitmem.git.locks import writer_lock  # hardly ever needed

    file = folder / CATALOG
    try:
        with writer_lock(folder, "catalog", timeout=2):
            if _is_whole(file):
                return True
            delete_index(folder, CATALOG)
    except (OSError, RepositoryError):
        return False
    return True


def _is_whole(file: Path) -> bool:
    """Checks a file to its end; one that is locked right now counts as whole."""
    try:
        with contextlib.closing(_open(file)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except sqlite3.Error as error:
        return is_busy(error)


def _open(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.executescript(_TEMPORARY)
        version = VERSION if has_stems() else -VERSION
        if stamp(connection) != (APPLICATION, version):
            create(connection, APPLICATION, version, _SCHEMA)
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        # Touches each table, so that a file that only looks right is found out here.
        for table in (
            "blob",
            "ref",
            "entry",
            "word",
            "posting",
            "called",
            "link",
            "period",
            "fact",
            "opened",
            "head",
            "walked",
            "taught",
        ):
            connection.execute(f"SELECT 1 FROM main.{table} LIMIT 1").fetchone()  # noqa: S608
    except BaseException:
        connection.close()
        raise
    return connection


def create(connection: sqlite3.Connection, application: int, version: int, schema: str) -> None:
    """Makes the tables of an empty file, and marks it; another process may have been quicker.

    Args:
        schema: statements that end in semicolons.

    Raises:
        sqlite3.Error: it is a file of another program or version, or cannot be written.
    """
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    with transaction(connection):
        if stamp(connection) != (application, version):
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
                raise sqlite3.DatabaseError("a file of another program or version")
            for statement in filter(None, (part.strip() for part in schema.split(";"))):
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {application}")
            connection.execute(f"PRAGMA user_version = {version}")


def stamp(connection: sqlite3.Connection) -> tuple[int, int]:
    """Whose file it is, and of which version."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]
