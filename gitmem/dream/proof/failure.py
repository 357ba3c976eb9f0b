"""One thing that a dream could not prove."""

from __future__ import annotations

from typing import Literal

from gitmem.core.text import one_line
from gitmem.values import dataclass

Rule = Literal["account", "merged", "invented", "budget", "found", "secret", "instruction", "place"]


_WHERE = 300
"""Terminal cells of a place; what is hostile may be named by thousands."""


@dataclass(frozen=True, order=True)
class Failure:
    """What is wrong with a dream, and where.

    Attributes:
        path: from the root of the memory tree; hostile text. Empty for the whole dream.
        rule: `account`: a claim went, and nothing true says where; `merged`: a claim is said to hold
            another and lacks a fact of it; `invented`: a claim or a fact that nothing before it had;
            `budget`: too much is dropped or superseded; `found`: a memory that its own description no
            longer finds; `secret`, `instruction`: one that appears; `place`: a file that no dream may
            write.
        message: for a person, one line.
        claim: `<file>#<12 hex>`; empty where it is not about one.
        line: of the file where the claim stands, or stood; 1 where there is none to show.
        commit: the commit of the dream that does it; empty where it is not about one alone.
    """

    path: str
    rule: Rule
    message: str
    claim: str = ""
    line: int = 1
    commit: str = ""

    def __str__(self) -> str:
        """The failure as a person reads it: where, and what."""
        where = one_line(self.claim or self.path, _WHERE)
        return f"{where}: {self.message}" if self.path else self.message
