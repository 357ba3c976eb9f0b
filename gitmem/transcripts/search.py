"""Finds words in what was said: a few lines around each hit, never a whole message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitmem.transcripts.model import Message

AROUND = 2
"""Lines shown before and after a line that holds the terms."""
MOST = 1_000_000
"""Characters of a message's pastes that are searched."""
WIDTH = 240
"""Characters of a line that are shown, those around the first term."""


@dataclass(frozen=True)
class Hit:
    """One place.

    Attributes:
        number: the message's, counted from 1 over the session.
        message: the message.
        lines: the line with the terms and those around it, cut.
        at: index of that line in `lines`.
    """

    number: int
    message: Message
    lines: tuple[str, ...]
    at: int


def find(messages: Sequence[Message], terms: Sequence[str], around: int = AROUND) -> Iterator[Hit]:
    """Yields the lines that hold every term, oldest first; of two that are near one another, the first.

    Args:
        messages: of one session; what tools gave is not searched.
        terms: substrings; case is ignored.
        around: lines before and after.
    """
    wanted = [term.casefold() for term in terms if term.strip()]
    if not wanted:
        return
    for number, message in enumerate(messages, 1):
        lines = message.marked(MOST).splitlines()
        shown_to = -1
        for at, line in enumerate(lines):
            folded = line.casefold()
            if at <= shown_to or not all(term in folded for term in wanted):
                continue
            first, last = max(shown_to + 1, at - around), min(len(lines), at + around + 1)
            shown_to = last - 1
            near = tuple(_cut(one, wanted) for one in lines[first:last])
            yield Hit(number, message, near, at - first)


def _cut(line: str, wanted: Sequence[str]) -> str:
    if len(line) <= WIDTH:
        return line
    folded = line.casefold()
    # Folding can lengthen a text; the place is then a little off, and the line is cut all the same.
    place = min((at for term in wanted if (at := folded.find(term)) >= 0), default=0)
    start = max(0, min(place - WIDTH // 2, len(line) - WIDTH))
    end = start + WIDTH
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"
