"""The commits of the code as texts to be searched: teams write decisions into messages, and nobody looks.

The index follows one tip, commonly of the default branch, and holds words alone: what is told is read from
git. Only a worker writes it, a portion at a time; a prompt asks what is there. Deleting it loses nothing.

What any question would find in such a history is the background that a commit has to stand out of. Prompts,
which nobody meant as questions, have to agree with it in several rare words besides.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

from gitmem.core.errors import GitmemError, MissingObject, RepositoryError
from gitmem.git.command import GitCommand, layout, peek
from gitmem.git.objects import parse_commit
from gitmem.git.repository import Commit
from gitmem.ledger.files import COMMITS, delete_index
from gitmem.search.database import create, portions, stamp, transaction
from gitmem.search.reach import read_changes
from gitmem.search.words import PROBE, TOKENIZER, Stems, tells, terms, words
from gitmem.values import dataclass

VERSION = 2
APPLICATION = 0x6D656D63
"""Marks the file as gitmem's (`memc`): anything else under that name is replaced."""

MOST_COMMITS = 100_000
"""Commits of a history that are indexed, the newest: of Linux a year's, of most others all."""

MOST_PATHS = 50
"""Paths of a commit that count: what touches more decides nothing on each."""

MESSAGE_CHARS = 20_000
"""Characters of a message that are indexed."""

MOST_ROWS = 4_000
"""Commits with one of the words that a question looks at, the rarest words first."""

COMMON, FEW = 8, 20
"""A word that more than one commit in eight has tells nothing, where there are more than a few of them."""

STALE_SHARE = 0.2
"""Share of commits that a rewritten history has left, above which the index is made anew."""

WEIGHTS = {"subject": 1.0, "body": 0.8, "paths": 0.35}
"""What a word counts by where it stands: a subject was written to be found by."""

LENGTH, USUAL = 0.15, 25
"""How much less a message counts that is longer than usual, and how many words are."""

WHOLE = 0.5
"""What an identifier or phrase adds, of the rarity of its words, where it stands there as a whole."""

BACKGROUND = slice(5, 25)
"""Ranks whose mean score is what any commit of this history would get."""

COVERED = 3.0
"""How much it weighs that a commit has all that is asked, against a score e times the background's."""

ENOUGH = 2.1

MOST_REVERTS = 100
"""Commits that are looked at for whether they were reverted themselves, one after another."""

READ_BYTES = 64 << 20

_BOT = re.compile(
    r"\[bot\]|\b(dependabot|renovate|github-actions|pre-commit-ci|greenkeeper)\b|\bbot@", re.I
)
_TRAILER = re.compile(r"[A-Z][A-Za-z]*(-[A-Za-z]+)+: \S|(Cc|Fixes|Closes|Refs|Bug|Link|Signed-off-by): \S")
_REVERTS = re.compile(r"\bThis reverts commit ([0-9a-f]{7,64})\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`'\"*])|\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)")
_REVERTED = re.compile(r'Revert "(.+)"(?: \(#\d+\))?')

_SCHEMA = f"""
CREATE TABLE state(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE entry(id INTEGER PRIMARY KEY AUTOINCREMENT, oid BLOB NOT NULL UNIQUE, time INTEGER NOT NULL,
  length INTEGER NOT NULL);
CREATE TABLE touch(path INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY(path, entry)) WITHOUT ROWID;
CREATE TABLE undoing(what TEXT NOT NULL, entry INTEGER NOT NULL, subject TEXT NOT NULL,
  PRIMARY KEY(what, entry)) WITHOUT ROWID;
CREATE VIRTUAL TABLE message USING fts5(subject, body, paths, content='', tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE message_place USING fts5vocab(message, 'instance');
CREATE VIRTUAL TABLE message_count USING fts5vocab(message, 'row');
"""
"""`length` is that of subject and body in words; 0 for what is not searched but may undo something. What is
undone is a commit's name, maybe cut short, or `=` and its subject; beside it stands the subject of what
undoes it. No number is given twice: the words of an entry that went stay."""


@dataclass(frozen=True)
class CommitText:
    """What a commit says.

    Attributes:
        time: when it was committed, epoch seconds.
        body: without trailers.
    """

    oid: str
    time: int
    author: str
    subject: str
    body: str


