"""What history teaches of memories: when an agent, extraction or person changed a body, on which code.

The catalog remembers, for each commit of a ref that it has walked, which contents came to stand where and
when they had been taught. Commits never change: none is walked twice, and an age as of then is looked up.
What a dream made of lines of daily logs is as old as these.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping

from gitmem.core.errors import MissingObject
from gitmem.git.repository import Commit, CommitDiff, Difference, Repository
from gitmem.search import database
from gitmem.search.lessons import Lesson, RecordedWalk, encoded
from gitmem.search.trees import Trees, is_memory

_TEACHERS = frozenset({"agent", "extract", "human"})
_NO_TEACHING = frozenset({"merge", "sync", "page", "dream"})

NEWEST = 8
"""Commits by which git is told what is recorded."""

_Walked = tuple[str, bytes, int]
_Taught = tuple[str, bytes, bytes, int, int, str]

Body = Callable[[str, str], bytes | None]
"""(path, blob) to a digest of the memory's body; None where it cannot be read."""

Late = Callable[[], bool]
"""Whether there is no time left."""


def never() -> bool:
    """There is all the time."""
    return False


def lessons(
    connection: sqlite3.Connection,
    repo: Repository,
    ref: str,
    commit: str,
    files: Mapping[str, str],
    body: Body,
    late: Late = never,
) -> dict[str, Lesson]:
    """Finds when memories were last taught, and on which code, as of a commit.

    A merge, dream, sync or paging makes no fact young, nor does a move or a change of frontmatter alone; a
    memory that only such changes ever touched is as old as the oldest of them. What a dream made of lines
    of a log is as old as the last of these. Where one content came to
    stand at a path more than once, the newest time at or before the commit counts.

    Args:
        ref: the ref that the commit belongs to; refs do not mix.
        files: path to blob at the commit.
        late: asked before each new commit; once it is, nothing is found, and what was walked is recorded:
            whoever asks next goes on from there.

    Returns:
        Path to author time and code commit; without those that no commit in reach has brought.
    """
    walk = _Walk(connection, ref)
    if walk.place(commit) is None:
        walk.follow(repo, commit, body, late)
    return walk.lessons(commit, files)


class _Walk(RecordedWalk):
    """Walks what is new of one ref's history."""

    def __init__(self, connection: sqlite3.Connection, ref: str) -> None:
        super().__init__(connection, ref)
        self._known: dict[tuple[str, str], Lesson] = {}

    def follow(self, repo: Repository, tip: str, body: Body, late: Late = never) -> None:
        """Walks the commits that are new, and records what they taught."""
        whole = not _is_shallow(repo)
        try:
            walked, taught = self._learn(repo, repo.steps(tip, without=self._newest()), body, late)
        except MissingObject:
            self._known.clear()
            self._places.clear()
            walked, taught = self._learn(repo, torn_steps(repo, tip), body, late)
            whole = False
        # What a repaired or deepened history would tell otherwise is not kept.
        statements = (
            (
                "INSERT OR REPLACE INTO {}.taught(ref, path, oid, place, time, code)"
                " VALUES(?, ?, ?, ?, ?, ?)",
                taught,
            ),
            ("INSERT OR REPLACE INTO {}.walked(ref, oid, place) VALUES(?, ?, ?)", walked),
        )
        if not whole or not database.keep(
            self._connection, [(words.format("main"), rows) for words, rows in statements]
        ):
            for words, rows in statements:
                self._connection.executemany(words.format("temp"), rows)

    def _learn(
        self, repo: Repository, steps: Iterable[CommitDiff], body: Body, late: Late = never
    ) -> tuple[list[_Walked], list[_Taught]]:
        """Rows for what is new in some steps, as far as there is time."""
        walked: list[_Walked] = []
        taught: list[_Taught] = []
        for step in steps:
            commit = step.commit
            if self.place(commit.oid) is not None:
                continue
            # Ancestors come first, so that what was walked is whole.
            if late():
                break
            above = [place for parent in commit.parents if (place := self.place(parent)) is not None]
            place = max([commit.committer.time, *(place + 1 for place in above)])
            self._places[commit.oid] = place
            walked.append((self._ref, bytes.fromhex(commit.oid), place))
            for path, oid, lesson in self._lessons(repo, step, place, body):
                self._known[path, oid] = lesson
                taught.append((self._ref, encoded(path), bytes.fromhex(oid), place, *lesson))
        return walked, taught

    def _newest(self) -> list[str]:
        """The last commits that were walked: with all their ancestors, for they are kept together."""
        rows = self._connection.execute(
            "SELECT oid FROM main.walked WHERE ref = ? ORDER BY place DESC LIMIT ?", (self._ref, NEWEST)
        )
        return [row[0].hex() for row in rows]

    def _lessons(
        self, repo: Repository, step: CommitDiff, place: int, body: Body
    ) -> Iterator[tuple[str, str, Lesson]]:
        """Yields (path, blob, lesson) for what a commit brought against its first parent."""
        changes = sorted(change for change in step.before[0] if is_memory(change[0]))
        commit = step.commit
        if len(step.before) > 1:
            yield from self._merged(step, place, changes)
            return
        gone = _Gone({path: old for path, old, come in changes if old and not come}, body)
        teaches, code = _teaching(commit)
        told: dict[str, int] = {}
        if not teaches and "/logs/" in commit.message:
            told = told_at(repo, commit)
        for path, old, come in changes:
            if come is None:
                continue
            lesson: Lesson | None = None
            if old is None:
                if source := gone.source(path, come):
                    lesson = self._lesson(*source, place)
            elif not teaches or body(path, old) == body(path, come):
                lesson = self._lesson(path, old, place)
            if path in told and (old is None or body(path, old) != body(path, come)):
                lesson = max((told[path], ""), lesson or (0, ""))
            yield path, come, lesson or (commit.author.time, code)

    def _merged(
        self, step: CommitDiff, place: int, changes: Iterable[Difference]
    ) -> Iterator[tuple[str, str, Lesson]]:
        """The same for a merge: what it united is as young as the younger of the two."""
        others = [{path: old for path, old, _ in before} for before in step.before[1:]]
        for path, old, come in changes:
            if come is None:
                continue
            sources = [old, *(other.get(path, come) for other in others)]
            known = [self._lesson(path, oid, place) for oid in sources if oid]
            taught = [lesson for lesson in known if lesson is not None]
            yield path, come, max(taught, default=(step.commit.author.time, ""))

    def _lesson(self, path: str, oid: str, place: int) -> Lesson | None:
        """When and on what a content was taught that stands at a path just before a place."""
        if (path, oid) not in self._known:
            blob = bytes.fromhex(oid)
            for _, other, since, lesson in self.rows([encoded(path)]):
                if other == blob and since < place:
                    self._known[path, oid] = lesson
        return self._known.get((path, oid))


