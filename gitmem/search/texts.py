"""The texts in the catalog: their words, once a blob, for good: blobs never change."""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath
from typing import NamedTuple, Protocol

from gitmem.core.limits import MEMORY_BYTES
from gitmem.search import heads, postings
from gitmem.search.database import portions, writing
from gitmem.search.fields import Fields, Read
from gitmem.search.vocabulary import ASKS, FIELD, LABEL, PASSAGE, Vocabulary, number_of
from gitmem.store.repository import MissingObject, Repository
from gitmem.values import dataclass

BATCH = 4_000
BATCH_BYTES = 4_000_000
"""Blobs a transaction, and their bytes: other writers wait no longer, a build that is killed goes on from
there, and memory is bounded. Fewer would write the lists of words anew more often."""


class Blobs(Protocol):
    """What of a repository texts are read from."""

    def blob(self, oid: str) -> bytes: ...


@dataclass(frozen=True)
class _Cut:
    """A memory's fields, and their words."""

    path: str
    oid: str
    fields: Fields
    head: heads.Head
    name: list[str]
    description: list[str]
    near: list[str]
    passages: list[tuple[list[str], list[str], bool]]

    @classmethod
    def of(cls, path: str, oid: str, data: bytes, read: Read) -> _Cut:
        from gitmem.search.passages import passages
        from gitmem.search.words import words

        fields = read(path, data[:MEMORY_BYTES])
        name = fields.given if fields.name == PurePosixPath(path).stem else fields.name
        head = heads.Head(name, fields.description, fields.type, heads.DISPUTED in data, len(data))
        return cls(
            path,
            oid,
            fields,
            head,
            words(fields.name),
            words(fields.description),
            words(fields.near),
            [(words(piece.label), words(piece.text), piece.asks) for piece in passages(fields.body)],
        )

    def words(self) -> Iterator[str]:
        return chain(
            self.name,
            self.description,
            self.near,
            *(chain(label, text) for label, text, _ in self.passages),
        )


class Indexed(NamedTuple):
    """A blob that is indexed.

    Attributes:
        session: that it was learned in; may be empty.
    """

    id: int
    session: str


def known(connection: sqlite3.Connection, oids: Iterable[str]) -> dict[str, Indexed]:
    """The blobs that are indexed already, by object name."""
    found: dict[str, Indexed] = {}
    for some in portions(dict.fromkeys(map(bytes.fromhex, oids))):
        slots = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT oid, id, session FROM blob WHERE oid IN ({slots})", some)  # noqa: S608
        found.update((oid.hex(), Indexed(number, session)) for oid, number, session in rows)
    return found


def index_texts(
    connection: sqlite3.Connection, repo: Blobs, wanted: Mapping[str, str], read: Read
) -> dict[str, Indexed]:
    """Indexes the blobs that the catalog lacks.

    Args:
        wanted: path to object name; of several paths the first names a blob without frontmatter.

    Returns:
        Each blob by object name; without those that are missing from the repository.
    """
    ids = known(connection, wanted.values())
    first = {oid: path for path, oid in sorted(wanted.items(), reverse=True)}
    missing = sorted((path, oid) for oid, path in first.items() if oid not in ids)
    vocabulary = Vocabulary(connection)
    for cuts in _batches(repo, missing, read):
        vocabulary.learn(chain.from_iterable(cut.words() for cut in cuts))
        with writing(connection):
            ids |= _insert(connection, vocabulary, cuts)
    return ids


def _batches(repo: Blobs, missing: Iterable[tuple[str, str]], read: Read) -> Iterator[list[_Cut]]:
    cuts: list[_Cut] = []
    size = 0
    for path, oid in missing:
        try:
            data = repo.blob(oid)
        except MissingObject:
            continue
        cuts.append(_Cut.of(path, oid, data, read))
        size += min(len(data), MEMORY_BYTES)
        if len(cuts) >= BATCH or size >= BATCH_BYTES:
            yield cuts
            cuts, size = [], 0
    if cuts:
        yield cuts


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


