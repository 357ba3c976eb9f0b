"""What stands where in the index: refs followed by what differs between two trees, or laid out as of then.

Nearly every prompt finds the index up to date, and loads nothing of this.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from gitmem.core.names import is_archived, is_log
from gitmem.git.repository import Repository
from gitmem.git.trees import tree_or_none
from gitmem.search import ages, database, postings
from gitmem.search.lessons import Lesson
from gitmem.search.text import Read, read_fact, read_lines, read_memory
from gitmem.search.trees import Trees
from gitmem.search.words import storable
from gitmem.values import dataclass

_ENTER = (
    "INSERT OR REPLACE INTO {}(id, ref, path, blob, archived, time, thread) VALUES({}, ?, ?, ?, ?, ?, ?)"
)
ENTER_NOW, _ENTER_PAST = _ENTER.format("main.entry", "NULL"), _ENTER.format("temp.past", "?")


@dataclass(frozen=True)
class Texts:
    """Texts of one source that are to be found.

    Attributes:
        wanted: where each stands, beginning with a folder, to its object name.
        times: the same to seconds since the epoch, as far as known.
        source: what they are read from, by object name.
        read: tells their fields.
    """

    wanted: Mapping[str, str]
    times: Mapping[str, int]
    source: postings.Blobs
    read: Read


def follow(
    connection: sqlite3.Connection,
    repo: Repository,
    ref: str,
    base: str | None,
    tip: str | None,
    given: Read | None,
) -> bool:
    """Takes a ref from one commit to another, opening only blobs that the index does not hold.

    Args:
        base, tip: commit that the index describes, and that the ref points at; None for none.
        given: parser of what stands there; that of memory files where None.

    Returns:
        False where another process was quicker, or is about to be.

    Raises:
        MissingObject: the tip itself cannot be read.
    """
    read = given or read_memory
    old = tree_or_none(repo, base)
    new = repo.commit(tip).tree if tip else None
    changes = [(path, come) for path, _, come in Trees(repo).changes(old, new)]
    logs = {path: oid for path, oid in changes if is_log(path)}
    wanted = {path: oid for path, oid in changes if oid and path not in logs}
    entered = [Texts(wanted, {}, repo, read), *_facts(repo, logs)]

    def times() -> Mapping[str, int]:  # once the texts are there, which know their bodies
        return _times(lessons(connection, repo, ref, tip, wanted, read)) if tip else {}

    start = base if old else None
    return _enter(connection, ref, base, start, tip, entered, [path for path, _ in changes], logs, times)


def _enter(
    connection: sqlite3.Connection,
    ref: str,
    base: str | None,
    start: str | None,
    tip: str | None,
    entered: Sequence[Texts],
    gone: Collection[str],
    logs: Collection[str] = (),
    times: Callable[[], Mapping[str, int]] = dict,
) -> bool:
    """Takes out what is gone, then enters texts.

    Args:
        base: where the ref must still stand.
        start: the same; None where all that stands there is to go.
        logs: files whose lines go.
        times: when texts were taught that do not tell.
    """
    indexed = [(one, postings.index_texts(connection, one.source, one.wanted, one.read)) for one in entered]
    known = times()
    with database.transaction(connection):
        row = connection.execute("SELECT tip FROM ref WHERE name = ?", (ref,)).fetchone()
        if (row[0] if row else None) != base:
            return row is not None and row[0] == tip  # another process was here; its state is sound
        if any(postings.known(connection, ids) != ids for _, ids in indexed):
            return False  # another process took out what stood nowhere yet
        if tip:
            connection.execute(
                "INSERT INTO ref(name, tip) VALUES(?, ?)"
                " ON CONFLICT(name) DO UPDATE SET tip = excluded.tip",
                (ref, tip),
            )
        number: int = connection.execute("SELECT id FROM ref WHERE name = ?", (ref,)).fetchone()[0]
        if start is None:
            which: list[tuple[str, tuple[object, ...]]] = [("ref = ?", (number,))]
        else:
            paths = {path for one in entered for path in one.wanted}.union(gone)
            which = [("ref = ? AND path = ?", (number, path)) for path in map(storable, paths)]
            which += [
                ("ref = ? AND path > ? AND path < ?", (number, f"{path}#", f"{path}$"))
                for path in map(storable, logs)
            ]
        left: set[int] = set()
        for where, values in which:
            left.update(
                blob
                for (blob,) in connection.execute(f"SELECT blob FROM entry WHERE {where}", values)  # noqa: S608
            )
            connection.execute(f"DELETE FROM entry WHERE {where}", values)  # noqa: S608
        for one, ids in indexed:
            connection.executemany(ENTER_NOW, entry_rows(number, ref, one.wanted, ids, one.times or known))
        if not tip:
            connection.execute("DELETE FROM ref WHERE id = ?", (number,))
        postings.remove_texts(connection, left)
    return True


def lay_out(
    connection: sqlite3.Connection, repo: Repository, ref: str, commit: str, given: Read | None
) -> bool:
    """Enters what a ref held at a commit beside the tips, for this connection alone.

    Returns:
        False where blobs had to be left out because another process holds the lock.
    """
    key = f"{ref}@{commit}"
    read = given or read_memory
    tree = repo.commit(commit).tree
    wanted = {path: come for path, _, come in Trees(repo).changes(None, tree) if come}
    logs = {path: wanted.pop(path) for path in [*wanted] if is_log(path)}
    ids, complete = postings.known(connection, wanted.values()), True
    rows: list[tuple[object, ...]] = []
    number = 1 + connection.execute("SELECT coalesce(max(id), 0) FROM temp.laid").fetchone()[0]
    try:
        if len(ids) < len(set(wanted.values())):
            ids = postings.index_texts(connection, repo, wanted, read)
        for one in _facts(repo, logs):
            lines = postings.index_texts(connection, one.source, one.wanted, one.read)
            rows += entry_rows(number, key, one.wanted, lines, one.times)
    except sqlite3.Error as error:
        if not database.is_busy(error):
            raise
        complete = False
    times = _times(lessons(connection, repo, ref, commit, wanted, read))
    rows += entry_rows(number, key, wanted, ids, times)
    # Negative, so that no row of the past is taken for one of the tips.
    first: int = connection.execute("SELECT coalesce(min(id), 0) - 1 FROM temp.past").fetchone()[0]
    connection.execute("INSERT INTO temp.laid(id, name) VALUES(?, ?)", (number, key))
    connection.executemany(_ENTER_PAST, ((first - place, *row) for place, row in enumerate(rows)))
    return complete


def lessons(
    connection: sqlite3.Connection,
    repo: Repository,
    ref: str,
    commit: str,
    files: Mapping[str, str],
    read: Read = read_memory,
    late: ages.Late = ages.never,
) -> dict[str, Lesson]:
    """When and on which code memories were last taught, their bodies known from the index; see
    `ages.lessons`."""
    digests: dict[str, bytes | None] = {}

    def body(path: str, oid: str) -> bytes | None:
        if oid not in digests:
            digests[oid] = postings.body_digest(connection, repo, path, oid, read)
        return digests[oid]

    return ages.lessons(connection, repo, ref, commit, files, body, late)


def entry_rows(
    ref: int,
    key: str,
    wanted: Mapping[str, str],
    ids: Mapping[str, postings.Indexed],
    times: Mapping[str, int],
) -> Iterator[tuple[object, ...]]:
    """Rows of entries.

    Args:
        ref, key: number and name under which the ref, or what it held at a commit, is kept.
    """
    for path, oid in wanted.items():
        if oid in ids:
            blob, session = ids[oid]
            agent, _, file = path.partition("/")
            thread = postings.thread_of(f"{key}\n{agent}\n{session}") if session else None
            yield ref, storable(path), blob, is_archived(file), times.get(path, 0), thread


def _times(found: Mapping[str, Lesson]) -> dict[str, int]:
    return {path: time for path, (time, _) in found.items()}


def _facts(repo: Repository, logs: Mapping[str, str | None]) -> list[Texts]:
    """The facts of daily logs.

    Args:
        logs: path to blob; None where the log is gone.
    """
    standing = {path: oid for path, oid in logs.items() if oid}
    if not standing:
        return []
    lines = read_lines(repo, standing)
    return [Texts(lines.wanted, lines.times, lines, read_fact)]