class _Gone:
    """Files that one commit took away, as (path, blob)."""

    def __init__(self, files: Mapping[str, str], body: Body) -> None:
        self._files = files
        self._body = body
        self._by_blob = {oid: path for path, oid in reversed(list(files.items()))}
        self._by_body: dict[bytes | None, str] | None = None

    def source(self, path: str, oid: str) -> tuple[str, str] | None:
        """The one with the same content, else with the same body; None where the file is new."""
        if not self._files:
            return None
        source = self._by_blob.get(oid)
        if source is None:
            if self._by_body is None:
                self._by_body = {
                    self._body(old, blob): old for old, blob in reversed(list(self._files.items()))
                }
                self._by_body.pop(None, None)
            source = self._by_body.get(self._body(path, oid))
        return (source, self._files[source]) if source is not None else None


def _is_shallow(repo: Repository) -> bool:
    return (repo.git_dir / "shallow").exists()


def _teaching(commit: Commit) -> tuple[bool, str]:
    """Whether a commit teaches what it brings, and the commit of the code that it names."""
    from gitmem.core.trailers import parse

    provenance = parse(commit.message)
    teaches = provenance.writer in _TEACHERS and provenance.op not in _NO_TEACHING
    return teaches, provenance.code_commit if teaches else ""


def told_at(repo: Repository, commit: Commit) -> dict[str, int]:
    """When the last of the lines was told that a commit made claims of, for each memory with such claims.

    No time is later than the commit's own: a day that is yet to come makes no fact young.

    Returns:
        Path to seconds since the epoch; nothing where the logs cannot be read.
    """
    from gitmem.core.account import lines_named, path_of  # only a dream of logs has such a commit
    from gitmem.core.trailers import parse
    from gitmem.git.trees import read_log

    fates = [fate for fate in parse(commit.message).claims if fate.kind == "merged"]
    try:
        lines = lines_named(fates, lambda path: read_log(repo, commit.tree, path))
    except MissingObject:
        return {}
    found: dict[str, int] = {}
    for fate in fates:
        if fate.source in lines:
            path, when = path_of(fate.target), int(lines[fate.source].when.timestamp())
            found[path] = max(found.get(path, 0), min(when, commit.author.time))
    return found


def torn_steps(repo: Repository, tip: str) -> Iterator[CommitDiff]:
    """Yields `Repository.steps` of what can be read of a damaged history, memory files alone.

    Where a line of history ends, the empty tree stands before it.
    """
    from gitmem.git.history import readable  # hardly ever needed

    trees = Trees(repo)
    for commit in reversed(list(readable(repo, tip))):
        before: list[str | None] = []
        for parent in commit.parents:
            try:
                before.append(repo.commit(parent).tree)
            except MissingObject:
                before.append(None)
        yield CommitDiff(
            commit, tuple(tuple(trees.changes(tree, commit.tree)) for tree in before or [None])
        )
