"""What is indexed of a text: its fields, and its body cut into the passages that are found and scored.

A fact of a daily log is a text of its own, keyed by the line and not by its log: a log grows with every
append, and what stood in it before is neither indexed again nor shown again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.core.dates import named_days
from gitmem.core.names import is_archived
from gitmem.git.objects import object_name
from gitmem.git.repository import Repository
from gitmem.search.words import ASKS, FIELD, LABEL, PASSAGE
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
    from gitmem.core.frontmatter import split
    from gitmem.core.memory import Memory
    from gitmem.core.text import decode

    # Not by `parse`, which keeps what it read: a whole scope is gone through here, once.
    memory = Memory(path, *split(decode(data)))
    given, session = (memory.front.text(key) if memory.front else "" for key in ("name", "originSessionId"))
    description = memory.description
    text = f"{description}\n{memory.body}"
    days = ((first.toordinal(), last.toordinal()) for first, last in named_days(text, MOST_PERIODS))
    return Fields(
        given or path.rpartition("/")[2].removesuffix(".md"),
        description,
        memory.type,
        memory.body,
        links=links(text),
        dates=tuple(dict.fromkeys(days)),
        session=session[:LONGEST_SESSION],
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


MOST_FACTS = 2_000
"""Facts of one log that are found, the last ones."""

LARGEST = 1_048_576
"""Bytes of a log that is read: a day of more is an accident or an attack."""


LEAST_WORDS = 3
"""Words of a line from which on having them in a row says it; fewer must be a passage of their own."""

_MARKS = str.maketrans("", "", LABEL + PASSAGE + ASKS)  # a colon or a question mark changes no word


@dataclass(frozen=True)
class Lines:
    """Facts of some logs; a fact stands at `<path of the log>#<12 hex>`, as its reference says.

    Attributes:
        wanted: where each stands, to the name that git would give its line.
        times: the same to when it was said, epoch seconds.
        content: name to line.
    """

    wanted: Mapping[str, str]
    times: Mapping[str, int]
    content: Mapping[str, bytes]

    def read_blobs(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Lines by their names."""
        return ((oid, self.content[oid]) for oid in oids)


def read_lines(repo: Repository, logs: Mapping[str, str]) -> Lines:
    """Reads the facts of logs; those of an archived log are found no more.

    Args:
        logs: path in the tree to blob; what is missing is passed over.
    """
    from gitmem.core.daily_log import day_of, facts  # most scopes keep no log

    wanted: dict[str, str] = {}
    times: dict[str, int] = {}
    content: dict[str, bytes] = {}
    found = dict(repo.read_blobs(list(logs.values())))
    for path, blob in logs.items():
        data = found.get(blob, b"")
        if is_archived(path.partition("/")[2]) or day_of(path) is None:
            continue
        for claim, line in facts(path, data)[-MOST_FACTS:] if len(data) <= LARGEST else ():
            at, text = f"{path}#{claim.short}", f"- {claim.key}".encode("utf-8", "replace")
            wanted[at] = oid = object_name("blob", text, repo.hex_length)
            times[at], content[oid] = int(line.when.timestamp()), text
    return Lines(wanted, times, content)


def read_fact(at: str, data: bytes) -> Fields:
    """The fields of one line: no name, for a date is none; what it states is its description.

    Args:
        at: where it stands, the log's path first.
    """
    from gitmem.core.daily_log import day_of, read_line, statements

    day = day_of(at.partition("#")[0])
    text = data.decode("utf-8", "replace")
    line = read_line(text, day) if day else None
    if line is None:
        return Fields("", "", "", text)
    days = dict.fromkeys((a.toordinal(), b.toordinal()) for a, b in named_days(line.text, MOST_PERIODS))
    return Fields(
        "",
        statements(line.text)[0],
        line.type,
        line.text,
        links=links(line.text),
        dates=tuple(days),
        session=line.session[:LONGEST_SESSION],
    )


def repeated(lines: Iterable[int], memories: Iterable[int], words: Mapping[int, str]) -> set[int]:
    """Which lines have all their words, one after another, in a memory that was found as well.

    A memory that says what a line says has all the words of it that were asked for.

    Args:
        lines, memories: numbers of their texts; those without words are passed over.
        words: text to its words as the catalog keeps them.
    """
    told = [_said(words[text]) for text in memories if text in words]

    def is_told(line: str) -> bool:
        return any(
            line in pieces or (len(line) >= LEAST_WORDS and any(line in piece for piece in pieces))
            for pieces in told
        )

    bare = {text: _bare(words[text].rpartition(FIELD)[2]) for text in lines if text in words}
    return {text for text, line in bare.items() if line and is_told(line)}


def _said(words: str) -> list[str]:
    """The description of a memory, its passages and its whole body, without marks."""
    _, description, body = words.split(FIELD)
    return [description, _bare(body), *map(_bare, body.split(PASSAGE))]


def _bare(words: str) -> str:
    return words.translate(_MARKS)
