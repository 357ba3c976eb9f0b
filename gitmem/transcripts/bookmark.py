"""Where a reading of a session stopped, in a small file, so that the next one costs its new part only.

A bookmark can be deleted at any time: the session is then read whole, to the same end. It holds numbers
that stand for record ids and texts, the names of tools that run, and of what was said only open questions.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from array import array
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_MAGIC = b"gitmem bookmark 1\n"
_SIZE = 64 * 1024 * 1024
_EDGE = 4096
"""Bytes at the beginning and before the end of what was read that tell whether it is the same file."""


@dataclass(frozen=True)
class Bookmark:
    """What a reader needs to go on.

    Attributes:
        reader: name and version of the rules that made it: with others, it says nothing.
        offset: byte to go on from.
        edges: digest of the first and last bytes before that.
        values: small things, as JSON.
        arrays: numbers.
    """

    reader: str
    offset: int
    edges: str
    values: dict[str, Any]
    arrays: list[array[int]]


def edges(file: BinaryIO, offset: int) -> str:
    """Digest of the first and the last 4,096 bytes of the first `offset` bytes of a file.

    Empty where the file is shorter.
    """
    size = min(_EDGE, offset)
    file.seek(0)
    head = file.read(size)
    file.seek(offset - size)
    tail = file.read(size)
    if len(tail) < size:
        return ""
    return hashlib.sha256(b"%d\n%b%b" % (offset, head, tail)).hexdigest()


def load(folder: Path, path: Path, offset: int, reader: str) -> Bookmark | None:
    """Reads the bookmark at an offset of a session; None where there is none, or it is damaged.

    Args:
        folder: where bookmarks are kept.
        path: the session.
        offset: byte to go on from.
        reader: as it was saved.
    """
    try:
        with (folder / _name(path, offset)).open("rb") as file:
            raw = file.read(min(os.fstat(file.fileno()).st_size, _SIZE))
        digest, rest = raw[:32], raw[32:]
        if hashlib.sha256(rest).digest() != digest or not rest.startswith(_MAGIC):
            return None
        head, _, blob = rest[len(_MAGIC) :].partition(b"\n")
        value = json.loads(head)
        if (value["reader"], value["offset"]) != (reader, offset):
            return None
        arrays = []
        at = 0
        for code, size in value["arrays"]:
            arrays.append(array(code, blob[at : at + size]))
            at += size
        return Bookmark(reader, offset, str(value["edges"]), dict(value["values"]), arrays)
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def save(folder: Path, path: Path, bookmark: Bookmark, start: int) -> None:
    """Writes a bookmark, best effort; those of other offsets go, except the one that was started from.

    That one stays, since what follows a reading can fail and is then tried again from there.
    """
    blobs = [one.tobytes() for one in bookmark.arrays]
    head = {
        "reader": bookmark.reader,
        "offset": bookmark.offset,
        "edges": bookmark.edges,
        "values": bookmark.values,
        "arrays": [[one.typecode, len(blob)] for one, blob in zip(bookmark.arrays, blobs, strict=True)],
    }
    rest = b"".join([_MAGIC, json.dumps(head).encode("ascii"), b"\n", *blobs])
    name = _name(path, bookmark.offset)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, aside = tempfile.mkstemp(prefix=".", suffix=".new", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(rest).digest())
                file.write(rest)
            os.replace(aside, folder / name)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
        for other in folder.glob(f"{name.partition('-')[0]}-*"):
            if other.name not in (name, _name(path, start)):
                other.unlink(missing_ok=True)


def _name(path: Path, offset: int) -> str:
    place = hashlib.sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:24]  # noqa: PTH100
    return f"{place}-{offset}"