def storable(text: str) -> str:
    """Text without lone surrogates, which SQLite cannot hold."""
    return text.encode("utf-8", "replace").decode()


def key(name: str) -> int:
    """The number under which a name is looked up: that of a memory, as a slug, or of a thread."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:6], "big")


def _insert(
    connection: sqlite3.Connection, vocabulary: Vocabulary, cuts: Sequence[_Cut]
) -> dict[str, Indexed]:
    """Writes what another process has not written meanwhile; gives all."""
    ids = known(connection, [cut.oid for cut in cuts])
    new = [cut for cut in cuts if cut.oid not in ids]
    vocabulary.number(chain.from_iterable(cut.words() for cut in new))
    placed: list[postings.Placed] = []
    lengths: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for cut in new:
        number = _insert_blob(connection, cut)
        ids[cut.oid] = Indexed(number, storable(cut.fields.session))
        pieces, bodies = [], []
        for label_words, text_words, asks in cut.passages:
            label, text = vocabulary.written(label_words), vocabulary.written(text_words)
            passages.update(set(text))
            labels.update(set(label))
            pieces.append((label + LABEL if label else "") + text + (ASKS if asks else ""))
            bodies.append(label + text)
        name, description, near = (vocabulary.written(w) for w in (cut.name, cut.description, cut.near))
        body = PASSAGE.join(pieces)
        connection.execute(
            "INSERT INTO text(blob, words) VALUES(?, ?)",
            (number, FIELD.join((name, description, near, body))),
        )
        bare = "".join(bodies)
        placed.append((number, name + description, bare, near))
        lengths.update(
            texts=1,
            passages=len(pieces),
            name=len(name),
            description=len(description),
            near=len(near),
            body=len(bare),
        )
    postings.add(connection, placed)
    _insert_names(connection, [(ids[cut.oid].id, cut) for cut in new])
    connection.executemany(
        "INSERT INTO tally(word, passages, labels) VALUES(?, ?, ?) ON CONFLICT(word)"
        " DO UPDATE SET passages = passages + excluded.passages, labels = labels + excluded.labels",
        [
            (number_of(word), passages[word], labels[word])
            for word in sorted(passages.keys() | labels.keys())
        ],
    )
    connection.executemany(
        "INSERT INTO fact(name, value) VALUES(?, ?)"
        " ON CONFLICT(name) DO UPDATE SET value = value + excluded.value",
        lengths.items(),
    )
    return ids


def _insert_blob(connection: sqlite3.Connection, cut: _Cut) -> int:
    fields = cut.fields
    number: int = connection.execute(
        "INSERT INTO blob(oid, body, session, head) VALUES(?, ?, ?, ?) RETURNING id",
        (bytes.fromhex(cut.oid), _digest(fields.body), storable(fields.session), heads.stored(cut.head)),
    ).fetchone()[0]
    return number


def _insert_names(connection: sqlite3.Connection, cuts: Iterable[tuple[int, _Cut]]) -> None:
    """Writes what texts are called, link to and name; in the order of the tables, which is quicker."""
    from gitmem.core.names import slugify

    called: set[tuple[int, int]] = set()
    links: set[tuple[int, int]] = set()
    periods: set[tuple[int, int, int]] = set()
    for number, cut in cuts:
        # A log's line has no name, and nothing links to it.
        names = {cut.fields.name, PurePosixPath(cut.path).stem} if cut.path.endswith(".md") else set()
        called.update((key(slugify(name)), number) for name in names)
        links.update((key(name), number) for name in cut.fields.links)
        periods.update((number, first, last) for first, last in cut.fields.dates)
    connection.executemany("INSERT OR IGNORE INTO called(name, blob) VALUES(?, ?)", sorted(called))
    connection.executemany("INSERT OR IGNORE INTO link(name, blob) VALUES(?, ?)", sorted(links))
    connection.executemany(
        "INSERT OR IGNORE INTO period(blob, first, last) VALUES(?, ?, ?)", sorted(periods)
    )


def _digest(body: str) -> bytes:
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).digest()[:8]
