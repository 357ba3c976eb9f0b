"""The words of an index: each is a stem with a number, written as one character.

So it is counted in a text, a phrase found and a length taken by what `str` does in C, and frequent words,
which are numbered early, take a byte or two of UTF-8. SQLite's FTS5 gives the stems.
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import chain

from gitmem.search.database import portions
from gitmem.search.words import word_of

FIELD, PASSAGE, LABEL, ASKS = "\x01", "\x02", "\x03", "\x04"
"""What is no word: between fields, between passages, behind a passage's label, behind what asks."""

MARKS = FIELD + PASSAGE + LABEL + ASKS

HEADED, STRONG, WEAK = range(3)
"""Where a text has a word: in its name or description, often or in a short body, else in its body."""

KIND_BITS = 2
"""Bits of an entry of a list that say where; the others are the text's number."""

PROBED = 200
"""Words whose stems are asked for together."""

MOST_STEMS = 400_000
"""Words whose stems one connection keeps."""

_FIRST = 16
_SURROGATES = range(0xD800, 0xE000)
MOST = 0x110000 - len(_SURROGATES) - _FIRST
"""Words that have a number of their own; those beyond share one with another word."""


def number_of(char: str) -> int:
    """The number of a word's character."""
    point = ord(char)
    return (point - len(_SURROGATES) if point >= _SURROGATES.stop else point) - _FIRST


def char(number: int) -> str:
    """The character of a word's number, 0 and up."""
    point = number + _FIRST
    return chr(point + len(_SURROGATES) if point >= _SURROGATES.start else point)


def unpacked(ids: bytes) -> Sequence[int]:
    """The entries of a list: a text's number, shifted by `KIND_BITS`, and where the word stands in it."""
    entries = array("I")
    entries.frombytes(ids[: len(ids) - len(ids) % entries.itemsize])
    if sys.byteorder == "big":
        entries.byteswap()
    return entries


def storable(text: str) -> str:
    """Text without lone surrogates, which SQLite cannot hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


class Vocabulary:
    """Gives words their stems, and tokens of texts their characters, for one connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._stems: dict[str, tuple[str, ...]] = {}
        self._chars: dict[str, str] = {}
        self._prepared: dict[str, tuple[str, ...]] = {}
        self._written: dict[str, str] = {}
        self._several: set[str] = set()
        self._bound()

    def learn(self, words: Iterable[str]) -> None:
        """Finds the stems of words; the file is not touched.

        Where SQLite comes without FTS5, each word is its own stem.
        """
        self._bound()
        new = [word for word in set(words) if word not in self._stems]
        if not new:
            return
        plain = [word for word in new if word.isascii() and word.isalnum()]  # one token each
        rows = [plain[at : at + PROBED] for at in range(0, len(plain), PROBED)]
        others = [word for word in new if not (word.isascii() and word.isalnum())]
        self._stems.update((word, ()) for word in new)
        for doc, place, stem in self._probed([*map(" ".join, rows), *others]):
            if doc < len(rows):
                self._stems[rows[doc][place]] = (stem,)
            else:
                self._stems[others[doc - len(rows)]] += (stem,)

    def _bound(self) -> None:
        if len(self._stems) > MOST_STEMS or not self._written:
            for kept in (self._stems, self._chars, self._several):
                kept.clear()
            self._written = {mark: mark for mark in MARKS}

    def _probed(self, texts: Sequence[str]) -> list[tuple[int, int, str]]:
        """The number of a text, the place in it, and the stem there, in order."""
        self.connection.execute("BEGIN")
        try:
            self.connection.execute("INSERT INTO temp.probe(probe) VALUES('delete-all')")
            self.connection.executemany(
                "INSERT INTO temp.probe(rowid, text) VALUES(?, ?)", enumerate(texts, 1)
            )
            rows = self.connection.execute("SELECT doc - 1, offset, term FROM temp.probe_term").fetchall()
        except sqlite3.OperationalError as error:
            if "probe" not in str(error):
                raise
            words = (enumerate(text.split()) for text in texts)
            rows = [(number, place, word) for number, some in enumerate(words) for place, word in some]
        finally:
            self.connection.execute("COMMIT")
        return sorted(rows)

    def stems(self, words: Iterable[str]) -> list[str]:
        """The stems of words that were learned, in order."""
        return [stem for word in words for stem in self._stems[word]]

    def prepare(self, tokens: Iterable[str]) -> None:
        """Finds the stems of tokens; the file is not touched.

        Args:
            tokens: the frequent ones first, whose stems get the low numbers.
        """
        self._bound()
        words = {token: word_of(token) for token in tokens if token not in self._written}
        self.learn(filter(None, words.values()))
        self._prepared = {token: self._stems[word] if word else () for token, word in words.items()}

    def number(self) -> None:
        """Gives characters to the tokens that were prepared; within a writing transaction."""
        stems = dict.fromkeys(chain.from_iterable(self._prepared.values()))
        self._load(stems)
        self._add([stem for stem in stems if stem not in self._chars])
        chars = self._chars
        for token, some in self._prepared.items():
            self._written[token] = chars[some[0]] if len(some) == 1 else "".join([chars[x] for x in some])
            if len(some) > 1:
                self._several.add(token)

    def chars(self, tokens: list[str]) -> list[str]:
        """Tokens that were numbered, as one character for each word of the index; marks as they stand."""
        found = [*filter(None, map(self._written.__getitem__, tokens))]
        return [*"".join(found)] if self._several and not self._several.isdisjoint(tokens) else found

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
