"""What can be deleted at no loss: one SQLite file, `state.db`, in each folder of gitmem's own state.

What failed and rests, how far a session was read, what was decided last: bookkeeping, whose loss costs
time or a second look and no memory. So nothing here raises: what cannot be read is not there, and what
cannot be written is not kept. A damaged file is set aside and another one begun. What is a promise (that
nothing is learned from now, what is half landed, what is to be erased) is none of it and stays a file of
its own; so does what those hooks read that an agent waits for at each turn, since SQLite costs more to load
than all the rest of them.

One connection for each call, with SQLite's rollback journal and not its log: a folder on another
machine's disk can be used, one that may only be read can be read, a process that dies leaves a journal at
most, which the next one rolls back, and nobody holds the file open while it is replaced. Two writers wait
for one another.
"""

from __future__ import annotations

import json
import os
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.ledger.files import delete_index

if TYPE_CHECKING:
    from gitmem.core.purge import Purge

FILE = "state.db"

APPLICATION, VERSION = 0x6D656D73, 1
"""Mark the file as gitmem's (`mems`), and how its table is made."""

WAIT_SECONDS = 5.0
"""How long a writer waits for another; each is done in milliseconds."""

ASIDE = f"{FILE}.damaged"
"""The name of the damaged file that was set aside last, for whoever wants to look at it."""

_SCHEMA = """CREATE TABLE kv(id INTEGER PRIMARY KEY, space TEXT NOT NULL, key TEXT NOT NULL,
  value TEXT NOT NULL, UNIQUE(space, key))"""
"""What is written again gets a new number, the highest: so numbers tell old from new."""

_PUT = "INSERT OR REPLACE INTO kv(space, key, value) VALUES(?, ?, ?)"
_GET = "SELECT value FROM kv WHERE space = ? AND key = ?"
_ALL = "SELECT key, value FROM kv WHERE space = ? ORDER BY id"
_DELETE = "DELETE FROM kv WHERE space = ? AND key = ?"
_TRIM = """DELETE FROM kv WHERE space = ? AND id NOT IN
  (SELECT id FROM kv WHERE space = ? ORDER BY id DESC LIMIT ?)"""
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}

Found = TypeVar("Found")


class _Damaged(Exception):
    """The file is broken, or none of gitmem's."""


@dataclass(frozen=True)
class Space:
    """One kind of entry: each has a key, and a value that JSON can hold.

    Every method takes the folder: `<common git dir>/gitmem`, or that of the private repository.

    Attributes:
        name: tells it apart in the file.
        kept: how many entries there are at most; the oldest go.
    """

    name: str
    kept: int

    def get(self, folder: Path, key: str) -> Any:
        """The value of a key; None where there is none."""
        rows = _read(folder, lambda db: db.execute(_GET, (self.name, _plain(key))).fetchall())
        return _value(rows[0][0]) if rows else None

    def all(self, folder: Path) -> dict[str, Any]:
        """Every entry, the one that was written last at the end."""
        rows = _read(folder, lambda db: db.execute(_ALL, (self.name,)).fetchall())
        return {key: value for key, text in rows or () if (value := _value(text)) is not None}

    def put(self, folder: Path, key: str, value: Any) -> bool:
        """Keeps a value, as the newest; says whether that could be written."""
        return self.update(folder, key, lambda _: value)

    def some(self, folder: Path, keys: Iterable[str]) -> dict[str, Any]:
        """The values of those of some keys that have one, by one opening of the file."""

        def look(db: sqlite3.Connection) -> dict[str, Any]:
            rows = ((key, db.execute(_GET, (self.name, _plain(key))).fetchone()) for key in keys)
            return {key: _value(row[0]) for key, row in rows if row}

        return _read(folder, look) or {}

    def put_all(self, folder: Path, values: Mapping[str, Any]) -> bool:
        """Keeps many values at once; says whether they could be written."""

        def write(db: sqlite3.Connection) -> None:
            db.executemany(_PUT, [(self.name, _plain(key), _text(value)) for key, value in values.items()])
            db.execute(_TRIM, (self.name, self.name, self.kept))

        return not values or _write(folder, write)

    def delete(self, folder: Path, key: str) -> bool:
        """Forgets a key; says whether it is gone."""
        return self.get(folder, key) is None or self.update(folder, key, lambda _: None)

    def delete_all(self, folder: Path, keys: Collection[str]) -> bool:
        """Forgets many keys at once; says whether they are gone."""
        rows = [(self.name, _plain(key)) for key in keys]

        def write(db: sqlite3.Connection) -> None:
            db.executemany(_DELETE, rows)

        return not rows or _write(folder, write)

    def update(self, folder: Path, key: str, change: Callable[[Any], Any]) -> bool:
        """Replaces a value by what becomes of it; no other writer comes in between.

        Args:
            change: is given the value, None where there is none, and gives the new one, None for none.

        Returns:
            Whether it could be written.
        """

        def write(db: sqlite3.Connection) -> None:
            place = self.name, _plain(key)
            rows = db.execute(_GET, place).fetchall()
            value = change(_value(rows[0][0]) if rows else None)
            if value is None:
                db.execute(_DELETE, place)
            else:
                db.execute(_PUT, (*place, _text(value)))
                db.execute(_TRIM, (self.name, self.name, self.kept))

        return _write(folder, write)


