"""A question as terms of the catalog, with how many texts have each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitmem.search.index import Catalog
from gitmem.search.pieces import Asked, Corpus
from gitmem.search.postings import NEAR, SLOTS, kind
from gitmem.search.vocabulary import char
from gitmem.search.words import tells, terms, words
from gitmem.values import dataclass

SHORTEST_PREFIX = 3
MOST_COMPLETED = 32
"""Words that the beginning of a word is taken for, at most."""

Sizes = Mapping[str, Mapping[int, int]]
"""Word to list (see `postings`) to its length."""


@dataclass(frozen=True)
class Question:
    """What is asked.

    Attributes:
        asked: its terms, each once.
        sizes: of the lists of all words in `asked`.
    """

    asked: tuple[Asked, ...]
    sizes: Sizes
    corpus: Corpus

    def count(self, word: str) -> int:
        """Texts that have a word, what stands around them left aside."""
        return count(self.sizes, word)


def ask(catalog: Catalog, query: str, *, completed: bool = False) -> Question:
    """Cuts a question into terms, and finds out how many texts have each.

    Args:
        completed: whether its words may be the beginnings of words.
    """
    stems = _stems(catalog, query)
    known = _completions(catalog, stems) if completed else _known(catalog, stems)
    rows = {row[1]: row for found in known.values() for row in found}
    sizes = _sizes(catalog, rows)
    asked = []
    for parts in stems:
        if completed and any(len(stem) < SHORTEST_PREFIX for stem in parts):
            continue
        ways: list[str] = [""]
        for stem in parts:
            ways = [way + row[1] for way in ways for row in known.get(stem, ())]
        words_of = [known.get(stem, []) for stem in parts]
        term = " ".join(parts)
        asked.append(
            Asked(
                term=term,
                ways=tuple(ways),
                tells=tells(term),
                count=min((sum(count(sizes, row[1]) for row in some) for some in words_of), default=0),
                passages=min((sum(row[2] for row in some) for some in words_of), default=0),
                labels=min((sum(row[3] for row in some) for some in words_of), default=0),
            )
        )
    facts = dict(catalog.read("SELECT name, value FROM fact"))
    return Question(
        tuple(asked), sizes, Corpus(**{name: facts.get(name, 0) for name in Corpus.__dataclass_fields__})
    )


def count(sizes: Sizes, word: str) -> int:
    """Texts that have a word, what stands around them left aside."""
    return sum(size for name, size in sizes.get(word, {}).items() if kind(name) != NEAR)


_TALLY = "coalesce(passages, 0), coalesce(labels, 0) FROM word LEFT JOIN tally ON word = number"

_Row = tuple[str, str, int, int]
"""Stem, character, passages, labels."""


def _stems(catalog: Catalog, query: str) -> list[tuple[str, ...]]:
    cut = [words(term) for term in terms(query)]
    stemmed = catalog.stems(word for some in cut for word in some)
    found = [tuple(stem for word in some for stem in stemmed[word]) for some in cut]
    return [parts for parts in dict.fromkeys(found) if parts]


def _known(catalog: Catalog, stems: Iterable[tuple[str, ...]]) -> dict[str, list[_Row]]:
    wanted = sorted({stem for parts in stems for stem in parts})
    slots = ",".join("?" * len(wanted))
    return {
        text: [(text, char(number), passages, labels)]
        for text, number, passages, labels in catalog.read(
            f"SELECT text, number, {_TALLY} WHERE text IN ({slots})",
            wanted,
        )
    }


def _completions(catalog: Catalog, stems: Iterable[tuple[str, ...]]) -> dict[str, list[_Row]]:
    return {
        stem: [
            (text, char(number), passages, labels)
            for text, number, passages, labels in catalog.read(
                f"SELECT text, number, {_TALLY} WHERE text >= ? AND text < ? LIMIT ?",
                (stem, stem + "\U0010ffff", MOST_COMPLETED),
            )
        ]
        for parts in stems
        if len(parts) == 1
        for stem in parts
    }


def _sizes(catalog: Catalog, found: Iterable[str]) -> dict[str, dict[int, int]]:
    firsts = ",".join(f"({ord(word) * SLOTS})" for word in found)
    sizes: dict[str, dict[int, int]] = {}
    if firsts:
        # A list's length is in its header: nothing of the list itself is read.
        for name, size in catalog.read(
            f"WITH asked(first) AS (VALUES {firsts}) SELECT p.id, length(p.ids) / 2"  # noqa: S608
            " FROM asked CROSS JOIN posting p ON p.id BETWEEN first AND first + ?",
            (SLOTS - 1,),
        ):
            sizes.setdefault(chr(name // SLOTS), {})[name] = size
    return sizes
