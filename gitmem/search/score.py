"""How well a text answers a question: a pure formula over its words.

Words are characters (see `postings`): a word is counted in a text with `text.count(word)`.

A memory is as good as its best passages, and a passage is read with those around it: what is talked about
is often named a sentence before, and what a question asks for is in the reply to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from operator import mul
from typing import NamedTuple

from gitmem.search.words import ASKS, FIELD, LABEL, PASSAGE
from gitmem.values import dataclass

BEFORE = (0.5, 0.325, 0.21, 0.14)
"""How much a term counts that stands so many passages before, against one in the passage itself."""

AFTER = (0.3, 0.2, 0.13, 0.08)
"""The same for what comes after: a passage says more about the one that follows it than the other way."""

ANSWERS = 0.75
"""How much more what is asked right before counts: a reply seldom repeats the words of its question."""

HEADING = 1.0
"""How much a term counts, for each passage, that stands in the name or description."""

LENGTH = 0.3
"""BM25's b for a passage with what surrounds it, whose length is a mean of theirs; k1 is 1."""

LABELLED = 1.5
"""What a term adds that is the label of a passage: who says it, or what it is about. Many passages have
the same label, so that rarity tells little of it."""

HEADED = 0.5
"""What a term adds of its rarity once more where it is in the name or description."""

BEST = (0.67, 0.33)
"""Shares of the best passages in what the passages of a memory are worth."""

CLOSELY = 4
"""Passages of a memory that are scored exactly."""

PASSAGES = 0.25
"""What the best passages of a memory of several add to what it is worth as a whole."""

WHOLE_LENGTH = 0.6
"""BM25's b for a memory as a whole."""

DESCRIPTION, NAME = 2, 3
"""How often a term in the description or name counts, for a memory as a whole: they were written to be
found by."""


REACH = 4
"""Memories, and passages, before and after one in its thread that are looked at."""


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


class ScoredText(NamedTuple):
    """One memory.

    Attributes:
        body: its words with their marks, as the catalog keeps them.
        passages: the same in pieces, in the order of the file.
        before, after: the passages that stand next to it in its thread, at most `REACH`.
    """

    name: str
    description: str
    body: str
    passages: tuple[Piece, ...]
    before: tuple[Piece, ...] = ()
    after: tuple[Piece, ...] = ()


@dataclass(frozen=True)
class QueryTerm:
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


class Corpus(NamedTuple):
    """A catalog in numbers: how many texts and passages, and words of each field in all texts together."""

    texts: int
    passages: int
    name: int
    description: int
    body: int


def read_text(words: str) -> ScoredText:
    """Reads a text as the catalog keeps it."""
    name, description, body = words.split(FIELD)
    return ScoredText(name, description, body, pieces(body))


def pieces(body: str) -> tuple[Piece, ...]:
    """Reads the passages of a body as the catalog keeps it."""
    return tuple(map(_piece, body.split(PASSAGE))) if body else ()


def _piece(piece: str) -> Piece:
    label, _, rest = piece.rpartition(LABEL)
    return Piece(label, rest[:-1], True) if piece.endswith(ASKS) else Piece(label, rest, False)


def scores(asked: Sequence[QueryTerm], texts: Sequence[ScoredText], corpus: Corpus) -> list[float]:
    """Scores memories; the higher the better, zero where nothing of the question is in it.

    The constants for passages were settled on five conversations of LoCoMo and checked by leaving out one
    at a time; those for headings and for whole memories are round figures that were not tuned so.
    """
    scorer = _Scorer(
        all=range(len(asked)),
        ways=tuple(term.ways for term in asked),
        rarity=tuple(_worth(term, corpus.texts, term.count) for term in asked),
        weight=tuple(
            _worth(term, corpus.passages, min(corpus.passages, term.passages + term.labels))
            for term in asked
        ),
        passage=max(1.0, corpus.body / max(1, corpus.passages)),
        whole=max(1.0, _length(corpus.body, corpus.description, corpus.name) / max(1, corpus.texts)),
    )
    return [scorer.score(text) for text in texts]


def _worth(term: QueryTerm, total: int, count: float) -> float:
    """The rarity of a term; of one of several words, which count for themselves, less the more have it.

    A name of code that one memory has is what that one is about; the project's own is in any of them.
    """
    rare = rarity(total, count)
    return rare * rare / rarity(max(1, total), 1) if " " in term.term else rare


def rarity(total: int, count: float) -> float:
    """How much a term tells: BM25's idf, never below zero.

    Args:
        total: texts in all.
        count: texts that have the term.
    """
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _length(body: float, description: float, name: float) -> float:
    return body + DESCRIPTION * description + NAME * name


