"""Passages: the pieces of a memory that are found and scored, each in the order of the file."""

from __future__ import annotations

import re
from dataclasses import dataclass

SHORT = 60
"""Words up to which a body is one passage: its claims answer together."""

LONG_CLAIM = 60
"""Words from which on a claim of several lines is cut at them: a log, a table, what was said in turns."""

MANY_LINES = 1_000
"""Lines from which on blank lines tell the blocks: the parser takes seconds for 25,000 list items."""

MOST = 256
"""Passages of one memory; more are joined evenly, so that a list of 50,000 items stays a few hundred."""

_LABEL = re.compile(r"\s*(?:[-*+>]\s+)?\**([^\W\d_][\w .'-]{0,30}?)(?::\**|\**:)\s")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])\s")
_ENDS = re.compile(r"[.!?…][\"'”’)\]*_]{0,9}\s*$")
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Passage:
    """One piece of a memory.

    Attributes:
        label: what stands before a colon at its beginning: who speaks, what a rule is about.
        text: the rest.
    """

    label: str
    text: str

    @property
    def asks(self) -> bool:
        """Whether it ends in a question."""
        return self.text.rstrip(" \t\r\n\"'”’)*_").endswith(("?", "？"))


def passages(body: str) -> list[Passage]:
    """Cuts a body into passages.

    A passage is a claim. A short body is one passage, and a long claim of several lines is cut where a
    line ends a sentence or the next begins an item or with a label.
    """
    if len(body.split(None, SHORT)) <= SHORT:
        pieces = [body] if body.strip() else []
    else:
        pieces = [piece for block in _blocks(body) for piece in _lines(block)]
    if len(pieces) > MOST:
        step = -(-len(pieces) // MOST)
        pieces = ["\n".join(pieces[at : at + step]) for at in range(0, len(pieces), step)]
    return [_passage(piece) for piece in pieces]


def _blocks(body: str) -> list[str]:
    if body.count("\n") > MANY_LINES:
        return [block for block in _BLANK_LINES.split(body) if block.strip()]
    from gitmem.core.claim import parse_body

    return [claim.text for claim in parse_body(body).claims]


def _lines(claim: str) -> list[str]:
    if "\n" not in claim or len(claim.split(None, LONG_CLAIM)) <= LONG_CLAIM:
        return [claim]
    pieces: list[list[str]] = []
    for line in filter(str.strip, claim.split("\n")):
        if pieces and not (_ITEM.match(line) or _LABEL.match(line) or _ENDS.search(pieces[-1][-1][-40:])):
            pieces[-1].append(line)
        else:
            pieces.append([line])
    return ["\n".join(lines) for lines in pieces]


def _passage(text: str) -> Passage:
    match = _LABEL.match(text)
    return Passage(match[1], text[match.end() :]) if match else Passage("", text)
