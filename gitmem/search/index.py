"""The index of one repository's texts: brought up to date with refs, and laid out as of another commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.core.errors import RepositoryError
from gitmem.ledger.files import CATALOG
from gitmem.ledger.workspace import read_heads
from gitmem.search import database
from gitmem.search.words import Vocabulary, storable
from gitmem.values import dataclass

# Nearly every prompt finds the index up to date, and loads nothing of what makes it.
if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.ledger.workspace import CatalogEntry, Head
    from gitmem.search import ages, postings
    from gitmem.search.text import Read

_ENTER = (
    "INSERT OR REPLACE INTO {}(id, ref, path, blob, archived, time, thread) VALUES({}, ?, ?, ?, ?, ?, ?)"
)
ENTER_NOW, _ENTER_PAST = _ENTER.format("main.entry", "NULL"), _ENTER.format("temp.past", "?")

Value = TypeVar("Value")


@dataclass(frozen=True)
class TreePlace:
    """Where a memory stands in a ref's tree.

    Attributes:
        path: in the tree, beginning with the agent's folder.
        time: author time of the last taught change of its body, epoch seconds; 0 where unknown.
    """

    ref: str
    agent: str
    path: str
    blob: str
    archived: bool
    time: int


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


class Catalog:
    """One repository's full-text index; everything in it can be made again from git.

    Several processes may use one file. A reader is never blocked: where another process is writing, it
    answers from the state before. A damaged file is made anew, an unwritable folder gets a catalog in
    memory; neither is an error.
    """

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        self._folder = folder
        self._connection = connection
        self._laid: dict[tuple[str, str | None], Callable[[], bool]] = {}
        self._vocabulary: Vocabulary | None = None
        self.made_anew = 0
        """How often the file was: numbers of texts, refs and entries that were read before mean nothing."""

    @classmethod
    def open(cls, folder: Path) -> Catalog:
        """Opens `<folder>/catalog.sqlite`, making folder and file where they are missing."""
        return cls(folder, database.connect(folder))

    def close(self) -> None:
        """Frees the file; what was laid out alone stays in it no longer, where nobody writes just now."""
        with suppress(sqlite3.Error):
            if past := self._connection.execute("SELECT DISTINCT blob FROM temp.past").fetchall():
                from gitmem.search import postings

                with database.writing(self._connection):
                    self._connection.execute("DELETE FROM temp.past")
                    postings.remove_texts(self._connection, (blob for (blob,) in past))
        self._connection.close()

    @property
    def in_memory(self) -> bool:
        """Whether the folder could not hold the file, so that the work is lost with the process."""
        row: tuple[int, str, str] = self._connection.execute("PRAGMA database_list").fetchone()
        return not row[2]

    def tip(self, ref: str) -> str | None:
        """Commit of the ref that the catalog describes, or None."""
        row = self.read("SELECT tip FROM ref WHERE name = ?", (ref,))
        return row[0][0] if row else None

    def bring_up_to_date(
        self, repo: Repository, ref: str, tip: str | None, read: Read | None = None
    ) -> bool:
        """Follows a ref to its tip, opening only blobs that the catalog does not hold.

        Args:
            tip: commit that the ref points at; None where the ref is gone.
            read: parser of what stands there; that of memory files where None.

        Returns:
            False where another process holds the lock: the catalog answers from an older state.

        Raises:
            MissingObject: the tip itself cannot be read.
        """
        work = partial(self._follow, repo, ref, tip, read)
        self._laid[ref, None] = work
        return self._steadily(work, False)

    def lay_out(self, repo: Repository, ref: str, commit: str, read: Read | None = None) -> bool:
        """Makes what `ref` held at `commit` searchable beside the tips, for this connection alone.

        Returns:
            False where blobs had to be left out because another process holds the lock.
        """
        work = partial(self._lay_out, repo, ref, commit, read)
        self._laid[ref, commit] = work
        return self._steadily(work, False)

    def places(self, ref: str, commit: str | None = None) -> tuple[TreePlace, ...]:
        """Lists the memories of a ref by path, at its tip or at a commit laid out; no log lines."""
        table, names, key = ("past", "temp.laid", f"{ref}@{commit}") if commit else ("entry", "ref", ref)
        rows = self.read(
            f"SELECT e.path, hex(b.oid), e.archived, e.time FROM {names} r JOIN {table} e ON e.ref = r.id"  # noqa: S608
            " JOIN blob b ON b.id = e.blob WHERE r.name = ? AND e.path LIKE '%.md' ORDER BY e.path",
            (key,),
        )
        return tuple(
            TreePlace(ref, path.partition("/")[0], path, oid.lower(), bool(archived), time)
            for path, oid, archived, time in rows
        )

    def heads(self, repo: Repository, oids: Collection[str], *, checked: bool = False) -> dict[str, Head]:
        """What the frontmatter of some blobs says; see `heads.heads`. The ref need not be followed."""
        from gitmem.search import heads

        return self._steadily(lambda: heads.heads(self._connection, repo, oids, checked=checked), {})

    def described(self, numbers: Iterable[int]) -> dict[int, tuple[str, Head]]:
        """Object names of texts, by number, and what their frontmatter says; nothing is opened."""
        asked = ",".join(map(str, numbers))
        if not asked:
            return {}
        rows = self.read(f"SELECT id, lower(hex(oid)), head FROM blob WHERE id IN ({asked})")  # noqa: S608
        read = read_heads([value for _, _, value in rows])
        return {number: (oid, head) for (number, oid, _), head in zip(rows, read, strict=True)}

    def folders(
        self, repo: Repository, tree: str, under: str, *, checked: bool = False
    ) -> dict[str, list[CatalogEntry]]:
        """The memories in each folder right below a tree; see `heads.folders`."""
        from gitmem.search import heads

        def work() -> dict[str, list[CatalogEntry]] | None:
            return heads.folders(self._connection, repo, tree, under, checked=checked)

        found = self._steadily(work, None)
        if found is None:
            with closing(database.in_memory()) as other:
                return heads.folders(other, repo, tree, under, checked=checked)
        return found

    def times(
        self,
        repo: Repository,
        ref: str,
        commit: str,
        files: Mapping[str, str],
        *,
        alone: bool = False,
        late: ages.Late | None = None,
    ) -> dict[str, int]:
        """When memories were last taught as of a commit; see `lessons`."""
        return _times(self.lessons(repo, ref, commit, files, alone=alone, late=late))

    def lessons(
        self,
        repo: Repository,
        ref: str,
        commit: str,
        files: Mapping[str, str],
        *,
        alone: bool = False,
        late: ages.Late | None = None,
    ) -> dict[str, ages.Lesson]:
        """When and on which code memories were last taught as of a commit; see `ages.lessons`.

        The ref need not be followed.
        """
        from gitmem.search.text import read_memory

        work = partial(self._lessons, repo, ref, commit, files, read_memory, alone=alone, late=late)
        return self._steadily(work, {})

    def brought(self, ref: str, files: Mapping[str, str]) -> dict[str, list[str]]:
        """The commits that first brought contents to where they stand; see `ages.brought`."""
        from gitmem.search import ages

        return self._steadily(lambda: ages.brought(self._connection, ref, files), {})

    def is_distilled(self, repo: Repository, ref: str, line: str, commit: str | None = None) -> bool:
        """Whether a commit accounts for a log's line; see `ages.is_distilled`.

        Args:
            commit: asked as of then; None as of the tip that the catalog describes.
        """
        at = commit or self.tip(ref)
        if not at:
            return False
        from gitmem.search import ages

        return self._steadily(lambda: ages.is_distilled(self._connection, repo, ref, line, at), False)

    def read(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a reading statement; a damaged file is first made anew and filled again."""
        asked = tuple(values)
        return self._steadily(lambda: self._connection.execute(query, asked).fetchall(), [])

    def stems(self, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Gives each word as the index holds it: the stem, or none where it is no word to the index."""
        asked = list(words)
        if not self._vocabulary or self._vocabulary.connection is not self._connection:
            self._vocabulary = Vocabulary(self._connection)
        self._vocabulary.learn(asked)
        return {word: tuple(self._vocabulary.stems([word])) for word in asked}

    def _steadily(self, work: Callable[[], Value], busy: Value) -> Value:
        """Runs `work`; on a damaged or unwritable file it moves to a sound one and repeats it once.

        Args:
            busy: what is given where another process holds the lock.
        """
        try:
            return work()
        except sqlite3.Error as error:
            if database.is_busy(error):
                return busy
            self._connection.close()
            self.made_anew += 1
            if database.is_damage(error) and database.discard(self._folder):
                self._connection = database.connect(self._folder)
            else:
                self._connection = database.in_memory()
        try:
            for laid in list(self._laid.values()):
                laid()
            return work()
        except sqlite3.Error as error:
            raise RepositoryError(
                f"the catalog in {self._folder} cannot be used: {error}",
                f"delete {self._folder / CATALOG}; it is made anew",
            ) from error

    def _follow(self, repo: Repository, ref: str, tip: str | None, given: Read | None) -> bool:
        row = self._connection.execute("SELECT tip FROM ref WHERE name = ?", (ref,)).fetchone()
        base: str | None = row[0] if row else None
        if base == tip:
            return True
        from gitmem.git.trees import tree_or_none
        from gitmem.search.text import read_memory
        from gitmem.search.trees import Trees, is_log

        read = given or read_memory
        old = tree_or_none(repo, base)
        new = repo.commit(tip).tree if tip else None
        changes = [(path, come) for path, _, come in Trees(repo).changes(old, new)]
        logs = {path: oid for path, oid in changes if is_log(path)}
        wanted = {path: oid for path, oid in changes if oid and path not in logs}
        entered = [Texts(wanted, {}, repo, read), *_facts(repo, logs)]

        def times() -> Mapping[str, int]:  # once the texts are there, which know their bodies
            return _times(self._lessons(repo, ref, tip, wanted, read)) if tip else {}

        start = base if old else None
        return self._enter(ref, base, start, tip, entered, [path for path, _ in changes], logs, times)

    def _enter(
        self,
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
        from gitmem.search import postings

        connection = self._connection
        indexed = [
            (one, postings.index_texts(connection, one.source, one.wanted, one.read)) for one in entered
        ]
        known = times()
        with database.writing(connection):
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
                connection.executemany(
                    ENTER_NOW, entry_rows(number, ref, one.wanted, ids, one.times or known)
                )
            if not tip:
                connection.execute("DELETE FROM ref WHERE id = ?", (number,))
            postings.remove_texts(connection, left)
        return True

    def _lay_out(self, repo: Repository, ref: str, commit: str, given: Read | None) -> bool:
        key = f"{ref}@{commit}"
        connection = self._connection
        if connection.execute("SELECT 1 FROM temp.laid WHERE name = ?", (key,)).fetchone():
            return True
        from gitmem.search import postings
        from gitmem.search.text import read_memory
        from gitmem.search.trees import Trees, is_log

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
        times = _times(self._lessons(repo, ref, commit, wanted, read))
        rows += entry_rows(number, key, wanted, ids, times)
        # Negative, so that no row of the past is taken for one of the tips.
        first: int = connection.execute("SELECT coalesce(min(id), 0) - 1 FROM temp.past").fetchone()[0]
        connection.execute("INSERT INTO temp.laid(id, name) VALUES(?, ?)", (number, key))
        connection.executemany(_ENTER_PAST, ((first - place, *row) for place, row in enumerate(rows)))
        return complete

    def _lessons(
        self,
        repo: Repository,
        ref: str,
        commit: str,
        files: Mapping[str, str],
        read: Read,
        *,
        alone: bool = False,
        late: ages.Late | None = None,
    ) -> dict[str, ages.Lesson]:
        from gitmem.search import ages

        digests: dict[str, bytes | None] = {}

        def body(path: str, oid: str) -> bytes | None:
            if oid not in digests:
                from gitmem.search import postings

                digests[oid] = postings.body_digest(self._connection, repo, path, oid, read)
            return digests[oid]

        return ages.lessons(
            self._connection, repo, ref, commit, files, body, alone=alone, late=late or ages.never
        )


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
    from gitmem.core.names import is_archived
    from gitmem.search.postings import thread_of

    for path, oid in wanted.items():
        if oid in ids:
            blob, session = ids[oid]
            agent, _, file = path.partition("/")
            thread = thread_of(f"{key}\n{agent}\n{session}") if session else None
            yield ref, storable(path), blob, is_archived(file), times.get(path, 0), thread


def _times(found: Mapping[str, ages.Lesson]) -> dict[str, int]:
    return {path: time for path, (time, _) in found.items()}


def _facts(repo: Repository, logs: Mapping[str, str | None]) -> list[Texts]:
    """The facts of daily logs.

    Args:
        logs: path to blob; None where the log is gone.
    """
    standing = {path: oid for path, oid in logs.items() if oid}
    if not standing:
        return []
    from gitmem.search.text import read_fact, read_lines  # most scopes keep no log

    lines = read_lines(repo, standing)
    return [Texts(lines.wanted, lines.times, lines, read_fact)]