@dataclass(frozen=True)
class _Scorer:
    """A question, ready to be held against texts.

    Attributes:
        ways: what stands for each term.
        rarity: of each term among memories.
        weight: of each term, its rarity among passages, a label counting as one.
        passage, whole: mean lengths of passages and of memories, in terms.
        all: the number of each term.
        seen: terms in each piece that was looked at, by its `id`: around one text stands the next.
    """

    ways: Sequence[tuple[str, ...]]
    rarity: Sequence[float]
    weight: Sequence[float]
    passage: float
    whole: float
    all: Sequence[int]
    seen: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def score(self, text: ScoredText) -> float:
        body = text.body
        heading = f"{text.name}\x01{text.description}"
        among = self._terms(f"{heading}\x01{body}")  # most have but a few of the terms
        if not (among or text.before or text.after):
            return 0.0
        headed = self._terms(heading, among)
        passages = self._passages(text, headed, among)
        extra = HEADED * sum([self.weight[term] for term in headed])
        if len(text.passages) < 2:
            return extra + (1 + PASSAGES) * passages[0]
        best: float = sum(map(mul, BEST, sorted(passages, reverse=True)))
        return extra + self._whole(text, among) + PASSAGES * best

    def _terms(self, words: str, among: Iterable[int] | None = None) -> tuple[int, ...]:
        """Terms that stand in words."""
        ways = self.ways
        found = []
        for term in self.all if among is None else among:
            for way in ways[term]:
                if way in words:
                    found.append(term)
                    break
        return tuple(found)

    def _each(self, pieces: Iterable[Piece], among: Iterable[int] | None = None) -> list[tuple[int, ...]]:
        """Terms that stand in each piece."""
        seen = self.seen
        found = []
        for piece in pieces:
            terms = seen.get(id(piece))
            if terms is None:
                words = f"{piece.label}\x01{piece.words}" if piece.label else piece.words
                terms = seen[id(piece)] = self._terms(words, among)
            found.append(terms)
        return found

    def _whole(self, text: ScoredText, among: Iterable[int]) -> float:
        """A memory of several passages as a bag of words, the logarithm of how often each is there.

        Once in a memory of mean length counts one, as once in a passage of mean length does: neither short
        memories nor long ones come first for being so.
        """
        norm = 1 - WHOLE_LENGTH
        norm += WHOLE_LENGTH * _length(len(text.body), len(text.description), len(text.name)) / self.whole
        total = 0.0
        for term in among:
            often = 0
            for way in self.ways[term]:
                often += text.body.count(way)
                often += DESCRIPTION * text.description.count(way) + NAME * text.name.count(way)
            total += self.rarity[term] * math.log2(1 + often / norm)
        return total

    def _passages(self, text: ScoredText, headed: Sequence[int], among: Sequence[int]) -> list[float]:
        """What the best passages are worth, with what surrounds them; an empty body is one."""
        own = text.passages or (_NOTHING,)
        pieces = (*text.before, *own, *text.after)
        first, last = len(text.before), len(pieces) - len(text.after)
        start = dict.fromkeys(headed, HEADING)
        terms = self._each(text.before) + self._each(own, among) + self._each(text.after)
        worth = []
        for at in self._promising(pieces, terms, first, last):
            counts = start.copy()
            for place in range(max(0, at - len(BEFORE)), min(len(pieces), at + len(AFTER) + 1)):
                if terms[place]:
                    share = _SHARES[at - place]
                    if place == at - 1 and pieces[place].asks:
                        share += ANSWERS
                    for term in terms[place]:
                        counts[term] = counts.get(term, 0.0) + share
            worth.append(self._worth(counts, pieces, at) if counts else 0.0)
        return worth

    def _promising(
        self, pieces: Sequence[Piece], terms: Sequence[Sequence[int]], first: int, last: int
    ) -> Sequence[int]:
        """Passages that may be the best, by themselves and those next to them."""
        if last - first <= CLOSELY:
            return range(first, last)
        weight = self.weight
        own = [sum([weight[term] for term in some]) if some else 0.0 for some in terms]
        own.append(0.0)  # beside the first and the last stands nothing
        rough = [
            own[at] + (BEFORE[0] + ANSWERS * pieces[at - 1].asks) * own[at - 1] + AFTER[0] * own[at + 1]
            for at in range(first, last)
        ]
        return sorted(range(first, last), key=lambda at: -rough[at - first])[:CLOSELY]

    def _worth(self, counts: Mapping[int, float], pieces: Sequence[Piece], at: int) -> float:
        norm = 1 - LENGTH + LENGTH * _window(pieces, at) / self.passage
        weight = self.weight
        worth = sum([weight[term] * 2 * count / (count + norm) for term, count in counts.items()])
        if label := pieces[at].label:
            worth += LABELLED * len(self._terms(label, counts))
        return worth


_NOTHING = Piece("", "", False)

_SHARES: Mapping[int, float] = {
    0: 1.0,
    **dict(enumerate(BEFORE, 1)),
    **{-steps: share for steps, share in enumerate(AFTER, 1)},
}
"""Passages from a term's place to the one it counts for, to how much it counts."""


def _window(pieces: Sequence[Piece], at: int) -> float:
    """Mean length of a passage and those around it, each as much as its terms count."""
    length = weight = 0.0
    start = max(0, at - len(BEFORE))
    for place, (label, words, _) in enumerate(pieces[start : at + len(AFTER) + 1], start):
        share = _SHARES[at - place]
        length += share * (len(label) + len(words))
        weight += share
    return length / weight