@dataclass(frozen=True)
class Hit:
    """A commit that shares words with a question.

    Attributes:
        score: the rarity of what is shared, in words of which this history has just one.
        above: how often the background's score that is.
        share: of the question's rarity; above 1 where identifiers stand there as a whole.
        telling: words that tell what the question is about, in subject or body.
        headed: those in the subject.
    """

    oid: str
    score: float
    above: float
    share: float
    telling: int
    headed: int

    @property
    def fits_prompt(self) -> bool:
        """Whether it is worth telling unasked. Set on half of 14 reports whose decision is a commit, in the
        history of another project: between what was found with that commit (4.9 and 4.5 at least), and
        without it (3.7 and 2.6 at most)."""
        much = self.score >= 4.3 and self.above >= 3.3 and self.telling >= 4
        most = self.score >= 3.5 and self.above >= 3.0 and self.telling >= 3
        return much or (most and self.share >= 0.6 and self.headed >= 2)

    @property
    def fits_question(self) -> bool:
        """Whether it may answer somebody who asked: how far it stands out, and how much of the question it
        has. Set on half of what `tests/bench/commits_asked.py` measures: entries of a changelog, and the
        commits that name the same number."""
        if not (self.telling and self.above > 0):
            return False
        return math.log(self.above) + COVERED * self.share >= ENOUGH


