"""The first stage: which texts are worth a closer look, by their rarest words within a budget."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from gitmem.store.candidates.question import Question
from gitmem.store.catalog import Catalog
from gitmem.store.catalog.postings import HEADED, NEAR, STRONG, WEAK, kind, unpacked

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


def seek(catalog: Catalog, question: Question, budget: int = BUDGET) -> tuple[dict[int, float], bool]:
    """Adds up, for each text, what the question's words are worth there.

    Returns:
        Number of each text to its rough score; whether all lists were read.
    """
    lists = sorted(_lists(question), key=lambda each: -each[0])
    chosen: dict[int, tuple[float, int]] = {}
    left = budget
    for worth, name, size in lists:
        if left and (size <= left or budget - left < ENOUGH):
            chosen[name] = worth, min(size, left)
            left -= min(size, left)
    found: dict[int, float] = {}
    read = dict(_read(catalog, chosen))
    for name, (worth, size) in chosen.items():
        numbers = unpacked(name, read.get(name, b"")[-2 * size :])  # of too many the newest
        if not found:
            found = dict.fromkeys(numbers, worth)
            continue
        get = found.get
        for number in numbers:
            found[number] = get(number, 0.0) + worth
    return found, sum(size for _, size in chosen.values()) == sum(size for _, _, size in lists)


def best(found: dict[int, float], window: int) -> list[int]:
    """The texts with the highest rough scores; of equal ones the newest."""
    if len(found) <= window:
        return list(found)
    least = sorted(found.values(), reverse=True)[window - 1]
    above = [number for number, score in found.items() if score > least]
    equal = sorted((number for number, score in found.items() if score == least), reverse=True)
    return above + equal[: window - len(above)]


def _lists(question: Question) -> Iterator[tuple[float, int, int]]:
    """Yields (worth, name, length) of all lists that are sought."""
    total = question.corpus.texts
    counts = {word: question.count(word) for word in question.sizes}
    most = COMMON_SHARE * total if total > COMMON_FROM else total
    rare = any(having <= most for having in counts.values())
    for word, sizes in question.sizes.items():
        having = counts[word]
        if rare and having > most:
            continue
        rarity = math.log(1 + (total - having + 0.5) / (having + 0.5))
        for name, size in sizes.items():
            yield rarity * _WORTH[kind(name)], name, size


def _read(catalog: Catalog, names: Iterable[int]) -> Iterator[tuple[int, bytes]]:
    numbers = ",".join(map(str, names))
    if numbers:
        rows = catalog.read(f"SELECT id, ids FROM posting WHERE id IN ({numbers})")  # noqa: S608
        yield from ((name, ids) for name, ids in rows)
