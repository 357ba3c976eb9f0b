"""Words as numbers: a text is kept as a string in which one character is one word.

So a word is counted, a phrase found and a length taken by what `str` does in C, and frequent words, which
are numbered early, take a byte or two of UTF-8.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Sequence

from gitmem.search.database import portions

FIELD, PASSAGE, LABEL, ASKS = "\x01", "\x02", "\x03", "\x04"
"""What is no word: between fields, between passages, behind a passage's label, behind what asks."""

_FIRST = 16
_SURROGATES = range(0xD800, 0xE000)
MOST = 0x110000 - len(_SURROGATES) - _FIRST
"""Words that have a number of their own; those beyond share one with another word."""

_STEMS_KEPT = 400_000


def number_of(char: str) -> int:
    """The number of a word's character."""
    point = ord(char)
    return (point - len(_SURROGATES) if point >= _SURROGATES.stop else point) - _FIRST


def char(number: int) -> str:
    """The character of a word's number, 0 and up."""
    point = number + _FIRST
    return chr(point + len(_SURROGATES) if point >= _SURROGATES.start else point)


class Vocabulary:
    """Gives words their stems, and stems their characters, for one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._stems: dict[str, tuple[str, ...]] = {}
        self._chars: dict[str, str] = {}
        self._written: dict[str, str] = {}

    def learn(self, words: Iterable[str]) -> None:
        """Finds the stems of words; the file is not touched."""
        if len(self._stems) > _STEMS_KEPT:
            self._stems.clear()
            self._chars.clear()
            self._written.clear()
        new = [word for word in set(words) if word not in self._stems]
        if not new:
            return
        found: list[list[str]] = [[] for _ in new]
        self.connection.execute("BEGIN")
        try:
            self.connection.execute("INSERT INTO temp.probe(probe) VALUES('delete-all')")
            self.connection.executemany(
                "INSERT INTO temp.probe(rowid, text) VALUES(?, ?)", enumerate(new, 1)
            )
            for doc, term in self.connection.execute(
                "SELECT doc, term FROM temp.probe_term ORDER BY doc, offset"
            ):
                found[doc - 1].append(term)
        finally:
            self.connection.execute("COMMIT")
        self._stems.update((word, tuple(stems)) for word, stems in zip(new, found, strict=True))

    def stems(self, words: Iterable[str]) -> list[str]:
        """The stems of words that were learned, in order."""
        return [stem for word in words for stem in self._stems[word]]

    def number(self, words: Iterable[str]) -> None:
        """Gives characters to words that were learned; within a writing transaction."""
        asked = [word for word in set(words) if word not in self._written]
        stems = dict.fromkeys(self.stems(asked))
        self._load(stems)
        self._add([stem for stem in stems if stem not in self._chars])
        chars = self._chars
        self._written.update((word, "".join([chars[stem] for stem in self._stems[word]])) for word in asked)

    def _add(self, stems: Sequence[str]) -> None:
        if not stems:
            return
        row = self.connection.execute("SELECT value FROM fact WHERE name = 'words'").fetchone()
        first = row[0] if row else 0
        numbers = {
            stem: number if number < MOST else zlib.crc32(stem.encode()) % MOST
            for number, stem in enumerate(stems, first)
        }
        self.connection.executemany("INSERT INTO word(text, number) VALUES(?, ?)", sorted(numbers.items()))
        self.connection.execute(
            "INSERT OR REPLACE INTO fact(name, value) VALUES('words', ?)", (first + len(stems),)
        )
        self._chars.update((stem, char(number)) for stem, number in numbers.items())

    def written(self, words: Iterable[str]) -> str:
        """Words that were numbered, as a string of one character each."""
        written = self._written
        return "".join([written[word] for word in words])

    def _load(self, stems: Iterable[str]) -> None:
        unknown = [stem for stem in stems if stem not in self._chars]
        for some in portions(unknown):
            slots = ",".join("?" * len(some))
            self._chars.update(
                (text, char(number))
                for text, number in self.connection.execute(
                    f"SELECT text, number FROM word WHERE text IN ({slots})",  # noqa: S608
                    some,
                )
            )
