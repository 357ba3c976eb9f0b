"""The catalog: an index of a repository's texts, brought up to date with refs, or laid out as of a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gitmem.core.errors import RepositoryError
from gitmem.ledger.files import CATALOG
from gitmem.search import database
from gitmem.search.words import Stems
from gitmem.values import dataclass

# Nearly every prompt finds the index up to date, and loads nothing of what makes it.
if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.ledger.catalog import Head
    from gitmem.search import ages
    from gitmem.search.content import Opened
    from gitmem.search.lessons import Lesson
    from gitmem.search.text import Read

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
        self._stems: Stems | None = None
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

                with database.transaction(self._connection):
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

    def described(self, numbers: Iterable[int]) -> dict[int, tuple[str, str, str, str]]:
        """Texts by number: object name, and the name, description and type that their frontmatter says.

        Nothing is opened.
        """
        asked = ",".join(map(str, numbers))
        if not asked:
            return {}
        rows = self.read(f"SELECT id, lower(hex(oid)), head FROM blob WHERE id IN ({asked})")  # noqa: S608
        read = json.loads(f"[{','.join(head for _, _, head in rows)}]")  # as `heads` keeps them
        return {
            number: (oid, name, about, type)
            for (number, oid, _), (name, about, type, *_) in zip(rows, read, strict=True)
        }

    def opened(self, oid: str) -> Opened | None:
        """What a memory says, where somebody opened it before; see `content`."""
        rows = self.read(
            "SELECT value FROM opened o JOIN blob b ON b.id = o.blob WHERE b.oid = ?", (bytes.fromhex(oid),)
        )
        if rows:
            from gitmem.search.content import from_kept

            with suppress(ValueError, TypeError):  # whatever wrote that: it is opened again
                return from_kept(rows[0][0])
        return None

    def keep_opened(self, oid: str, said: Opened) -> None:
        """Keeps what a memory says as long as its text is in the index, for the next one who is told it."""
        from gitmem.search.content import LARGEST, as_kept

        if len(said.body) <= LARGEST:
            words = "INSERT OR REPLACE INTO opened(blob, value) SELECT id, ? FROM blob WHERE oid = ?"
            row = (as_kept(said), bytes.fromhex(oid))
            self._steadily(lambda: database.keep(self._connection, [(words, [row])]), False)

    def times(
        self,
        repo: Repository,
        ref: str,
        commit: str,
        files: Mapping[str, str],
        *,
        late: ages.Late | None = None,
    ) -> dict[str, int]:
        """When memories were last taught as of a commit; see `lessons`."""
        lessons = self.lessons(repo, ref, commit, files, late=late)
        return {path: time for path, (time, _) in lessons.items()}

    def lessons(
        self,
        repo: Repository,
        ref: str,
        commit: str,
        files: Mapping[str, str],
        *,
        late: ages.Late | None = None,
    ) -> dict[str, Lesson]:
        """When and on which code memories were last taught as of a commit; see `ages.lessons`.

        The ref need not be followed.
        """
        from gitmem.search.lessons import RecordedWalk

        def work() -> dict[str, Lesson]:
            walked = RecordedWalk(self._connection, ref)
            if walked.place(commit) is not None:
                return walked.lessons(commit, files)
            from gitmem.search import ages, entries

            return entries.lessons(self._connection, repo, ref, commit, files, late=late or ages.never)

        return self._steadily(work, {})

    def brought(self, ref: str, files: Mapping[str, str]) -> dict[str, list[str]]:
        """The commits that first brought contents to where they stand; see `lessons.brought`."""
        from gitmem.search.lessons import brought

        return self._steadily(lambda: brought(self._connection, ref, files), {})

    def read(self, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
        """Runs a reading statement; a damaged file is first made anew and filled again."""
        asked = tuple(values)
        return self._steadily(lambda: self._connection.execute(query, asked).fetchall(), [])

    def stems(self, words: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Gives each word as the index holds it: the stem, or none where it is no word to the index."""
        asked = list(words)
        if not self._stems or self._stems.connection is not self._connection:
            self._stems = Stems(self._connection)
        self._stems.learn(asked)
        return {word: tuple(self._stems.stems([word])) for word in asked}

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

    def _follow(self, repo: Repository, ref: str, tip: str | None, read: Read | None) -> bool:
        row = self._connection.execute("SELECT tip FROM ref WHERE name = ?", (ref,)).fetchone()
        base: str | None = row[0] if row else None
        if base == tip:
            return True
        from gitmem.search import entries

        return entries.follow(self._connection, repo, ref, base, tip, read)

    def _lay_out(self, repo: Repository, ref: str, commit: str, read: Read | None) -> bool:
        if self._connection.execute(
            "SELECT 1 FROM temp.laid WHERE name = ?", (f"{ref}@{commit}",)
        ).fetchone():
            return True
        from gitmem.search import entries

        return entries.lay_out(self._connection, repo, ref, commit, read)
