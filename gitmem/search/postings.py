"""Which texts have a word: packed lists of text numbers, grown in place.

A list belongs to one word, one block of texts and one kind of place; a text is in one list of a word at
most. So the number of texts with a word is the sum of its lists' lengths, and needs no counting.
"""

from __future__ import annotations

import sqlite3
import sys
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby

HEADED, STRONG, WEAK, NEAR = range(4)
"""Where a text has a word: in its name or description, often or in a short body, else in its body, or
only in what stands around it."""

KINDS = 4
BLOCK = 16
"""Bits of a text's number that a list holds; the rest is the block's number."""

SLOTS = 1 << 24
"""Slots of a word: a list's name is `ord(word) * SLOTS + block * KINDS + kind`."""

_STRONG_ONCE = 0.3
_STRONG_PER_WORD = 0.015
"""A word is strong that stands this often, and this much more for each word of the body: what BM25 at its
usual constants gives half of what it can give."""

_GROW = (
    "INSERT INTO posting(id, ids) VALUES(?, ?)"
    " ON CONFLICT(id) DO UPDATE SET ids = CAST(ids || excluded.ids AS BLOB)"
)

Placed = tuple[int, str, str, str]
"""Number of a text; its heading, body and surroundings as strings of words."""


def add(connection: sqlite3.Connection, texts: Iterable[Placed]) -> None:
    """Adds texts, by number, to the lists of their words; within a writing transaction."""
    for block, some in groupby(texts, key=lambda text: text[0] >> BLOCK):
        grown = [defaultdict[str, list[int]](list) for _ in range(KINDS)]
        for text in some:
            _place(grown, *text)
        rows = (
            (ord(word) * SLOTS + block * KINDS + kind, _packed(ids))
            for kind, lists in enumerate(grown)
            for word, ids in lists.items()
        )
        connection.executemany(_GROW, sorted(rows))


def kind(name: int) -> int:
    """The kind of place that a list is about."""
    return name % KINDS


def unpacked(name: int, ids: bytes) -> Sequence[int]:
    """The text numbers of a list."""
    numbers = array("H")
    numbers.frombytes(ids[: len(ids) & ~1])
    if sys.byteorder == "big":
        numbers.byteswap()
    base = name % SLOTS // KINDS << BLOCK
    return [base + number for number in numbers] if base else numbers


def _packed(ids: list[int]) -> bytes:
    numbers = array("H", ids)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def _place(grown: Sequence[dict[str, list[int]]], number: int, heading: str, body: str, near: str) -> None:
    low = number & ((1 << BLOCK) - 1)
    headed = set(heading)
    for word in headed:
        grown[HEADED][word].append(low)
    counts = Counter(body)
    least = _STRONG_ONCE + _STRONG_PER_WORD * len(body)
    strong, weak = grown[STRONG], grown[WEAK]
    for word, count in counts.items():
        if word not in headed:
            (strong if count >= least else weak)[word].append(low)
    for word in set(near) - headed - counts.keys():
        grown[NEAR][word].append(low)
