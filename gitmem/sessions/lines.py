"""JSON Lines of a file that another program is still writing, one record at a time."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gitmem.errors import RepositoryError

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is skipped unread. Images in real records reach a few MB."""


@dataclass(frozen=True, slots=True)
class Line:
    """One complete line.

    Attributes:
        start: byte offset of its first byte.
        end: byte offset after its newline.
        record: the JSON object; None where the line is not one.
    """

    start: int
    end: int
    record: dict[str, Any] | None


def read_lines(path: Path) -> Iterator[Line]:
    """Streams the lines of a file; blank ones are passed over.

    A last line without its newline is taken only if it is a whole JSON object, and left for a later
    reading otherwise.

    Args:
        path: a regular file. A symlink or a device is refused: transcripts are not trusted.

    Raises:
        RepositoryError: the file cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise RepositoryError(f"cannot read {path}: {error.strerror}", "give a regular file") from error
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RepositoryError(f"cannot read {path}: not a regular file", "give a recorded session")
        place = 0
        while raw := file.readline(LONGEST_LINE):
            start, place = place, place + len(raw)
            if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
                place, whole = _pass_over(file, place)
                if whole:
                    yield Line(start, place, None)
                continue
            if not raw.strip():
                continue
            record = _parse(raw)
            if raw.endswith(b"\n") or record is not None:
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
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
