"""What a question and a memory look like to whoever scores them.

Words are characters (see `catalog.vocabulary`): a word is counted in a text with `text.count(word)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gitmem.search.vocabulary import ASKS, FIELD, LABEL, PASSAGE


class Piece(NamedTuple):
    """One passage; there are very many.

    Attributes:
        label: words before a colon at its beginning: who speaks, what a rule is about.
        words: the rest.
        asks: whether it ends in a question.
    """

    label: str
    words: str
    asks: bool


class Text(NamedTuple):
    """One memory.

    Attributes:
        near: words that stand around it.
        body: its words with their marks, as the catalog keeps them.
        passages: the same in pieces, in the order of the file.
        before, after: the passages that stand next to it in its thread, at most `REACH`.
    """

    name: str
    description: str
    near: str
    body: str
    passages: tuple[Piece, ...]
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """One term of a question.

    Attributes:
        term: stems joined by a space.
        ways: what stands for it in a text, each one word or more that follow one another.
        tells: whether it says what the question is about (`words.tells`).
        count: memories with it; of a phrase, at most so many.
        passages: passages with it, labels left aside.
        labels: passages that have it in their label.
    """

    term: str
    ways: tuple[str, ...]
    tells: bool
    count: int
    passages: int
    labels: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """A catalog in numbers: how many texts and passages, and words of each field in all texts together."""

    texts: int = 0
    passages: int = 0
    name: int = 0
    description: int = 0
    near: int = 0
    body: int = 0


REACH = 4
"""Memories, and passages, before and after one in its thread that are looked at."""


def read_text(words: str, before: tuple[Piece, ...] = (), after: tuple[Piece, ...] = ()) -> Text:
    """Reads a text as the catalog keeps it."""
    name, description, near, body = words.split(FIELD)
    return Text(name, description, near, body, pieces(body), before, after)


def pieces(body: str) -> tuple[Piece, ...]:
    """Reads the passages of a body as the catalog keeps it."""
    return tuple(map(_piece, body.split(PASSAGE))) if body else ()


def _piece(piece: str) -> Piece:
    label, _, rest = piece.rpartition(LABEL) if LABEL in piece else ("", "", piece)
    return Piece(label, rest[:-1], True) if piece.endswith(ASKS) else Piece(label, rest, False)
