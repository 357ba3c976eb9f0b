"""Objects in bulk, in git's own bytes: read and written in any order, looked through in a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from gitmem.git import objects
from gitmem.git.objects import CommandObjects, ObjectWriter
from gitmem.git.repository import Repository


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
    """The objects of one repository.

    Args:
        dry: what is added only gets its name, and is kept nowhere.
    """

    def __init__(self, repo: Repository, *, dry: bool = False) -> None:
        self.git = repo.git
        self.dry = dry
        self.git_dir = repo.git_dir
        self.hex_length = repo.hex_length
        self._reader = CommandObjects(self.git, self.git_dir, self.hex_length)
        self._writer = ObjectWriter(self.git, self.git_dir, self.hex_length)

    def read(self, oid: str) -> tuple[str, bytes]:
        """Reads an object: (kind, content). Raises MissingObject."""
        return self._reader.read(oid)

    def rows(self, tree: str) -> list[RawEntry]:
        """Lines of a tree, in its order. Raises MissingObject."""
        kind, data = self.read(tree)
        if kind != "tree":
            raise objects.unfit(tree, kind, "tree")
        return self.parse(data)

    def parse(self, data: bytes) -> list[RawEntry]:
        """Lines of a tree's content."""
        return [RawEntry(*found) for found in objects.TREE_ROWS[self.hex_length].findall(data)]

    def add(self, kind: str, data: bytes) -> str:
        """Adds an object; returns its name."""
        if not self.dry:
            self._writer.write([(kind, data)])
        return objects.object_name(kind, data, self.hex_length)

    def add_rows(self, rows: Iterable[RawEntry]) -> str:
        """Adds a tree; the rows are brought into git's order."""
        ordered = sorted(rows, key=lambda row: row.name + b"/" if row.is_tree else row.name)
        return self.add("tree", b"".join(b"%s %s\0%s" % row for row in ordered))

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
    rows = objects.TREE_ROWS[repo.hex_length]
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
