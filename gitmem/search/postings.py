"""Which texts have a word: texts as strings of words, and a packed list of texts for each word.

A word is a number, written as one character: so it is counted in a text, a phrase found and a length taken
by what `str` does in C, and frequent words, which are numbered early, take a byte or two of UTF-8.

SQLite's FTS5 gives the stems. Its own lists were measured against these: written in half the time, but five
times as slow at 10,000 and 100,000 texts, asked for the rarest words of a question within a budget.
"""

from __future__ import annotations

import gc
import hashlib
import sqlite3
import sys
import zlib
from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, Protocol

from gitmem.core.limits import MEMORY_BYTES
from gitmem.search.database import portions, writing
from gitmem.search.text import Fields, Read, passages
from gitmem.search.words import tokens, word_of

FIELD, PASSAGE, LABEL, ASKS = "\x01", "\x02", "\x03", "\x04"
"""What is no word: between fields, between passages, behind a passage's label, behind what asks."""

HEADED, STRONG, WEAK = range(3)
"""Where a text has a word: in its name or description, often or in a short body, else in its body."""

KIND_BITS = 2
"""Bits of an entry of a list that say where; the others are the text's number."""

BATCH = 4_000
BATCH_BYTES = 4_000_000
"""Texts a transaction, and their bytes: other writers wait no longer, a build that is killed goes on from
there, and memory is bounded. Fewer would write the lists of words anew more often."""

PROBED = 200
"""Words whose stems are asked for together."""

MOST_STEMS = 400_000
"""Words whose stems one connection keeps."""

_FIRST = 16
_SURROGATES = range(0xD800, 0xE000)
MOST = 0x110000 - len(_SURROGATES) - _FIRST
"""Words that have a number of their own; those beyond share one with another word."""

_STRONG_ONCE = 0.3
_STRONG_PER_WORD = 0.015
"""A word is strong that stands this often, and this much more for each word of the body: what BM25 at its
usual constants gives half of what it can give."""

_GROW = (
    "INSERT INTO posting(word, passages, labels, ids) VALUES(?, ?, ?, ?) ON CONFLICT(word) DO UPDATE SET"
    " passages = passages + excluded.passages, labels = labels + excluded.labels,"
    " ids = CAST(ids || excluded.ids AS BLOB)"
)


_COUNT = (
    "INSERT INTO fact(name, value) VALUES(?, ?)"
    " ON CONFLICT(name) DO UPDATE SET value = value + excluded.value"
)


class Blobs(Protocol):
    """What of a repository texts are read from."""

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]: ...


class Indexed(NamedTuple):
    """A text that is indexed.

    Attributes:
        session: that it was learned in; may be empty.
    """

    id: int
    session: str


def number_of(char: str) -> int:
    """The number of a word's character."""
    point = ord(char)
    return (point - len(_SURROGATES) if point >= _SURROGATES.stop else point) - _FIRST


def char(number: int) -> str:
    """The character of a word's number, 0 and up."""
    point = number + _FIRST
    return chr(point + len(_SURROGATES) if point >= _SURROGATES.start else point)


def unpacked(ids: bytes) -> Sequence[int]:
    """The entries of a list: a text's number, shifted by `KIND_BITS`, and where the word stands in it."""
    entries = array("I")
    entries.frombytes(ids[: len(ids) - len(ids) % entries.itemsize])
    if sys.byteorder == "big":
        entries.byteswap()
    return entries


def storable(text: str) -> str:
    """Text without lone surrogates, which SQLite cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def body_digest(
    connection: sqlite3.Connection, repo: Blobs, path: str, oid: str, read: Read
) -> bytes | None:
    """Digest of a text's body, from the catalog or else from the blob; None where it is missing."""
    row = connection.execute("SELECT body FROM blob WHERE oid = ?", (bytes.fromhex(oid),)).fetchone()
    if row:
        return bytes(row[0])
    found = (_digest(read(path, data[:MEMORY_BYTES]).body) for _, data in repo.read_blobs([oid]))
    return next(found, None)


