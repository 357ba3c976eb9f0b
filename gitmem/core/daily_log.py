"""The daily log: one line a fact, only ever added to; dreams make memories of it.

`logs/YYYY/MM/YYYY-MM-DD.md` in an agent's folder, the day in UTC, holds lines such as

    - 14:05:33Z [feedback 258c7280] Run the linter before every push. **Why:** CI takes ten minutes.

A line is a claim like every list item, so that accounts and blame name it like one. A line that begins with
a time is a unit; lines without one belong to the timed line that they follow, or to the head of the file.
What stands is set arithmetic, so no order of merges changes it; where it stands is told by the lines
themselves. A fence that holds no fact is one line here: what a program printed may begin with times too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from functools import lru_cache
from itertools import groupby
from typing import get_args

from gitmem.core.claim import Claim, normal_form, parse_body
from gitmem.core.memory import MemoryType
from gitmem.core.names import TOMBSTONES, archived_path, hot_path, is_log, kind, log_path
from gitmem.core.sequence import surviving
from gitmem.core.text import decode, encode
from gitmem.core.tombstone import finder, parse
from gitmem.values import dataclass

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
    alive = surviving(old, one, other, lambda key: key)
    sides = [[key for key in side if key in alive] for side in (one, other)]
    # The side that says more gives the order; both would do, as long as it is the same for both clones.
    longer, shorter = sorted(sides, key=lambda side: (-len(side), side))
    return [line for line, _ in dict.fromkeys([*longer, *shorter])]


PATTERN = "logs/YYYY/MM/YYYY-MM-DD.md"
"""How a log is named to a model: a date of the day would end every cached prompt at midnight."""

SESSION_CHARS = 8
"""Characters of a session's id in a line; all of it stands in the line's commit."""

SOME_DAY = date(2026, 11, 20)
"""Stands where a line is read and its day does not matter."""

_LINE = re.compile(r"[-*] (\d\d):(\d\d):(\d\d)Z \[([a-z]+)(?: ([A-Za-z0-9_-]{1,64}))?\] (\S.*)")
_REASON = re.compile(r"\s+(?=\*\*(?:Why|How to apply):\*\*\s)", re.IGNORECASE)
_DAY = re.compile(r"(?:^|/)logs/(\d{4})/(\d{2})/(\1-\2-\d{2})\.md$")


@dataclass(frozen=True)
class LogLine:
    """One fact of a daily log.

    Attributes:
        when: when it was said, UTC, to the second.
        type: one of the four types.
        session: how the id of the session begins; empty where it was told in none.
        text: the fact, markdown on one line.
    """

    when: datetime
    type: MemoryType
    session: str
    text: str

    def render(self) -> str:
        """The line, without a newline."""
        session = f" {self.session[:SESSION_CHARS]}" if self.session else ""
        text = " ".join(self.text.split())
        return f"- {self.when.astimezone(UTC):%H:%M:%S}Z [{self.type}{session}] {text}"

    @property
    def path(self) -> str:
        """The log that it belongs to, relative to the agent's folder."""
        return log_path(self.when.astimezone(UTC).date())


def day_of(path: str) -> date | None:
    """The day of a log's path; None for a path that is no log."""
    found = _DAY.search(path)
    try:
        return date.fromisoformat(found[3]) if found else None
    except ValueError:
        return None


def read_line(line: str, day: date) -> LogLine | None:
    """Reads one line; None for a heading, or what a person or an agent wrote freely."""
    found = _LINE.fullmatch(line.rstrip())
    if found is None or found[4] not in get_args(MemoryType):
        return None
    try:
        at = time(int(found[1]), int(found[2]), int(found[3]), tzinfo=UTC)
    except ValueError:
        return None
    return LogLine(datetime.combine(day, at), found[4], found[5] or "", found[6])  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def log_claims(path: str, data: bytes) -> tuple[Claim, ...]:
    """The claims of a log: each line that is a fact, whatever is written around it, and the blocks between.

    A fence or a comment that somebody left open ends no day.

    Args:
        path: of the log, from the root of the tree or in the agent's folder; no claims for another one.
    """
    if kind(path) != "log":
        return ()
    claims: list[Claim] = []
    seen: Counter[str] = Counter()
    for is_fact, run in groupby(split(decode(data)), _is_fact):
        lines = list(run)
        for claim in map(_claim, lines) if is_fact else parse_body("\n".join(lines)).claims:
            again = seen[claim.key]
            claims.append(claim if claim.ordinal == again else replace(claim, ordinal=again))
            seen[claim.key] += 1
    return tuple(claims)


