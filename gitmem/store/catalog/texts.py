"""The texts in the catalog: their words, once a blob, for good: blobs never change."""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import PurePosixPath

from gitmem.memory.limits import MEMORY_BYTES
from gitmem.store.catalog import heads, postings
from gitmem.store.catalog.database import writing
from gitmem.store.catalog.fields import Fields, Read
from gitmem.store.catalog.vocabulary import ASKS, FIELD, LABEL, PASSAGE, Vocabulary, number_of
from gitmem.store.repository import MissingObject, Repository
from gitmem.values import dataclass

BATCH = 4_000
BATCH_BYTES = 4_000_000
"""Blobs a transaction, and their bytes: other writers wait no longer, a build that is killed goes on from
there, and memory is bounded. Fewer would write the lists of words anew more often."""

_DIGITS = re.compile(r"(\d+)")


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
        from gitmem.store.catalog.passages import passages
        from gitmem.store.catalog.words import words

        fields = read(path, data[:MEMORY_BYTES])
        head = heads.head_of(data)._replace(description=fields.description, type=fields.type)
        if fields.name != PurePosixPath(path).stem:
            head = head._replace(name=fields.name)
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
    missing = sorted(((path, oid) for oid, path in first.items() if oid not in ids), key=_as_counted)
    vocabulary = Vocabulary(connection)
    for cuts in _batches(repo, missing, read):
        vocabulary.learn(chain.from_iterable(cut.words() for cut in cuts))
        with writing(connection):
            ids |= _insert(connection, vocabulary, cuts)
    return ids


def _batches(repo: Repository, missing: Iterable[tuple[str, str]], read: Read) -> Iterator[list[_Cut]]:
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


def name_key(name: str) -> int:
    """The number under which a memory's name, as a slug, is looked up."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "replace")).digest()[:6], "big")


def _insert(connection: sqlite3.Connection, vocabulary: Vocabulary, cuts: Sequence[_Cut]) -> dict[str, int]:
    """Writes what another process has not written meanwhile; gives the rows of all."""
    ids = known(connection, [cut.oid for cut in cuts])
    new = [cut for cut in cuts if cut.oid not in ids]
    vocabulary.number(chain.from_iterable(cut.words() for cut in new))
    placed: list[postings.Placed] = []
    lengths: Counter[str] = Counter()
    passages: Counter[str] = Counter()
    labels: Counter[str] = Counter()
    for cut in new:
        number = ids[cut.oid] = _insert_blob(connection, cut)
        pieces, bodies = [], []
        for label_words, text_words, asks in cut.passages:
            label, text = vocabulary.written(label_words), vocabulary.written(text_words)
            passages.update(set(text))
            labels.update(set(label))
            pieces.append((label + LABEL if label else "") + text + (ASKS if asks else ""))
            bodies.append(label + text)
        name, description, near = (vocabulary.written(w) for w in (cut.name, cut.description, cut.near))
        body = PASSAGE.join(pieces)
        thread = name_key(cut.fields.thread) if cut.fields.thread else None
        connection.execute(
            "INSERT INTO text(blob, words, thread) VALUES(?, ?, ?)",
            (number, FIELD.join((name, description, near, body)), thread),
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
    heads.add(connection, ((cut.oid, cut.head) for cut in new))
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
    from gitmem.memory.names import slugify

    fields = cut.fields
    number: int = connection.execute(
        "INSERT INTO blob(oid, body, session) VALUES(?, ?, ?) RETURNING id",
        (bytes.fromhex(cut.oid), _digest(fields.body), storable(fields.session)),
    ).fetchone()[0]
    called = {slugify(fields.name), slugify(PurePosixPath(cut.path).stem)}
    connection.executemany(
        "INSERT OR IGNORE INTO called(name, blob) VALUES(?, ?)",
        [(name_key(name), number) for name in called],
    )
    if fields.links:
        connection.executemany(
            "INSERT OR IGNORE INTO link(name, blob) VALUES(?, ?)",
            [(name_key(name), number) for name in fields.links],
        )
    if fields.dates:
        connection.executemany(
            "INSERT OR IGNORE INTO period(first, last, blob) VALUES(?, ?, ?)",
            [(first, last, number) for first, last in fields.dates],
        )
    return number


def _as_counted(place: tuple[str, str]) -> str:
    """Sorts paths as a person counts: `2.md` before `10.md`."""
    return _DIGITS.sub(lambda match: match[0].zfill(12), place[0])


def _digest(body: str) -> bytes:
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).digest()[:8]
