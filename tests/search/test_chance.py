"""What a hit is weighed against: how much of a question any memory would match by chance."""

from __future__ import annotations

import math
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.chance import Chance, _share, _worth
from gitmem.search.score import Asked

TEXTS = 400
MEAN = 50.0


def asked(*counts: int, tells: bool = True) -> list[Asked]:
    """A question whose terms so many memories have."""
    return [Asked(f"w{at}", (chr(500 + at),), tells, count, count, 0) for at, count in enumerate(counts)]


def surprise(counts: list[int], matched: list[int], length: int = 50, texts: int = TEXTS) -> float:
    """How much it surprises that a memory matches some of the terms."""
    return Chance(asked(*counts), texts, MEAN).surprise(matched, length)


counts = st.lists(st.integers(0, TEXTS), min_size=1, max_size=8)


@given(counts, st.data())
def test_the_bound_is_none_of_less_than_the_chance(given_counts: list[int], data: st.DataObject) -> None:
    """By counting all ways in which the words of a question can fall on a memory of mean length."""
    matched = data.draw(st.sets(st.integers(0, len(given_counts) - 1)))
    terms = asked(*given_counts)
    shares = [_share(TEXTS, term) for term in terms]
    worths = [_worth(TEXTS, term) for term in terms]
    wanted = sum(worths[at] for at in matched)
    chance = 0.0
    for ways in product((False, True), repeat=len(terms)):
        if sum(worth for worth, has in zip(worths, ways, strict=True) if has) >= wanted - 1e-9:
            chance += math.prod(p if has else 1 - p for p, has in zip(shares, ways, strict=True))
    expected = -math.log(TEXTS * min(1.0, chance))
    assert surprise(given_counts, sorted(matched)) <= expected + 1e-6


@given(counts, st.data())
def test_another_word_that_is_matched_surprises_no_less(
    given_counts: list[int], data: st.DataObject
) -> None:
    matched = sorted(data.draw(st.sets(st.integers(0, len(given_counts) - 1), min_size=1)))
    assert surprise(given_counts, matched) >= surprise(given_counts, matched[1:]) - 1e-9


@given(counts, st.data(), st.integers(1, 400), st.integers(1, 400))
def test_a_long_memory_surprises_no_more_than_a_short_one(
    given_counts: list[int], data: st.DataObject, one: int, other: int
) -> None:
    matched = sorted(data.draw(st.sets(st.integers(0, len(given_counts) - 1))))
    short, long = sorted((one, other))
    assert surprise(given_counts, matched, long) <= surprise(given_counts, matched, short) + 1e-9


def test_rare_words_together_surprise_and_common_ones_do_not() -> None:
    assert surprise([2, 3, 2], [0, 1, 2]) > 5
    assert surprise([2, 3, 2], [0]) < 0, "among 400 memories some has any one word"
    assert surprise([150, 120, 180], [0, 1, 2]) < 0
    assert surprise([2, 3, 2], [0, 1, 2], texts=40) > surprise([2, 3, 2] * 4, [0, 1, 2], texts=40), (
        "the more is asked, the more is matched by chance"
    )


def test_words_of_any_request_weigh_less() -> None:
    telling = Chance(asked(3, 3, 3), TEXTS, MEAN).surprise([0, 1, 2], 50)
    general = Chance(asked(3, 3, 3, tells=False), TEXTS, MEAN).surprise([0, 1, 2], 50)
    assert general < telling
