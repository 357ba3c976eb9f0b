"""The daily log: one line a fact, appended, never edited; dreams make memories of it.

`logs/YYYY/MM/YYYY-MM-DD.md` in an agent's folder, the day in UTC, holds lines such as

    - 14:05:33Z [feedback 258c7280] Run the linter before every push. **Why:** CI takes ten minutes.

A line is a claim like every list item, so that accounts and blame name it like one.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime, time
from functools import lru_cache
from itertools import groupby
from typing import get_args

from gitmem.memory.claim import Claim, normal_form, parse_body
from gitmem.memory.encoding import decode
from gitmem.memory.log_lines import split
from gitmem.memory.names import kind, log_path
from gitmem.memory.types import MemoryType
from gitmem.values import dataclass

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


def is_log(path: str) -> bool:
    """Whether a path from the root of a memory tree is the daily log of some agent, archived or not."""
    return "/" in path and not path.startswith(".") and kind(path) == "log"


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