def scrub(folder: Path, purge: Purge) -> int:
    """Takes texts out of every entry, and out of what the file holds besides; returns how many had one.

    Nothing can be looked for in a damaged file, so one that was set aside goes.
    """
    held: list[int] = []

    def write(db: sqlite3.Connection) -> None:
        held.clear()
        for number, space, key, value in db.execute("SELECT id, space, key, value FROM kv").fetchall():
            old = key.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape")
            new = purge.clean_name(old[0]), purge.clean(old[1])
            if new != old:
                fresh = (part.decode("utf-8", "replace") for part in new)
                db.execute("DELETE FROM kv WHERE id = ?", (number,))
                db.execute("INSERT OR REPLACE INTO kv VALUES(?, ?, ?, ?)", (number, space, *fresh))
                held.append(number)

    def pack(db: sqlite3.Connection) -> None:
        # What was deleted is overwritten, yet cells that moved may have left a copy within a page.
        db.execute("COMMIT")
        db.execute("VACUUM")

    if (folder / FILE).exists() and not (_write(folder, write) and _write(folder, pack)):
        with suppress(OSError):
            delete_index(folder, FILE)
    # Last, since a file that turned out to be damaged has just become one.
    with suppress(OSError):
        (folder / ASIDE).unlink()
    return len(held)


def _plain(key: str) -> str:
    """A key without what is no character: a client may call its session anything."""
    return key.encode("utf-8", "replace").decode()


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _value(text: object) -> Any:
    try:
        return json.loads(str(text))
    except (ValueError, RecursionError):
        return None


def _read(folder: Path, look: Callable[[sqlite3.Connection], Found]) -> Found | None:
    for _ in range(2):
        if not os.path.lexists(folder / FILE):
            break
        try:
            with _opened(folder) as db:
                return look(db)
        except _Damaged:
            _set_aside(folder)
        except (OSError, sqlite3.Error):
            break
    return None


def _write(folder: Path, change: Callable[[sqlite3.Connection], None]) -> bool:
    for _ in range(2):
        try:
            with _opened(folder) as db:
                db.execute("BEGIN IMMEDIATE")
                change(db)
                if db.in_transaction:
                    db.execute("COMMIT")
            return True
        except _Damaged:
            _set_aside(folder)
        except (OSError, sqlite3.Error):
            break
    return False


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """Opens the file, made where it is missing.

    Raises:
        _Damaged: it is broken, no file, or another program's.
        OSError, sqlite3.Error: it cannot be opened or written just now.
    """
    file = folder / FILE
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.path.lexists(file):
        # What SQLite puts beside it gets the same bits.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    if not stat.S_ISREG(file.lstat().st_mode):
        raise _Damaged
    db = sqlite3.connect(file, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        db.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
        # An entry that is lost with the power is looked up again. What is deleted is overwritten.
        for setting in ("synchronous = NORMAL", "secure_delete = ON", "trusted_schema = OFF"):
            db.execute(f"PRAGMA {setting}")
        db.execute("PRAGMA temp_store = MEMORY")
        if _stamp(db) != (APPLICATION, VERSION):
            _create(db)
        yield db
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN or "no such table" in str(error):
            raise _Damaged from error
        raise
    finally:
        db.close()


def _stamp(db: sqlite3.Connection) -> tuple[int, int]:
    application = db.execute("PRAGMA application_id").fetchone()[0]
    return application, db.execute("PRAGMA user_version").fetchone()[0]


def _create(db: sqlite3.Connection) -> None:
    """Makes the table of an empty file; another process may have been quicker."""
    db.execute("BEGIN IMMEDIATE")
    if _stamp(db) != (APPLICATION, VERSION):
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            raise _Damaged
        db.execute(_SCHEMA)
        db.execute(f"PRAGMA application_id = {APPLICATION}")
        db.execute(f"PRAGMA user_version = {VERSION}")
    db.execute("COMMIT")


def _set_aside(folder: Path) -> None:
    """Gives a damaged file another name, unless another process did and began anew meanwhile."""
    from gitmem.core.errors import RepositoryError
    from gitmem.git.locks import writer_lock  # hardly ever needed

    with suppress(OSError, RepositoryError), writer_lock(folder, "state", timeout=WAIT_SECONDS):
        try:
            with _opened(folder) as db:
                if db.execute("PRAGMA quick_check(1)").fetchone() == ("ok",):
                    return
        except _Damaged:
            pass
        except sqlite3.Error:
            return
        # A journal of what is broken must not be rolled back into what is new.
        (folder / f"{FILE}-journal").unlink(missing_ok=True)
        (folder / FILE).rename(folder / ASIDE)
