"""The first stage: which texts are worth a closer look, by their rarest words within a budget."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gitmem.search.index import Catalog
from gitmem.search.postings import HEADED, NEAR, STRONG, WEAK, kind, unpacked
from gitmem.search.question import Question
from gitmem.search.score import rarity

BUDGET = 8_000
"""Entries of lists that are read for one question: a few milliseconds. What only the common words of a
question have in common with a text is looked at in the second stage, for the texts found by others."""

ENOUGH = 1_000
"""Entries from which on a list that is longer than what is left of the budget is passed over; before, what
is newest of it is read."""

COMMON_SHARE = 0.25
COMMON_FROM = 200
"""Words in more than this share of so many texts or more are not sought where there are others."""

_WORTH = {HEADED: 1.5, STRONG: 1.0, WEAK: 0.75, NEAR: 0.4}


def seek(
    catalog: Catalog, question: Question, budget: int = BUDGET, window: int | None = None
) -> tuple[dict[int, float], bool]:
    """Adds up, for each text, what the question's words are worth there.

    Args:
        window: how many texts will be looked at: others, which cannot be among them, may be left out.

    Returns:
        Number of each text to its rough score; whether all are there that have a word.
    """
    lists = sorted(_lists(question), key=lambda each: -each.worth)
    chosen: list[_List] = []
    left = budget
    for each in lists:
        if left and (each.size <= left or budget - left < ENOUGH):
            chosen.append(each._replace(size=min(each.size, left)))
            left -= chosen[-1].size
    whole = sum(each.size for each in chosen) == sum(each.size for each in lists)
    found: dict[int, float] = {}
    closed = False
    read = dict(_read(catalog, [each.name for each in chosen]))
    for (worth, _, name, size), most in zip(chosen, _left(chosen), strict=True):
        if window and not closed and len(found) >= window and size > window:
            closed = _nth(found, window) > most
        numbers: Iterable[int] = unpacked(name, read.get(name, b"")[-2 * size :])  # of too many the newest
        if not found:
            found = dict.fromkeys(numbers, worth)
            continue
        if closed:
            numbers = found.keys() & numbers
        get = found.get
        for number in numbers:
            found[number] = get(number, 0.0) + worth
    return found, whole and not closed


def best(found: dict[int, float], window: int) -> list[int]:
    """The texts with the highest rough scores; of equal ones the newest."""
    if len(found) <= window:
        return list(found)
    least = _nth(found, window)
    above = [number for number, score in found.items() if score > least]
    equal = sorted((number for number, score in found.items() if score == least), reverse=True)
    return above + equal[: window - len(above)]


def _left(lists: Sequence[_List]) -> list[float]:
    """What a text can still get at each list, from it and those after it: it is in one list of a word."""
    best: dict[str, float] = {}
    left = []
    for each in reversed(lists):
        best[each.word] = each.worth
        left.append(sum(best.values()))
    return left[::-1]


def _nth(found: Mapping[int, float], place: int) -> float:
    return sorted(found.values(), reverse=True)[place - 1]


class _List(NamedTuple):
    worth: float
    word: str
    name: int
    size: int


def _lists(question: Question) -> Iterator[_List]:
    """Yields all lists that are sought."""
    total = question.corpus.texts
    counts = {word: question.count(word) for word in question.sizes}
    most = COMMON_SHARE * total if total > COMMON_FROM else total
    rare = any(having <= most for having in counts.values())
    for word, sizes in question.sizes.items():
        having = counts[word]
        if rare and having > most:
            continue
        worth = rarity(total, having)
        for name, size in sizes.items():
            yield _List(worth * _WORTH[kind(name)], word, name, size)


def _read(catalog: Catalog, names: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    numbers = ",".join(map(str, names))
    if numbers:
        rows = catalog.read(f"SELECT id, ids FROM posting WHERE id IN ({numbers})")  # noqa: S608
        yield from ((name, ids) for name, ids in rows)