def thread_of(name: str) -> int:
    """The number of a thread."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:6], "big")


class Vocabulary:
    """Gives words their stems, and tokens of texts their characters, for one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._stems: dict[str, tuple[str, ...]] = {}
        self._chars: dict[str, str] = {}
        self._written: dict[str, str] = {}

    def learn(self, words: Iterable[str]) -> None:
        """Finds the stems of words; the file is not touched.

        Where SQLite comes without FTS5, each word is its own stem.
        """
        if len(self._stems) > MOST_STEMS:
            self._stems.clear()
            self._chars.clear()
            self._written.clear()
        new = [word for word in set(words) if word not in self._stems]
        if not new:
            return
        plain = [word for word in new if word.isascii() and word.isalnum()]  # one token each
        rows = [plain[at : at + PROBED] for at in range(0, len(plain), PROBED)]
        others = [word for word in new if not (word.isascii() and word.isalnum())]
        self._stems.update((word, ()) for word in new)
        for doc, place, stem in self._probed([*map(" ".join, rows), *others]):
            if doc < len(rows):
                self._stems[rows[doc][place]] = (stem,)
            else:
                self._stems[others[doc - len(rows)]] += (stem,)

    def _probed(self, texts: Sequence[str]) -> list[tuple[int, int, str]]:
        """The number of a text, the place in it, and the stem there, in order."""
        self.connection.execute("BEGIN")
        try:
            self.connection.execute("INSERT INTO temp.probe(probe) VALUES('delete-all')")
            self.connection.executemany(
                "INSERT INTO temp.probe(rowid, text) VALUES(?, ?)", enumerate(texts, 1)
            )
            rows = self.connection.execute("SELECT doc - 1, offset, term FROM temp.probe_term").fetchall()
        except sqlite3.OperationalError as error:
            if "probe" not in str(error):
                raise
            words = (enumerate(text.split()) for text in texts)
            rows = [(number, place, word) for number, some in enumerate(words) for place, word in some]
        finally:
            self.connection.execute("COMMIT")
        return sorted(rows)

    def stems(self, words: Iterable[str]) -> list[str]:
        """The stems of words that were learned, in order."""
        return [stem for word in words for stem in self._stems[word]]

    def prepare(self, texts: Set[str]) -> None:
        """Finds the stems of the tokens of texts."""
        self.learn(word for token in texts - self._written.keys() if (word := word_of(token)))

    def number(self, texts: Set[str]) -> None:
        """Gives characters to tokens that were prepared; within a writing transaction."""
        new = [
            (token, self._stems[word] if (word := word_of(token)) else ())
            for token in texts - self._written.keys()
        ]
        stems = dict.fromkeys(stem for _, some in new for stem in some)
        self._load(stems)
        self._add([stem for stem in stems if stem not in self._chars])
        chars = self._chars
        self._written.update((token, "".join([chars[stem] for stem in some])) for token, some in new)

    def chars(self, tokens: Iterable[str]) -> list[str]:
        """Tokens that were numbered, as one character for each word of the index.

        The characters are those that the vocabulary holds: a character that is cut out of a text is made
        and hashed anew.
        """
        written = self._written
        found = [char for token in tokens if (char := written[token])]
        joined = "".join(found)
        return found if len(joined) == len(found) else list(joined)

    def _add(self, stems: Sequence[str]) -> None:
        if not stems:
            return
        row = self.connection.execute("SELECT value FROM fact WHERE name = 'words'").fetchone()
        first = row[0] if row else 0
        numbers = {
            stem: number if number < MOST else zlib.crc32(stem.encode()) % MOST
            for number, stem in enumerate(stems, first)
        }
        self.connection.executemany("INSERT INTO word(text, number) VALUES(?, ?)", sorted(numbers.items()))
        self.connection.execute(
            "INSERT OR REPLACE INTO fact(name, value) VALUES('words', ?)", (first + len(stems),)
        )
        self._chars.update((stem, char(number)) for stem, number in numbers.items())

    def _load(self, stems: Iterable[str]) -> None:
        unknown = [stem for stem in stems if stem not in self._chars]
        for some in portions(unknown):
            slots = ",".join("?" * len(some))
            self._chars.update(
                (text, char(number))
                for text, number in self.connection.execute(
                    f"SELECT text, number FROM word WHERE text IN ({slots})",  # noqa: S608
                    some,
                )
            )


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, Indexed]:
    """The texts that are indexed already, by object name."""
    found: dict[str, Indexed] = {}
    for some in portions(dict.fromkeys(map(bytes.fromhex, oids))):
        slots = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT oid, id, session FROM blob WHERE oid IN ({slots})", some)  # noqa: S608
        found.update((oid.hex(), Indexed(number, session)) for oid, number, session in rows)
    return found


