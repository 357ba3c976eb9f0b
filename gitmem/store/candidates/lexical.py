"""The lexical strategy: what shares words with the question, sought roughly, then scored exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gitmem.store.candidates.question import Question
from gitmem.store.candidates.scoring import scores
from gitmem.store.candidates.seek import BUDGET, best, seek
from gitmem.store.candidates.standing import Entry, Ground
from gitmem.store.candidates.texts import REACH, Asked, Piece, Text, pieces, read_text
from gitmem.store.catalog.vocabulary import FIELD
from gitmem.values import dataclass

WINDOW = 160
"""Texts that are scored closely, at least; three times the limit where that is more."""

WIDER = 8
"""How much further it looks where too little of what it found stands anywhere now."""

IMAGINED = 20
IMAGINED_WITH = 0.02
IMAGINED_WITH_GENERAL = 0.4
"""For `covered` a catalog counts as if it held this many texts more, and this share of them had the term:
else in one memory the term that it has would be common, and the one that it lacks rare."""


@dataclass(frozen=True)
class Found:
    """What was found.

    Attributes:
        scores: text to score, for texts that stand somewhere.
        entries: text to where it stands.
        words: text to its words as the catalog keeps them.
    """

    scores: Mapping[int, float]
    entries: Mapping[int, Sequence[Entry]]
    words: Mapping[int, str]


def find(ground: Ground, question: Question, limit: int) -> Found:
    """Finds the texts that share words with a question, and scores the best of them.

    Args:
        limit: entries that are wanted.
    """
    window, budget = max(WINDOW, 3 * limit), BUDGET
    while True:
        rough, whole = seek(ground.catalog, question, budget)
        numbers = best(rough, window)
        entries = _entries(ground, numbers)
        if sum(map(len, entries.values())) >= limit or (whole and len(rough) <= window):
            break
        window *= WIDER
        budget *= WIDER
    rows = dict(_rows(ground, entries))
    texts = {number: read_text(words) for number, (words, _) in rows.items()}
    if any(thread is not None for _, thread in rows.values()):
        texts = _threaded(ground, rows, entries)
    scored = dict(zip(texts, scores(question.asked, list(texts.values()), question.corpus), strict=True))
    return Found(
        {number: score for number, score in scored.items() if score > 0},
        entries,
        {number: words for number, (words, _) in rows.items()},
    )


class Parts:
    """Says what of a question a text matches; see `Candidate.parts`."""

    def __init__(self, question: Question) -> None:
        total = question.corpus.texts
        shares = [_share(total, term) for term in question.asked]
        asked = sum(shares) or 1.0
        self._terms = [
            (term, _rarity(total, term.count), share / asked)
            for term, share in zip(question.asked, shares, strict=True)
        ]
        self._asked = float(len(question.asked))
        self._telling = float(sum(term.tells for term in question.asked))

    def of(self, words: str, score: float) -> dict[str, float]:
        """The parts of a text, given its words as the catalog keeps them and its score by words."""
        name, description, _, body = words.split(FIELD)
        heading = name + FIELD + description
        # A phrase may not begin in one passage and end in the next.
        matched = [each for each in self._terms if _has(heading, each[0]) or _has(body, each[0])]
        headed = [each for each in matched if _has(heading, each[0])]
        return {
            "text": score,
            "rarity": sum([rarity for _, rarity, _ in matched]),
            "covered": sum([share for _, _, share in matched]),
            "matched": float(len(matched)),
            "headed": float(len(headed)),
            "asked": self._asked,
            "telling": self._telling,
            "told": float(sum([term.tells for term, _, _ in matched])),
            "decisive": float(sum([term.tells for term, _, _ in headed])),
        }


def _has(words: str, term: Asked) -> bool:
    return any(way in words for way in term.ways)


def _rarity(total: int, count: int | float) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def _share(total: int, term: Asked) -> float:
    imagined = IMAGINED * (IMAGINED_WITH if term.tells else IMAGINED_WITH_GENERAL)
    return _rarity(total + IMAGINED, term.count + imagined)


def _entries(ground: Ground, numbers: Iterable[int]) -> dict[int, list[Entry]]:
    found: defaultdict[int, list[Entry]] = defaultdict(list)
    for entry in ground.entries(numbers):
        found[entry.blob].append(entry)
    return dict(found)


def _rows(ground: Ground, numbers: Iterable[int]) -> Iterator[tuple[int, tuple[str, int | None]]]:
    wanted = ",".join(map(str, numbers))
    if wanted:
        for number, words, thread in ground.catalog.read(
            f"SELECT blob, words, thread FROM text WHERE blob IN ({wanted})"  # noqa: S608
        ):
            yield number, (words, thread)


def _threaded(
    ground: Ground, rows: dict[int, tuple[str, int | None]], entries: dict[int, list[Entry]]
) -> dict[int, Text]:
    """The same texts and those around them, each with those around it."""
    near = {n + step for n in rows for step in range(-2 * REACH, 2 * REACH + 1)} - rows.keys()
    around = _entries(ground, near)
    entries.update(around)
    rows.update(_rows(ground, around))
    bodies: dict[int, tuple[Piece, ...]] = {
        n: pieces(row[0].rpartition(FIELD)[2]) for n, row in rows.items()
    }

    def beside(number: int, steps: Iterable[int]) -> tuple[Piece, ...]:
        thread = rows[number][1]
        found: list[Piece] = []
        for step in steps:
            other = rows.get(number + step)
            if thread is None or other is None or other[1] != thread:
                break
            found += bodies[number + step]
        return tuple(found)

    return {
        n: read_text(row[0], beside(n, range(-1, -REACH - 1, -1))[::-1], beside(n, range(1, REACH + 1)))
        for n, row in rows.items()
    }
