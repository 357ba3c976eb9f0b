"""A model's last words on what it changed: one line a file, read leniently, believed little.

memory/local/main/no-mocks.md: 12, 14: the person corrected the agent about mocks
noop: 12: known already
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core.text import one_line

ANSWER_CHARS = 100_000
LINES = 400
REASON_CHARS = 300
"""Cells of a reason: a sentence or two."""

_NUMBER = r"(?<![0-9])[0-9]{1,6}(?![0-9])"
_NUMBERS = re.compile(rf"({_NUMBER})(?:\]?\s*(?:-|–|—|to|\.\.+)\s*\[?({_NUMBER}))?")
_TOLD = re.compile(r"(?:\s|[0-9\[\](),;#&+.–—-]|messages?|and|to)*", re.IGNORECASE)
_MARKS = re.compile(r"[`*]+")
_BULLET = re.compile(r"(?:[-•+]|[0-9]{1,3}[.)])\s+")


@dataclass(frozen=True)
class Note:
    """What a model says about one file.

    Attributes:
        path: `<scope>/<agent>/<file>`, or less of it; `noop` for what it left alone.
        numbers: of the messages it names, each once, in order; any numbers.
        reason: one line.
    """

    path: str
    numbers: tuple[int, ...]
    reason: str


def notes(answer: str, last: int) -> tuple[Note, ...]:
    """Reads an answer; lines of another form are passed over.

    Args:
        last: number of the last message there is; larger ones name nothing.
    """
    return tuple(_notes(answer[:ANSWER_CHARS], last))


def _notes(answer: str, last: int) -> Iterator[Note]:
    for line in answer.splitlines()[:LINES]:
        plain = _BULLET.sub("", _MARKS.sub("", line).strip(), count=1)
        path, sign, rest = plain.partition(":")
        path = path.strip().replace("\\", "/")
        if not sign or not (path.endswith(".md") or path.lower() == "noop"):
            continue
        told, sign, reason = rest.partition(":")
        numbers = _numbers(told, last)
        if not _TOLD.fullmatch(told):
            numbers, reason = (), rest
        elif not sign:
            reason = ""
        key = path.rpartition("memory/")[2].removeprefix("./") if path.lower() != "noop" else "noop"
        yield Note(key, numbers, one_line(reason, REASON_CHARS))


def _numbers(text: str, last: int) -> tuple[int, ...]:
    found: set[int] = set()
    for match in _NUMBERS.finditer(text):
        first, end = int(match[1]), int(match[2] or match[1])
        found.update(range(first, min(end, last) + 1))
    return tuple(sorted(number for number in found if 1 <= number <= last))