def index_texts(
    connection: sqlite3.Connection, repo: Blobs, wanted: Mapping[str, str], read: Read
) -> dict[str, Indexed]:
    """Indexes the texts that the catalog lacks.

    Args:
        wanted: path to object name; of several paths the first names a text without a name.

    Returns:
        Each text by object name; without those that are missing from the repository.
    """
    ids = known(connection, wanted.values())
    paths = {oid: path for path, oid in sorted(wanted.items(), reverse=True) if oid not in ids}
    vocabulary = Vocabulary(connection)
    with _uncollected():
        for cuts in _batches(repo, dict(reversed(paths.items())), read):
            texts = {token for cut in cuts for some in cut.tokens() for token in some}
            vocabulary.prepare(texts)
            with writing(connection):
                ids |= _insert(connection, vocabulary, texts, cuts)
    return ids


@contextmanager
def _uncollected() -> Iterator[None]:
    """Lets nobody look for cycles among a million short lists that have none: a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


class _Cut(NamedTuple):
    """A text's fields, and their tokens.

    Attributes:
        pieces: label, text, and whether it asks, of each passage.
    """

    path: str
    oid: str
    fields: Fields
    head: str
    name: list[str]
    description: list[str]
    pieces: list[tuple[Sequence[str], list[str], bool]]

    def tokens(self) -> Iterator[Sequence[str]]:
        yield self.name
        yield self.description
        for label, text, _ in self.pieces:
            yield label
            yield text


def _cut_text(path: str, oid: str, data: bytes, read: Read) -> _Cut:
    from gitmem.search.heads import head_of, stored

    fields = read(path, data[:MEMORY_BYTES])
    name = fields.given if fields.name == _stem(path) else fields.name
    return _Cut(
        path,
        oid,
        fields,
        stored(head_of(name, fields.description, fields.type, data)),
        tokens(fields.name),
        tokens(fields.description),
        [(label and tokens(label), tokens(text), asks) for label, text, asks in passages(fields.body)],
    )


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")


def _batches(repo: Blobs, paths: Mapping[str, str], read: Read) -> Iterator[list[_Cut]]:
    cuts: list[_Cut] = []
    size = 0
    for oid, data in repo.read_blobs(list(paths)):
        cuts.append(_cut_text(paths[oid], oid, data, read))
        size += min(len(data), MEMORY_BYTES)
        if len(cuts) >= BATCH or size >= BATCH_BYTES:
            yield cuts
            cuts, size = [], 0
    if cuts:
        yield cuts


def _insert(
    connection: sqlite3.Connection, vocabulary: Vocabulary, texts: Set[str], cuts: Sequence[_Cut]
) -> dict[str, Indexed]:
    """Writes what another process has not written meanwhile; gives all."""
    ids = known(connection, [cut.oid for cut in cuts])
    new = [cut for cut in cuts if cut.oid not in ids]
    vocabulary.number(texts)
    chars = vocabulary.chars
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'blob'").fetchone()
    last: int = row[0] if row else 0
    rows: list[tuple[object, ...]] = []
    lists: defaultdict[str, list[int]] = defaultdict(list)
    totals: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for number, cut in enumerate(new, last + 1):
        fields = cut.fields
        session = storable(fields.session)
        ids[cut.oid] = Indexed(number, session)
        name, description = chars(cut.name), chars(cut.description)
        pieces: list[str] = []
        bare: list[str] = []
        for label_tokens, text_tokens, asks in cut.pieces:
            said = chars(text_tokens)
            piece = "".join(said) + ASKS if asks else "".join(said)
            passages.update(set(said))
            if label_tokens and (label := chars(label_tokens)):
                labels.update(set(label))
                bare += label
                piece = f"{''.join(label)}{LABEL}{piece}"
            bare += said
            pieces.append(piece)
        text = PASSAGE.join(pieces)
        words = FIELD.join(("".join(name), "".join(description), text))
        rows.append((number, bytes.fromhex(cut.oid), _digest(fields.body), session, cut.head, words))
        _place(lists, number << KIND_BITS, {*name, *description}, bare)
        totals["texts"] += 1
        totals["passages"] += len(pieces) if text else 0
        totals["name"] += len(name)
        totals["description"] += len(description)
        totals["body"] += len(bare)
    connection.executemany(
        "INSERT INTO blob(id, oid, body, session, head, words) VALUES(?, ?, ?, ?, ?, ?)", rows
    )
    connection.executemany(
        _GROW,
        [(number_of(word), passages[word], labels[word], _packed(lists[word])) for word in sorted(lists)],
    )
    connection.executemany(_COUNT, totals.items())
    _insert_names(connection, [(ids[cut.oid].id, cut) for cut in new])
    return ids


def _place(lists: defaultdict[str, list[int]], entry: int, headed: Set[str], body: Sequence[str]) -> None:
    """Adds a text to the lists of its words."""
    for word in headed:
        lists[word].append(entry)
    strong, weak = entry | STRONG, entry | WEAK
    least = _STRONG_ONCE + _STRONG_PER_WORD * len(body)
    for word, count in Counter(body).items():
        if word not in headed:
            lists[word].append(strong if count >= least else weak)


def _packed(entries: Iterable[int]) -> bytes:
    numbers = array("I", entries)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def remove_texts(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Takes out those of some texts that stand nowhere, now or in what this connection laid out.

    Within a writing transaction.

    A text that stayed would count towards how rare its words are, once for each version of a memory. Taking
    one out costs what entering it did: the same lists are written.
    """
    left = iter(sorted(set(numbers)))
    while some := ",".join(map(str, islice(left, BATCH))):
        rows = connection.execute(
            "SELECT id, words FROM blob b"  # noqa: S608
            f" WHERE id IN ({some}) AND NOT EXISTS (SELECT 1 FROM main.entry WHERE blob = b.id)"
            " AND NOT EXISTS (SELECT 1 FROM temp.past WHERE blob = b.id) ORDER BY id"
        ).fetchall()
        if rows:
            _remove(connection, rows)


