"""What is indexed of a text: its fields, and its body cut into the passages that are found and scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gitmem.values import dataclass

MOST_LINKS = 64
MOST_PERIODS = 64
LONGEST_SESSION = 200

SHORT = 60
"""Words up to which a body is one passage: its claims answer together."""

LONG_CLAIM = 60
"""Words from which on a claim of several lines is cut at them: a log, a table, what was said in turns."""

MANY_LINES = 1_000
"""Lines from which on blank lines tell the blocks: the parser takes seconds for 25,000 list items."""

MOST = 256
"""Passages of one text; more are joined evenly, so that a list of 50,000 items stays a few hundred."""

_LINK = re.compile(r"\[\[(\w[^\[\]\n|#]{0,200})(?:[|#][^\[\]\n]*)?\]\]")
_LABEL = re.compile(r"\s*(?:[-*+>]\s+)?\**([^\W\d_][\w .'-]{0,30}?)(?::\**|\**:)\s")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])\s")
_ENDS = re.compile(r"[.!?…][\"'”’)\]*_]{0,9}\s*$")
_BLANK_LINES = re.compile(r"\n\s*\n")


@dataclass(frozen=True)
class Fields:
    """One text, whatever source it comes from; empty where it has none of a field.

    Attributes:
        name, description: what it was given to be found by; of a commit, its subject is the description.
        links: names of memories that it links to, as slugs.
        dates: first and last day of each date or month that it names, as proleptic ordinals.
        session: the session that it was learned in, as the client that wrote it says: what one agent
            learned in one session stands side by side.
        given: the name that its frontmatter gives.
    """

    name: str
    description: str
    type: str
    body: str
    links: tuple[str, ...] = ()
    dates: tuple[tuple[int, int], ...] = ()
    session: str = ""
    given: str = ""


Read = Callable[[str, bytes], Fields]
"""Parses a file from (path in the tree, content); never raises for bad content."""


def read_memory(path: str, data: bytes) -> Fields:
    """Reads the fields of a memory file, whatever its bytes."""
    from gitmem.core.dates import named_days
    from gitmem.core.memory import read_values

    values, body = read_values(data)
    given, description = values.name, values.description
    text = f"{description}\n{body}"
    days = ((first.toordinal(), last.toordinal()) for first, last in named_days(text, MOST_PERIODS))
    return Fields(
        given or path.rpartition("/")[2].removesuffix(".md"),
        description,
        values.type,
        body,
        links=links(text),
        dates=tuple(dict.fromkeys(days)),
        session=values.session[:LONGEST_SESSION],
        given=given,
    )


def links(text: str) -> tuple[str, ...]:
    """Names that a text links to as `[[name]]`, as slugs, the first `MOST_LINKS`."""
    if "[[" not in text:
        return ()
    from gitmem.core.names import slugify

    found: Iterable[str] = (match[1].strip().removesuffix(".md") for match in _LINK.finditer(text))
    named = dict.fromkeys(slugify(link) for link in found if any(char.isalpha() for char in link))
    return tuple(named)[:MOST_LINKS]


class Passage(NamedTuple):
    """One piece of a body; there are very many.

    Attributes:
        label: what stands before a colon at its beginning: who speaks, what a rule is about.
        text: the rest.
        asks: whether it ends in a question.
    """

    label: str
    text: str
    asks: bool


def passages(body: str) -> list[Passage]:
    """Cuts a body into passages, in the order of the file.

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
    from gitmem.core.claim import claim_texts

    return claim_texts(body)


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
    label, rest = (match[1], text[match.end() :]) if match else ("", text)
    return Passage(label, rest, rest.rstrip(" \t\r\n\"'”’)*_").endswith(("?", "？")))
