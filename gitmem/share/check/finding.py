"""One thing that a check found, as every rule says it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from gitmem.core.text import one_line

Level = Literal["error", "notice"]

QUOTED = 80
"""Terminal cells of someone's text that a message quotes."""


@dataclass(frozen=True, order=True)
class Finding:
    """What is wrong, and where.

    Attributes:
        path: from the root of the tree that was judged; hostile text.
        line: 1-based; 1 where a file has no line to show.
        rule: what was broken, one word of `RULES`.
        message: for a person, on one line; says the same wherever in the file it stands.
        level: an `error` fails the check, a `notice` does not.
    """

    path: str
    line: int
    rule: str
    message: str
    level: Level = "error"


RULES = (
    *("account", "budget", "collision", "date", "dispute", "dropped", "duplicate", "encoding", "epoch"),
    *("foreign", "format", "found", "frontmatter", "host", "index", "instruction", "invented"),
    *("invisible", "limit", "link", "log", "merged", "path", "scope", "secret", "snapshot"),
    *("tombstone", "type"),
)


def quoted(text: str) -> str:
    """A piece of someone's text for a message: on one line, cut, nothing invisible."""
    return one_line(text, QUOTED)


def new_ones(after: Iterable[Finding], before: Iterable[Finding]) -> Iterator[Finding]:
    """Those that were not found before; the line does not count, for text moves."""
    known = Counter((found.rule, found.message) for found in before)
    for found in after:
        if known[found.rule, found.message] > 0:
            known[found.rule, found.message] -= 1
        else:
            yield found
