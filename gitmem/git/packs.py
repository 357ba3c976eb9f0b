"""Objects in bulk, in git's own bytes: read in any order, looked through in a stream, written as packs."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from gitmem.git import objects
from gitmem.git.object_store import CommandObjects
from gitmem.git.repository import Repository

PACK_BYTES = 48 * 1024 * 1024
PACK_OBJECTS = 20_000
"""What is held back until it is written as one pack."""

LOOSE_OBJECTS = 100
"""As git's own `transfer.unpackLimit`: so few are written one by one."""

_ROWS = {size: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{%d})" % (size // 2), re.DOTALL) for size in (40, 64)}


class RawEntry(NamedTuple):
    """One line of a tree, as its bytes are.

    Attributes:
        oid: object name, raw.
    """

    mode: bytes
    name: bytes
    oid: bytes

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder."""
        return self.mode in (b"40000", b"040000")

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.mode.startswith(b"100")


class PackLook(NamedTuple):
    """What a look through objects found.

    Attributes:
        number: how many objects were looked at.
        found: name to kind of each that holds it.
        flagged: blobs that hold the flag.
    """

    number: int
    found: dict[str, str]
    flagged: frozenset[str]


class RawObjects:
    """The objects of one repository; what was added is on disk after `flush`.

    Args:
        dry: what is added only gets its name, and is kept nowhere.
    """

    def __init__(self, repo: Repository, *, dry: bool = False) -> None:
        self.git = repo.git
        self.dry = dry
        self.git_dir = repo.git_dir
        self.hex_length = repo.hex_length
        self._reader = CommandObjects(self.git, self.git_dir, self.hex_length)
        self._fresh: dict[str, tuple[str, bytes]] = {}
        self._known: set[str] = set()
        self._size = 0

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object: (kind, content). Raises MissingObject."""
        return self._fresh.get(oid) or self._reader.read(oid)

    def rows(self, tree: str) -> list[RawEntry]:
        """Lines of a tree, in its order. Raises MissingObject."""
        kind, data = self.read(tree)
        if kind != "tree":
            raise objects.unfit(tree, kind, "tree")
        return self.parse(data)

    def parse(self, data: bytes) -> list[RawEntry]:
        """Lines of a tree's content."""
        return [RawEntry(*found) for found in _ROWS[self.hex_length].findall(data)]

    def add(self, kind: str, data: bytes) -> str:
        """Adds an object; returns its name."""
        oid = objects.object_name(kind, data, self.hex_length)
        if oid not in self._fresh and oid not in self._known and not self.dry:
            self._fresh[oid] = (kind, data)
            self._size += len(data)
            if self._size > PACK_BYTES or len(self._fresh) >= PACK_OBJECTS:
                self.flush()
        return oid

    def add_rows(self, rows: Iterable[RawEntry]) -> str:
        """Adds a tree; the rows are brought into git's order."""
        ordered = sorted(rows, key=lambda row: row.name + b"/" if row.is_tree else row.name)
        return self.add("tree", b"".join(b"%s %s\0%s" % row for row in ordered))

    def flush(self) -> None:
        """Writes what was added."""
        if not self._fresh:
            return
        pack = objects.encode_pack(self._fresh.values(), self.hex_length)
        if len(self._fresh) < LOOSE_OBJECTS:
            self.git.run(["unpack-objects", "-q"], git_dir=self.git_dir, input=pack)
        else:
            self.git.run(["index-pack", "--stdin"], git_dir=self.git_dir, input=pack)
        self._known |= self._fresh.keys()
        self._fresh = {}
        self._size = 0

    def close(self) -> None:
        """Ends the reading process."""
        self._reader.close()


def each_object(
    repo: Repository | RawObjects, oids: Iterable[str] | None = None
) -> Iterator[tuple[str, str, bytes]]:
    """Reads objects in a stream.

    Args:
        oids: their names; None for every object there is, also those that nothing refers to.

    Yields:
        (name, kind, content). Missing and damaged ones are passed over.
    """
    words = ["cat-file", "--batch", "--buffer"]
    words += ["--batch-all-objects", "--unordered"] if oids is None else []
    process = repo.git.start(words, git_dir=repo.git_dir)
    asked, answers = process.stdin, process.stdout
    assert asked is not None and answers is not None  # noqa: S101 - `start` makes pipes

    def feed() -> None:
        with suppress(OSError):
            for oid in oids or ():
                asked.write(f"{oid}\n".encode())
        with suppress(OSError):
            asked.close()

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    try:
        while head := answers.readline():
            words_found = head.split()
            if len(words_found) != 3:
                continue
            size = int(words_found[2])
            data = answers.read(size + 1)
            if len(data) != size + 1:
                return
            yield words_found[0].decode(), words_found[1].decode(), data[:-1]
    finally:
        process.kill()
        answers.close()
        process.wait()
        feeder.join()


def objects_with(
    repo: Repository | RawObjects,
    holds: Callable[[bytes], bool],
    oids: Iterable[str] | None = None,
    flag: bytes = b"",
) -> PackLook:
    """Finds objects that hold something; of trees the names count, not what they name.

    Args:
        holds: whether some bytes hold it.
        oids: where to look; None for every object.
        flag: bytes whose blobs are listed, too; none where empty.
    """
    count, found, flagged = 0, {}, set()
    rows = _ROWS[repo.hex_length]
    for oid, kind, data in each_object(repo, oids):
        count += 1
        if kind == "tree":
            names = b"\n".join(name for _, name, _ in rows.findall(data))
            if holds(names):
                found[oid] = kind
        elif holds(data):
            found[oid] = kind
        if flag and kind == "blob" and flag in data:
            flagged.add(oid)
    return PackLook(count, found, frozenset(flagged))
