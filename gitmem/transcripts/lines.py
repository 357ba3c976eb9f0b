"""JSON Lines of a file that another program is still writing, one record at a time."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gitmem.core.errors import RepositoryError

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is skipped unread. Images in real records reach a few MB."""


_DECODER = json.JSONDecoder()


class Line(NamedTuple):
    """One complete line.

    Attributes:
        start: byte offset of its first byte.
        end: byte offset after its newline.
        record: the JSON object, empty for a blank line; None where the line is not one.
    """

    start: int
    end: int
    record: dict[str, Any] | None


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Opens a recorded session.

    Args:
        path: a regular file. A symlink or a device is refused: transcripts are not trusted.

    Raises:
        RepositoryError: the file cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or error
        raise RepositoryError(f"cannot read {path}: {reason}", "give a regular file") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RepositoryError(f"cannot read {path}: not a regular file", "give a recorded session")
        yield file


def read_lines(path: Path) -> Iterator[Line]:
    """Streams the lines of a file from its beginning; see `lines_of`.

    Raises:
        RepositoryError: the file cannot be read.
    """
    with opened(path) as file:
        yield from lines_of(file)


def document(path: Path) -> dict[str, Any] | None:
    """Reads a JSON object that is all of a file; None where it is none, or longer than `LONGEST_LINE`.

    Raises:
        RepositoryError: the file cannot be read.
    """
    with opened(path) as file:
        raw = file.read(LONGEST_LINE + 1)
    return _parse(raw) if len(raw) <= LONGEST_LINE else None


def lines_of(
    file: BinaryIO, place: int = 0, skim: Callable[[bytes], dict[str, Any] | None] | None = None
) -> Iterator[Line]:
    """Streams the lines of an open file.

    A last line without its newline is taken only if it is a whole JSON object, and left for a later
    reading otherwise.

    Args:
        place: byte offset of the first line's beginning.
        skim: makes what is needed of a line without parsing it; None for a line that has to be parsed.
    """
    file.seek(place)
    while raw := file.readline(LONGEST_LINE):
        start, place = place, place + len(raw)
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            place, whole = _pass_over(file, place)
            if whole:
                yield Line(start, place, None)
            continue
        record = (skim(raw) if skim else None) or _parse(raw)
        if record is None and raw.isspace():
            record = {}
        if record is not None or raw.endswith(b"\n"):
            yield Line(start, place, record)


def _pass_over(file: BinaryIO, place: int) -> tuple[int, bool]:
    """Skips the rest of an overlong line: where it ends, and whether with a newline."""
    while rest := file.readline(LONGEST_LINE):
        place += len(rest)
        if rest.endswith(b"\n"):
            return place, True
    return place, False


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        value = _DECODER.decode(raw.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