def _remove(connection: sqlite3.Connection, rows: Sequence[tuple[int, str]]) -> None:
    lists: defaultdict[str, list[int]] = defaultdict(list)
    totals: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for number, words in rows:
        name, description, text = words.split(FIELD)
        pieces = text.split(PASSAGE) if text else []
        standing = {*name, *description}
        for piece in pieces:
            label, _, said = piece.rpartition(LABEL)
            said = said.removesuffix(ASKS)
            passages.update(set(said))
            labels.update(set(label))
            standing.update(label, said)
            totals["body"] -= len(label) + len(said)
        for word in standing:
            lists[word].append(number)
        totals["texts"] -= 1
        totals["passages"] -= len(pieces)
        totals["name"] -= len(name)
        totals["description"] -= len(description)
    for word, gone in sorted(lists.items()):
        key = number_of(word)
        (ids,) = connection.execute("SELECT ids FROM posting WHERE word = ?", (key,)).fetchone()
        if kept := _without(ids, gone):
            connection.execute(
                "UPDATE posting SET passages = passages - ?, labels = labels - ?, ids = ? WHERE word = ?",
                (passages[word], labels[word], kept, key),
            )
        else:
            connection.execute("DELETE FROM posting WHERE word = ?", (key,))
    connection.executemany(_COUNT, totals.items())
    some = ",".join(str(number) for number, _ in rows)
    for table, column in (("called", "blob"), ("link", "blob"), ("period", "blob"), ("blob", "id")):
        connection.execute(f"DELETE FROM {table} WHERE {column} IN ({some})")  # noqa: S608


def _without(ids: bytes, gone: Sequence[int]) -> bytes:
    """A list without some texts: both ascend."""
    entries = array("I", unpacked(ids))
    for number in reversed(gone):
        at = bisect_left(entries, number << KIND_BITS)
        if at < len(entries) and entries[at] >> KIND_BITS == number:
            del entries[at]
    return _packed(entries)


def _insert_names(connection: sqlite3.Connection, cuts: Iterable[tuple[int, _Cut]]) -> None:
    """Writes what texts are called, link to and name; in the order of the tables, which is quicker."""
    from gitmem.core.names import slugify

    called: set[tuple[str, int]] = set()
    links: set[tuple[str, int]] = set()
    periods: set[tuple[int, int, int]] = set()
    for number, cut in cuts:
        # A log's line has no name, and nothing links to it.
        if cut.path.endswith(".md"):
            called.update((slugify(name), number) for name in {cut.fields.name, _stem(cut.path)})
        links.update((name, number) for name in cut.fields.links)
        periods.update((number, first, last) for first, last in cut.fields.dates)
    for rows, words in (
        (called, "INSERT OR IGNORE INTO called(name, blob) VALUES(?, ?)"),
        (links, "INSERT OR IGNORE INTO link(name, blob) VALUES(?, ?)"),
        (periods, "INSERT OR IGNORE INTO period(blob, first, last) VALUES(?, ?, ?)"),
    ):
        connection.executemany(words, sorted(rows))


def _digest(body: str) -> bytes:
    """What tells one body from another; white space does not."""
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).digest()[:8]