class CommitIndex:
    """One repository's commits, for one tip."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        connection.executescript(PROBE)
        self._stems = Stems(connection)

    @classmethod
    def open(cls, folder: Path) -> CommitIndex | None:
        """Opens the index of a folder for a look; None where there is none that can be used."""
        file = folder / COMMITS
        with suppress(OSError, sqlite3.Error):
            if file.is_file() and not file.is_symlink():
                connection = sqlite3.connect(file, timeout=0.05, isolation_level=None)
                try:
                    if stamp(connection) == (APPLICATION, VERSION):
                        return cls(connection)
                except sqlite3.Error:
                    connection.close()
                    raise
                connection.close()
        return None

    def close(self) -> None:
        """Frees the file."""
        self._connection.close()

    @property
    def tip(self) -> str:
        """The commit that it describes wholly; empty while it is on its way."""
        row = self._connection.execute("SELECT value FROM state WHERE name = 'tip'").fetchone()
        return str(row[0]) if row else ""

    def __len__(self) -> int:
        """Commits that can be found."""
        kept = self._connection.execute("SELECT value FROM state WHERE name = 'size'").fetchone()
        return int(kept[0]) if kept else _size(self._connection)

    def search(self, query: str, limit: int = 5) -> list[Hit]:
        """Finds the commits that share most with a question, best first; nothing where the file is damaged.

        Args:
            query: natural language, code or a path.
        """
        with suppress(sqlite3.Error):
            return self._search(query, limit)
        return []

    def _search(self, query: str, limit: int) -> list[Hit]:
        size = len(self)
        asked = self._asked(query)
        if size < 2 or not asked:
            return []
        single = [parts[0] for parts in asked if len(parts) == 1]
        counts = self._counts({stem for parts in asked for stem in parts})
        unit = math.log(size)
        worth = {
            stem: math.log(size / min(size, count)) if count else unit for stem, count in counts.items()
        }
        places = self._places(counts, max(FEW, size // COMMON))
        scores: dict[int, float] = defaultdict(float)
        for stem in single:
            for entry, columns in places.get(stem, {}).items():
                scores[entry] += worth[stem] * max(WEIGHTS[column] for column in columns)
        lengths = self._lengths(scores)
        for entry, length in lengths.items():
            scores[entry] /= 1 + LENGTH * max(0.0, math.log((length + 5) / USUAL))
        for parts in asked:
            if len(parts) > 1:
                for entry in self._with_phrase(parts, places):
                    if entry in lengths:
                        scores[entry] += WHOLE * sum(worth[stem] for stem in parts)
        ranked = sorted(((scores[entry], entry) for entry in lengths), reverse=True)
        behind = [score for score, _ in ranked[BACKGROUND]]
        background = max(unit, sum(behind) / len(behind) if behind else 0.0)
        total = sum(worth[stem] for stem in single) or unit
        found = []
        for score, entry in ranked[:limit]:
            said = [
                places[stem][entry].keys()
                for stem in single
                if tells(stem) and entry in places.get(stem, {})
            ]
            telling = [columns for columns in said if not columns <= {"paths"}]
            headed = sum("subject" in columns for columns in telling)
            oid = (
                self._connection.execute("SELECT oid FROM entry WHERE id = ?", (entry,)).fetchone()[0].hex()
            )
            hit = Hit(oid, score / unit, score / background, score / total, len(telling), headed)
            found.append(hit)
        return found

    def _asked(self, query: str) -> list[tuple[str, ...]]:
        """Words of a question as stems, identifiers and phrases as several, each once."""
        cut = [words(term) for term in terms(query)]
        self._stems.learn(word for some in cut for word in some)
        return [parts for parts in dict.fromkeys(tuple(self._stems.stems(some)) for some in cut) if parts]

    def _counts(self, stems: Iterable[str]) -> dict[str, int]:
        found = {}
        for stem in sorted(stems):
            row = self._connection.execute(
                "SELECT doc FROM message_count WHERE term = ?", (stem,)
            ).fetchone()
            found[stem] = int(row[0]) if row else 0
        return found

    def _places(self, counts: dict[str, int], common: int) -> dict[str, dict[int, dict[str, list[int]]]]:
        """Where stems stand: stem to entry to column to places; the rarest first, until it is enough.

        Args:
            common: commits with a stem above which it is left aside.
        """
        found: dict[str, dict[int, dict[str, list[int]]]] = {}
        left = MOST_ROWS
        for stem, count in sorted(counts.items(), key=lambda one: one[::-1]):
            left -= count
            if count > common or left < 0:
                break
            entries: dict[int, dict[str, list[int]]] = {}
            for entry, column, place in self._connection.execute(
                "SELECT doc, col, offset FROM message_place WHERE term = ?", (stem,)
            ):
                entries.setdefault(entry, {}).setdefault(column, []).append(place)
            found[stem] = entries
        return found

    def _with_phrase(
        self, parts: tuple[str, ...], places: dict[str, dict[int, dict[str, list[int]]]]
    ) -> Iterator[int]:
        """Entries in whose subject or body some stems stand one after another."""
        if not all(stem in places for stem in parts):
            return
        first, *others = parts
        for entry, columns in places[first].items():
            for column in columns.keys() & {"subject", "body"}:
                begun = set(columns[column])
                for step, stem in enumerate(others, 1):
                    there = places[stem].get(entry, {}).get(column, ())
                    begun &= {place - step for place in there}
                if begun:
                    yield entry
                    break

    def _lengths(self, entries: Iterable[int]) -> dict[int, int]:
        """Lengths of entries that can be found; what a rewritten history left has none."""
        found: dict[int, int] = {}
        for some in portions(entries):
            slots = ",".join("?" * len(some))
            found |= dict(
                self._connection.execute(
                    f"SELECT id, length FROM entry WHERE length > 0 AND id IN ({slots})",  # noqa: S608
                    some,
                )
            )
        return found

    def excerpt(self, query: str, body: str, chars: int) -> str:
        """The sentences of a body that a question fits best, in their order; all where there is room."""
        if len(body) <= chars:
            return body
        stems = {stem for parts in self._asked(query) for stem in parts}
        size = max(2, len(self))
        worth = {stem: math.log(size / max(1, count)) for stem, count in self._counts(stems).items()}
        sentences = [one for one in _SENTENCE.split(body) if one.strip()]
        cut = [words(one) for one in sentences]
        self._stems.learn(word for some in cut for word in some)
        scores = [math.fsum(worth.get(stem, 0.0) for stem in set(self._stems.stems(some))) for some in cut]
        chosen: set[int] = set()
        room = chars
        for at in sorted(range(len(sentences)), key=lambda at: (-scores[at], at)):
            if scores[at] > 0 and len(sentences[at]) < room:
                chosen.add(at)
                room -= len(sentences[at]) + 3
        lines = []
        for at, sentence in enumerate(sentences):
            if at in chosen:
                lines.append(sentence.strip())
            elif not lines or lines[-1] != "…":
                lines.append("…")
        return "\n".join(lines) if chosen else f"{body[: chars - 1].rstrip()}…"

    def reverts(self, oid: str, subject: str = "") -> list[str]:
        """Later commits that say they revert one and were not reverted themselves, the oldest first.

        Args:
            oid: a whole name, of a commit that need not be in the index.
            subject: its own, for those that name only that.
        """
        with suppress(sqlite3.Error, ValueError):
            row = self._connection.execute(
                "SELECT time FROM entry WHERE oid = ?", (bytes.fromhex(oid),)
            ).fetchone()
            return self._reverts(oid, subject, int(row[0]) if row else 0)
        return []

    def _reverts(self, oid: str, subject: str, since: int) -> list[str]:
        # A revert that was reverted may come back by one more: all are found before any is judged.
        by: dict[str, list[str]] = {}
        left = [(oid, subject, since)]
        while left and len(by) < MOST_REVERTS:
            one, named, when = left.pop(0)
            found = [] if one in by else self._undoing(one, named, when)
            by.setdefault(one, [name for name, _, _ in found])
            left += found
        stands: dict[str, bool] = {}
        for one in reversed(by):
            stands[one] = not any(stands.get(other, True) for other in by[one])
        return [one for one in by[oid] if stands.get(one, True)]

    def _undoing(self, oid: str, subject: str, since: int) -> list[tuple[str, str, int]]:
        """Commits that say they revert one: name, subject, and time."""
        rows = self._connection.execute(
            "SELECT what, e.oid, subject, e.time FROM undoing JOIN entry e ON e.id = entry"
            " WHERE (what BETWEEN ? AND ? OR what = ?) AND e.time >= ? ORDER BY e.time, e.id",
            (oid[:7], oid, f"={subject}", since),
        )
        return [
            (by.hex(), named, when)
            for what, by, named, when in rows
            if by.hex() != oid and (what.startswith("=") or oid.startswith(what))
        ]

    def later(self, oid: str, limit: int) -> list[str]:
        """Commits since one that touch a path of its own, the oldest first."""
        with suppress(sqlite3.Error):
            rows = self._connection.execute(
                "SELECT DISTINCT later.id, later.oid FROM entry one JOIN touch mine ON mine.entry = one.id"
                " JOIN touch theirs ON theirs.path = mine.path JOIN entry later ON later.id = theirs.entry"
                " WHERE one.oid = ? AND later.oid <> one.oid AND later.time >= one.time"
                " ORDER BY later.time, later.id LIMIT ?",
                (bytes.fromhex(oid), limit),
            )
            return [name.hex() for _, name in rows]
        return []


def follow(folder: Path, git: GitCommand, top: Path, tip: str, seconds: float) -> bool:
    """Brings the index of a folder to a tip, as far as there is time; whoever follows next goes on.

    Args:
        tip: name of a commit.

    Returns:
        Whether it is there.
    """
    until = time.monotonic() + seconds
    for _ in range(2):
        try:
            with closing(_connect(folder)) as connection:
                return _Follower(connection, git, top, until).follow(tip)
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "no such module" in str(error):
                return False  # another process is at it, or this SQLite knows no full text
            with suppress(OSError):
                delete_index(folder, COMMITS)
        except sqlite3.Error:
            with suppress(OSError):
                delete_index(folder, COMMITS)
        except (GitmemError, OSError):
            return False
    return False


def messages(git: GitCommand, top: Path, oids: Sequence[str], seconds: float) -> dict[str, CommitText]:
    """Reads what commits say; those that are not there are left out, and nothing is fetched."""
    return {commit.oid: _message(commit) for commit in _commits(git, top, oids, seconds)}


class _Follower:
    def __init__(self, connection: sqlite3.Connection, git: GitCommand, top: Path, until: float) -> None:
        self._connection, self._git, self._top, self._until = connection, git, top, until

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def follow(self, tip: str) -> bool:
        state = dict(self._connection.execute("SELECT name, value FROM state"))
        cut, base = self._cut(), state.get("tip")
        if cut is None:
            return False
        if state.get("cut", cut) != cut:
            raise sqlite3.DatabaseError("a shallow clone was deepened, or cut elsewhere")
        if base == tip:
            return True
        with transaction(self._connection):
            self._connection.execute("INSERT OR REPLACE INTO state VALUES('cut', ?)", (cut,))
        new = gone = None
        if base:
            new, gone = self._list([tip, f"^{base}"]), self._list([base, f"^{tip}"])
        if new is None or gone is None:
            every = self._list([tip])
            if every is None:
                return False
            known = {oid.hex() for (oid,) in self._connection.execute("SELECT oid FROM entry")}
            new, gone = [oid for oid in every if oid not in known], list(known.difference(every))
        self._drop(gone)
        for some in portions(new):
            if self._left <= 0 or not self._add(some):
                return False
        self._bound()
        with transaction(self._connection):
            size = str(_size(self._connection))  # counting 100,000 takes a third of a search
            self._connection.execute("INSERT OR REPLACE INTO state VALUES('size', ?)", (size,))
            self._connection.execute("INSERT OR REPLACE INTO state VALUES('tip', ?)", (tip,))
        return True

    def _cut(self) -> str | None:
        """Tells one shallow clone from another that was cut elsewhere; None where git does not say.

        Where a history is cut, a commit seems to bring every file: such an index is made anew.
        """
        try:
            file = layout(self._git, self._top).common_dir / "shallow"
        except RepositoryError:
            return None
        return blake2b(file.read_bytes()).hexdigest() if file.is_file() else ""

    def _list(self, which: Sequence[str]) -> list[str] | None:
        """Commits without merges, the newest first; None where git does not say, or time ran out."""
        words = ["rev-list", "--no-merges", f"--max-count={MOST_COMMITS}", *which, "--"]
        seen = peek(self._git, words, cwd=self._top, seconds=self._left, size=READ_BYTES)
        return seen.text.split() if seen.returncode == 0 else None

    def _add(self, oids: Sequence[str]) -> bool:
        commits = list(_commits(self._git, self._top, oids, self._left))
        paths = self._paths([commit.oid for commit in commits])
        with transaction(self._connection):
            self._connection.execute("DELETE FROM state WHERE name = 'size'")
            for commit in commits:
                self._enter(commit, paths.get(commit.oid, ()))
        return self._left > 0

    def _enter(self, commit: Commit, paths: Sequence[str]) -> None:
        message = _message(commit)
        subject, body, named = (
            " ".join(words(text)) for text in (message.subject, message.body, "\n".join(paths))
        )
        length = len(subject.split()) + len(body.split()) if _is_telling(commit, message) else 0
        row = self._connection.execute(
            "INSERT OR IGNORE INTO entry(oid, time, length) VALUES(?, ?, ?)",
            (bytes.fromhex(commit.oid), message.time, length),
        )
        if not row.rowcount:
            return  # another process was here
        entry = row.lastrowid
        if length:
            self._connection.execute(
                "INSERT INTO message(rowid, subject, body, paths) VALUES(?, ?, ?, ?)",
                (entry, subject, body, named),
            )
        self._connection.executemany(
            "INSERT OR IGNORE INTO touch VALUES(?, ?)", [(_key(path), entry) for path in paths]
        )
        undone = _REVERTS.findall(commit.message[:MESSAGE_CHARS])
        if not undone and (quoted := _REVERTED.fullmatch(message.subject)):
            undone = [f"={quoted[1]}"]
        self._connection.executemany(
            "INSERT OR IGNORE INTO undoing VALUES(?, ?, ?)",
            [(what, entry, message.subject) for what in undone],
        )

    def _paths(self, oids: Sequence[str]) -> dict[str, list[str]]:
        """What commits touch; nothing where trees are missing, as in a partial clone."""
        listed = "".join(f"{oid}\n" for oid in oids).encode()
        words = ["diff-tree", "--stdin", "--root", "--always", "--no-renames", "-r", "-z", "--raw"]
        seen = peek(
            self._git, words, cwd=self._top, seconds=max(1.0, self._left), size=READ_BYTES, input=listed
        )
        if seen.returncode != 0:
            return {}
        changes = read_changes(seen.stdout)
        return {oid: list(change)[:MOST_PATHS] for oid, change in zip(oids, changes, strict=False)}

    def _drop(self, oids: Sequence[str]) -> None:
        """Takes commits out that the tip does not have; their words stay until the index is made anew."""
        if not oids:
            return
        total = self._connection.execute("SELECT count(*) FROM entry").fetchone()[0]
        stale = self._connection.execute("SELECT value FROM state WHERE name = 'stale'").fetchone()
        count = len(oids) + (int(stale[0]) if stale else 0)
        with transaction(self._connection):
            for some in portions(oids):
                slots = ",".join("?" * len(some))
                self._connection.execute(
                    f"DELETE FROM entry WHERE oid IN ({slots})",  # noqa: S608
                    [bytes.fromhex(oid) for oid in some],
                )
            self._connection.execute("DELETE FROM touch WHERE entry NOT IN (SELECT id FROM entry)")
            self._connection.execute("DELETE FROM undoing WHERE entry NOT IN (SELECT id FROM entry)")
            self._connection.execute("DELETE FROM state WHERE name IN ('tip', 'size')")
            self._connection.execute("INSERT OR REPLACE INTO state VALUES('stale', ?)", (str(count),))
        if count > STALE_SHARE * total:
            raise sqlite3.DatabaseError("most of it is of a history that is no more")

    def _bound(self) -> None:
        """Lets the oldest go above the bound, with some room so that this is not at every commit."""
        count = self._connection.execute("SELECT count(*) FROM entry").fetchone()[0]
        if count > MOST_COMMITS * 1.1:
            oldest = self._connection.execute(
                "SELECT oid FROM entry ORDER BY time LIMIT ?", (count - MOST_COMMITS,)
            ).fetchall()
            self._drop([oid.hex() for (oid,) in oldest])


def _commits(git: GitCommand, top: Path, oids: Sequence[str], seconds: float) -> Iterator[Commit]:
    listed = "".join(f"{oid}\n" for oid in oids).encode()
    words = ["cat-file", "--batch=%(objectname) %(objecttype) %(objectsize)"]
    seen = peek(git, words, cwd=top, seconds=seconds, size=READ_BYTES, input=listed)
    data, at = seen.stdout, 0
    while (end := data.find(b"\n", at)) >= 0:
        fields = data[at:end].decode("ascii", "replace").split(" ")
        at = end + 1
        if len(fields) == 3 and fields[2].isdecimal():
            content = data[at : at + int(fields[2])]
            at += int(fields[2]) + 1
            with suppress(MissingObject):
                if fields[1] == "commit" and len(content) == int(fields[2]):
                    yield parse_commit(content, fields[0])


def _message(commit: Commit) -> CommitText:
    text = commit.message[:MESSAGE_CHARS].strip()
    subject, _, rest = text.partition("\n")
    paragraphs = re.split(r"\n\s*\n", rest.strip())
    while paragraphs and all(_TRAILER.match(line) for line in paragraphs[-1].split("\n")):
        paragraphs.pop()
    kept = (line for line in "\n\n".join(paragraphs).split("\n") if not _REVERTS.search(line))
    body = "\n".join(kept).strip()
    return CommitText(commit.oid, commit.committer.time, commit.author.name, subject.strip(), body)


def _is_telling(commit: Commit, message: CommitText) -> bool:
    """Whether a commit may decide something: a machine's does not, nor one of a word."""
    if _BOT.search(f"{commit.author.name} {commit.author.email}"):
        return False
    if message.subject.startswith(
        ("fixup! ", "squash! ", "amend! ", "Merge branch ", "Merge pull request ")
    ):
        return False
    return len(message.subject.split()) > 1 or bool(message.body)


def _size(connection: sqlite3.Connection) -> int:
    """Commits that can be found, counted."""
    return int(connection.execute("SELECT count(*) FROM entry WHERE length > 0").fetchone()[0])


def _key(path: str) -> int:
    digest = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _connect(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / COMMITS
    if file.is_symlink():
        file.unlink()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    os.close(os.open(file, flags, 0o600))
    connection = sqlite3.connect(file, timeout=1.0, isolation_level=None)
    try:
        if stamp(connection) != (APPLICATION, VERSION):
            create(connection, APPLICATION, VERSION, _SCHEMA)
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection
