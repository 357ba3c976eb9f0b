"""One thing that a dream could not prove."""

from __future__ import annotations

from typing import Literal

from gitmem.values import dataclass

Rule = Literal["account", "merged", "invented", "budget", "found", "secret", "instruction", "place"]


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
    """

    path: str
    rule: Rule
    message: str
    claim: str = ""