def _is_fact(line: str) -> bool:
    return _LINE.fullmatch(line.rstrip()) is not None


def _claim(line: str) -> Claim:
    return Claim(line, "", normal_form(line, item=True), item=True)


def facts(path: str, data: bytes) -> tuple[tuple[Claim, LogLine], ...]:
    """The facts of a log, each with the claim that it is, in the order of the file."""
    day = day_of(path)
    if day is None:
        return ()
    told = [(claim, read_line(f"- {claim.key}", day)) for claim in log_claims(path, data)]
    return tuple((claim, line) for claim, line in told if line is not None)


def log_of(at: str) -> str:
    """The path of the log that a fact stands in, of `<path of the log>#<12 hex>`."""
    return at.rpartition("#")[0]


def fact_in(at: str, data: bytes) -> tuple[Claim, LogLine] | None:
    """A fact of a log by its reference; None where the log does not hold it."""
    path, _, short = at.rpartition("#")
    return next((fact for fact in facts(path, data) if fact[0].short == short), None)


def statements(text: str) -> tuple[str, ...]:
    """The claims that a fact is made of: what it states, and each `**Why:**` and `**How to apply:**`."""
    return tuple(_REASON.split(" ".join(text.split())))


def line_keys(line: str) -> tuple[str, ...]:
    """Normal forms of what a line of a log says: the line itself, its fact, and the claims in that.

    Under any of them it is known, found and forgotten.
    """
    found = _LINE.fullmatch(line.rstrip())
    told = (found[6], *statements(found[6])) if found else ()
    whole = normal_form(line, item=True)
    return tuple(dict.fromkeys([whole, *(normal_form(text, item=False) for text in told)]))


def fact_of(key: str) -> str:
    """The fact alone of a line's normal form (`Claim.key`), without time, type and session; else empty."""
    found = _LINE.fullmatch(f"- {key}")
    return found[6] if found else ""


def fact_keys(line: str) -> tuple[str, ...]:
    """Normal forms of the fact of a line, with its reasons and without; none for what is no fact."""
    found = _LINE.fullmatch(line.rstrip())
    told = (found[6], statements(found[6])[0]) if found else ()
    return tuple(dict.fromkeys(normal_form(text, item=False) for text in told))


def taken_out(before: str, after: str, stones: str) -> tuple[str, ...]:
    """The lines of a log that a later state lacks without a tombstone.

    Args:
        after: the log, and what the archive has of that day.
        stones: the tombstone file of the later state.
    """
    lost = lost_lines(before, after)
    if not lost:
        return ()
    buried = finder(parse(stones), "forgot")
    return tuple(line for line in lost if not any(map(buried, line_keys(line))))


def stones_of(log: str) -> str:
    """The path of the tombstones that count for a log of a memory tree."""
    return f"{log.partition('/')[0]}/{TOMBSTONES}"


def other_place(log: str) -> str:
    """The other of the two places of a log of a memory tree: hot, and in the archive."""
    return hot_path(log) or archived_path(log) or ""


def with_every_line(
    before: Mapping[str, bytes], after: Mapping[str, bytes], stones: Mapping[str, bytes]
) -> dict[str, bytes]:
    """A later state of some files, with the lines that it takes out of logs put back.

    Args:
        before, after: path from the root of a memory tree to content, at all paths that differ. A log that
            moved to the archive, or back, with all its lines has lost none.
        stones: the tombstones of the later state, by their paths; what was forgotten stays out.
    """
    files = dict(after)
    for path in filter(is_log, before):
        now, then = decode(after.get(path, b"")), decode(before[path])
        there = now + "\n" + decode(after.get(other_place(path), b""))
        lost = taken_out(then, there, decode(stones.get(stones_of(path), b"")))
        if lost:
            files[path] = encode(with_lost(now, then, lost))
    return files
