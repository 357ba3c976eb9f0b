"""The facts of daily logs as texts of their own: each is found, scored and shown by itself.

Loaded only where a log changed, or a line of one was found. A line's text is keyed by the line, not by its
log: a log grows with every append, and what stood in it before is neither indexed again nor shown again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.core.daily_log import day_of, facts, read_line, statements
from gitmem.core.dates import named_days
from gitmem.core.names import is_archived
from gitmem.git.objects import object_name
from gitmem.git.repository import Repository
from gitmem.search.text import LONGEST_SESSION, MOST_PERIODS, Fields, links
from gitmem.search.vocabulary import ASKS, FIELD, LABEL, PASSAGE
from gitmem.values import dataclass

MOST = 2_000
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
    wanted: dict[str, str] = {}
    times: dict[str, int] = {}
    content: dict[str, bytes] = {}
    found = dict(repo.read_blobs(list(logs.values())))
    for path, blob in logs.items():
        data = found.get(blob, b"")
        if is_archived(path.partition("/")[2]) or day_of(path) is None:
            continue
        for claim, line in facts(path, data)[-MOST:] if len(data) <= LARGEST else ():
            at, text = f"{path}#{claim.short}", f"- {claim.key}".encode("utf-8", "replace")
            wanted[at] = oid = object_name("blob", text, repo.hex_length)
            times[at], content[oid] = int(line.when.timestamp()), text
    return Lines(wanted, times, content)


def read_fact(at: str, data: bytes) -> Fields:
    """The fields of one line: no name, for a date is none; what it states is its description.

    Args:
        at: where it stands, the log's path first.
    """
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
