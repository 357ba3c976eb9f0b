"""The lexical strategy: what shares words with the question, sought roughly, then scored exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain

from gitmem.search.chance import Chance
from gitmem.search.ground import Entry, Ground
from gitmem.search.pieces import REACH, Asked, Text, read_text
from gitmem.search.question import Question
from gitmem.search.score import rarity, scores
from gitmem.search.seek import BUDGET, best, seek
from gitmem.search.vocabulary import FIELD
from gitmem.values import dataclass

WINDOW = 100
"""Texts that are scored closely, at least."""

TIMES = 2
"""The same for each entry that is wanted."""

LEADING = 16
"""Best memories that are read with what stands beside them in their session."""

BESIDE = 2
"""Memories before and after each of these that are scored too, whatever words they have."""

WIDER = 8
"""How much further it looks where too little of what it found stands anywhere now."""


@dataclass(frozen=True)
class Found:
    """What was found; entries are told by their `id`.

    Attributes:
        scores: of each entry that has anything of the question.
        entries: all that were looked at.
        words: text to its words as the catalog keeps them.
    """

    scores: Mapping[int, float]
    entries: Mapping[int, Entry]
    words: Mapping[int, str]


def find(ground: Ground, question: Question, limit: int) -> Found:
    """Finds the texts that share words with a question, and scores the best of them.

    Args:
        limit: entries that are wanted.
    """
    window, budget = max(WINDOW, TIMES * limit), BUDGET
    while True:
        rough, whole = seek(ground.catalog, question, budget, window)
        found = list(ground.entries(best(rough, window)))
        if len(found) >= limit or (whole and len(rough) <= window):
            break
        window *= WIDER
        budget *= WIDER
    entries = {entry.id: entry for entry in found}
    words = _words(ground, {entry.blob for entry in found})
    alone = {number: read_text(text) for number, text in words.items()}
    of_text = dict(zip(alone, scores(question.asked, list(alone.values()), question.corpus), strict=True))
    scored = {entry.id: of_text[entry.blob] for entry in found if entry.blob in alone}
    # Most of what a session says for a question stands beside what says most of it.
    joined = [entry for entry in found if entry.thread is not None and entry.id in scored]
    joined = sorted(joined, key=lambda entry: (-scored[entry.id], entry.path))[:LEADING]
    threads = {key: some for key, some in ground.beside(joined, REACH).items() if len(some) > 1}
    beside = {entry.id: entry for some in threads.values() for entry in some}
    words |= _words(ground, {entry.blob for entry in beside.values()} - words.keys())
    alone |= {number: read_text(text) for number, text in words.items() if number not in alone}
    texts = _beside({entry.id for entry in joined}, threads, alone)
    scored |= zip(texts, scores(question.asked, list(texts.values()), question.corpus), strict=True)
    return Found({id: score for id, score in scored.items() if score > 0}, entries | beside, words)


class Parts:
    """Says what of a question a text matches; see `Candidate.parts`."""

    def __init__(self, question: Question) -> None:
        corpus = question.corpus
        self._terms = [(term, rarity(corpus.texts, term.count)) for term in question.asked]
        known = [rare for term, rare in self._terms if term.count and term.tells]
        length = (corpus.name + corpus.description + corpus.body) / max(1, corpus.texts)
        self._chance = Chance(question.asked, corpus.texts, length)
        self._whole = {
            "asked": float(len(question.asked)),
            "worth": sum([rare for _, rare in self._terms]),
            "telling": float(sum(term.tells for term in question.asked)),
            "word": sum(known) / len(known) if known else rarity(corpus.texts, 1),
        }

    def of(self, words: str, score: float) -> dict[str, float]:
        """The parts of a text, given its words as the catalog keeps them and its score by words."""
        name, description, near, body = words.split(FIELD)
        heading = name + FIELD + description
        # A phrase may not begin in one passage and end in the next.
        stated = f"{heading}{FIELD}{body}" if near else words
        matched = [at for at, (term, _) in enumerate(self._terms) if _has(stated, term)]
        headed = [at for at in matched if _has(heading, self._terms[at][0])]
        return self._whole | {
            "text": score,
            "rarity": sum([self._terms[at][1] for at in matched]),
            "matched": float(len(matched)),
            "headed": float(len(headed)),
            "told": float(sum(self._terms[at][0].tells for at in matched)),
            "decisive": float(sum(self._terms[at][0].tells for at in headed)),
            "surprise": self._chance.surprise(matched, len(heading) + len(body)),
        }


def _has(words: str, term: Asked) -> bool:
    for way in term.ways:  # noqa: SIM110  # a generator would take twice as long
        if way in words:
            return True
    return False


def _words(ground: Ground, numbers: Iterable[int]) -> dict[int, str]:
    wanted = ",".join(map(str, numbers))
    rows = ground.catalog.read(f"SELECT blob, words FROM text WHERE blob IN ({wanted})")  # noqa: S608
    return dict(rows)


def _beside(
    leading: Set[int], threads: Mapping[int, Sequence[Entry]], alone: Mapping[int, Text]
) -> dict[int, Text]:
    """The texts of what leads, and of what stands near it in its thread, each with those around it."""
    texts: dict[int, Text] = {}
    for thread in threads.values():
        own = [alone.get(entry.blob) for entry in thread]
        places = [at for at, entry in enumerate(thread) if entry.id in leading]
        near = {at + step for at in places for step in range(-BESIDE, BESIDE + 1)}
        for at in sorted(near & set(range(len(thread)))):
            if text := own[at]:
                before = [one.passages[-REACH:] for one in own[max(0, at - REACH) : at] if one]
                after = [one.passages[:REACH] for one in own[at + 1 : at + 1 + REACH] if one]
                texts[thread[at].id] = text._replace(
                    before=tuple(chain.from_iterable(before))[-REACH:],
                    after=tuple(chain.from_iterable(after))[:REACH],
                )
    return texts
