"""Reads on in a recorded session from where an earlier reading stopped, whichever client recorded it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from gitmem.transcripts import bookmark
from gitmem.transcripts.bookmark import Bookmark
from gitmem.transcripts.lines import lines_of, opened
from gitmem.transcripts.model import Session


class Reading(Protocol):
    """A client's reader at work on one file.

    Attributes:
        end: byte offset after the last line that was added.
        settled: what was added can be handed out; it is never false for long.
    """

    end: int

    @property
    def settled(self) -> bool: ...

    def skim(self, raw: bytes, /) -> dict[str, Any] | None:
        """Makes what is needed of a line without parsing it; None for a line that has to be parsed."""

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        """Takes the record that begins at a byte offset; None for a line that holds none."""

    def session(self, path: Path) -> Session:
        """What was said after the reading's start."""

    def mark(self, edges: str) -> Bookmark:
        """What is needed to go on."""


def read_on(
    path: Path,
    start: int,
    begin: Callable[[int], Reading],
    resume: Callable[[Bookmark], Reading | None],
    rules: str,
    *,
    bookmarks: Path | None = None,
    keep: bool = True,
    most: int = 0,
) -> Session:
    """Reads a session, or what was added to it.

    Reading on from `end` gives what a single reading would have given, except that what was handed out
    before cannot be taken back: neither a prompt that is rewound since, nor the first half of a reply.
    What was rewound, dequeued or repeated takes all of the file to tell: without a bookmark from an earlier
    reading, all of it is parsed, and what was recorded before `start` is not returned.

    Args:
        path: the transcript.
        start: byte offset to go on from, the `end` of an earlier reading; 0 is taken instead where the file
            is shorter or, as a bookmark tells, another one.
        begin: makes a reading that hands out from an offset on.
        resume: makes one that goes on; None where the bookmark makes no sense.
        rules: name and version of what the reader's bookmarks hold.
        bookmarks: folder for a bookmark of each session; disposable.
        keep: leave a bookmark for the next reading.
        most: bytes to read at once; the rest is for the next reading. 0 for all.

    Returns:
        The session. `end` stops before a last line that is still being written.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    with opened(path) as file, _without_collector():
        if start > file.seek(0, 2):
            start = 0
        mark = bookmark.load(bookmarks, path, start, rules) if bookmarks and start else None
        if mark is not None and bookmark.edges(file, start) != mark.edges:
            mark, start = None, 0
        resumed = resume(mark) if mark is not None else None
        reading, place = (resumed, start) if resumed else (begin(start), 0)
        for line in lines_of(file, place, reading.skim):
            reading.add(line.start, line.record)
            reading.end = max(line.end, start)
            if most and reading.end - start >= most and reading.settled:
                break
        session = reading.session(path)
        if bookmarks and keep and reading.settled and (resumed is None or session.end > start):
            bookmark.save(bookmarks, path, reading.mark(bookmark.edges(file, session.end)), start)
    return session


@contextmanager
def _without_collector() -> Iterator[None]:
    """Parsed records hold no cycles, and looking for some takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def time_of(stamp: object) -> datetime | None:
    """A recorded time; None where it makes no sense or names no zone."""
    try:
        time = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None
