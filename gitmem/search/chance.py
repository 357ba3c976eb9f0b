"""How likely it is that any memory matches so much of a question: what a hit is weighed against.

The words of a question fall on the memories of a repository by chance, too: each with the share of the
memories that have it, and more often on a long one. A hit surprises where hardly any of so many memories
would match words of so much rarity that way. What surprises is about the question; what does not, shares
words with it as every memory does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gitmem.search.score import Asked, rarity

IMAGINED = 20
IMAGINED_WITH = 0.02
IMAGINED_WITH_GENERAL = 0.4
"""A repository counts as if it held this many memories more, and this share of them had a word: else in
one memory the word that it has would be common, and the one that it lacks rare. Of words that any request
has, the larger share."""

GENERAL = 0.5
"""What a word of any request is worth against one that tells what the request is about."""

SHORTEST, LONGEST = 0.5, 3.0
"""Lengths of a memory that are told apart, as a share of the mean; in steps of `STEP`."""
STEP = 0.5

_TILTS = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0)
"""Where Chernoff's bound is looked at; between two of these it changes by less than a tenth."""


class Chance:
    """The words of one question among the memories of one repository.

    Args:
        asked: the terms of the question.
        texts: memories in all.
        length: their mean length, in words.
    """

    def __init__(self, asked: Iterable[Asked], texts: int, length: float) -> None:
        self._texts, self._length = max(1, texts), max(1.0, length)
        # A term to the share of memories of mean length that have it, and what it is worth.
        self._terms = [(_share(self._texts, term), _worth(self._texts, term)) for term in asked]
        self._sums: dict[float, Sequence[float]] = {}

    def surprise(self, matched: Iterable[int], length: int) -> float:
        """How much it surprises that one of all memories matches some terms of the question.

        By Chernoff's bound: the logarithm of the number of memories that would match as much by chance,
        negated. Above zero none would.

        Args:
            matched: the places of the terms among those asked.
            length: of the memory, in words.
        """
        worth = sum([self._terms[at][1] for at in matched])
        steps = min(LONGEST, max(SHORTEST, round(length / self._length / STEP) * STEP))
        bound = min(
            0.0, *(total - tilt * worth for tilt, total in zip(_TILTS, self._tilted(steps), strict=True))
        )
        return -math.log(self._texts) - bound

    def _tilted(self, length: float) -> Sequence[float]:
        """The logarithm of the moments of what a memory of some length matches by chance."""
        if length not in self._sums:
            terms = [(1 - (1 - share) ** length, worth) for share, worth in self._terms]
            self._sums[length] = [
                sum([math.log1p(share * math.expm1(tilt * worth)) for share, worth in terms])
                for tilt in _TILTS
            ]
        return self._sums[length]


def _share(texts: int, term: Asked) -> float:
    return _having(term) / (texts + IMAGINED)


def _worth(texts: int, term: Asked) -> float:
    return rarity(texts + IMAGINED, _having(term)) * (1.0 if term.tells else GENERAL)


def _having(term: Asked) -> float:
    return term.count + IMAGINED * (IMAGINED_WITH if term.tells else IMAGINED_WITH_GENERAL)
