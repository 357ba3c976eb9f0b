"""Daily logs as lines: what orders them, how three of them merge, what one of them lacks.

A line that begins with a time is a unit; lines without one belong to the timed line that they follow, or to
the head of the file. What stands is set arithmetic, so no order of merges changes it; where it stands is
told by the lines themselves. A fence that holds no fact is one line here: what a program printed may begin
with times as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

_TIME = re.compile(r"(?:[-*+][ \t]+)?(\d\d:\d\d(?::\d\d)?)(?!\d)")
_FACT = re.compile(r"[-*] \d\d:\d\d:\d\dZ \[")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")

LONGEST_FENCE = 500
"""Lines of a fence that are looked for its end; what is longer counts as lines."""

_Rest = dict[tuple[str, int], None]
"""What follows a timed line: each line with the number of those before it there that say the same."""

_Units = dict[str, _Rest]
"""Timed line to what follows it; the head of the file stands under the empty line."""


def merge_lines(base: str, ours: str, theirs: str) -> str:
    """Merges logs, in linear time but for sorting.

    A line that either side added stays, one that a side took out while the other left it alone goes; a
    timed line stays as long as something stands under it.

    Returns:
        Every timed line once, sorted by time, then by text; what follows one stays behind it.
    """
    old, one, other = (_units(text) for text in (base, ours, theirs))
    lines: list[str] = []
    for timed in sorted({*one, *other}, key=_moment):
        rest = _merged(old.get(timed, {}), one.get(timed, {}), other.get(timed, {}))
        if rest or _stands(timed, old, one, other):
            lines += [timed, *rest] if timed else rest
    return "".join(f"{line}\n" for line in lines)


def in_order(text: str) -> str:
    """The log with every timed line once, sorted: what a merge by text may have left otherwise."""
    return merge_lines("", text, text)


def with_lines(text: str, lines: Iterable[str]) -> str:
    """The log with more lines, each where its time puts it, and none that stands there already."""
    return merge_lines("", text, "".join(f"{line}\n" for line in lines))


def without_lines(text: str, gone: Collection[str]) -> str:
    """The log less these lines, and what follows those of them that begin with a time."""
    kept: list[str] = []
    dropped = False
    for piece in _pieces(text):
        dropped = piece in gone if is_timed(piece) else dropped
        if not dropped:
            kept += [line for line in piece.split("\n") if line not in gone]
    return "".join(f"{line}\n" for line in kept)


def with_lost(text: str, before: str, lost: Collection[str]) -> str:
    """The log with lines of an earlier state of it put back, behind the timed lines that they followed."""
    there = {*lost, *split(text)}
    return merge_lines("", "".join(f"{line}\n" for line in split(before) if line in there), text)


def lost_lines(before: str, after: str) -> tuple[str, ...]:
    """The lines of a log that a later state of it has no more, blank ones left out."""
    there = {line.rstrip() for line in split(after)}
    return tuple(
        dict.fromkeys(line for line in split(before) if line.strip() and line.rstrip() not in there)
    )


def split(text: str) -> list[str]:
    """The lines of a text without their ends; only `\\n` and `\\r\\n` end one."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def is_timed(line: str) -> bool:
    """Whether a line begins with a time, behind a list marker or without."""
    return _TIME.match(line) is not None


def _moment(line: str) -> tuple[str, str]:
    found = _TIME.match(line)
    return (found[1] if found else "", line)


def _units(text: str) -> _Units:
    units: _Units = {}
    under: _Rest = units.setdefault("", {})
    seen: dict[str, int] = {}
    for line in _pieces(text):
        if is_timed(line):
            # A line that a merge by text doubled begins the same unit again.
            under, seen = units.setdefault(line, {}), {}
        else:
            under[line, seen.get(line, 0)] = None
            seen[line] = seen.get(line, 0) + 1
    return units


def _pieces(text: str) -> list[str]:
    """The lines of a log; a fence that is closed and holds no fact is one."""
    lines = split(text)
    pieces, at = [], 0
    while at < len(lines):
        end = _end_of_fence(lines, at)
        pieces.append("\n".join(lines[at:end]))
        at = end
    return pieces


def _end_of_fence(lines: list[str], at: int) -> int:
    """Number of the line behind the fence that begins at a line; of the next line where none does."""
    opened = _FENCE.match(lines[at])
    for number in range(at + 1, min(len(lines), at + LONGEST_FENCE) if opened else 0):
        line = lines[number].strip()
        if _FACT.match(line):
            break
        if opened and line.startswith(opened[1]) and not line.strip(opened[1][0]):
            return number + 1
    return at + 1


def _stands(timed: str, old: _Units, one: _Units, other: _Units) -> bool:
    return timed in one and timed in other if timed in old else True


def _merged(old: _Rest, one: _Rest, other: _Rest) -> list[str]:
    alive = (one.keys() & other.keys()) | (one.keys() - old.keys()) | (other.keys() - old.keys())
    sides = [[key for key in side if key in alive] for side in (one, other)]
    # The side that says more gives the order; both would do, as long as it is the same for both clones.
    longer, shorter = sorted(sides, key=lambda side: (-len(side), side))
    return [line for line, _ in dict.fromkeys([*longer, *shorter])]
