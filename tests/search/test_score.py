"""How memories are scored: words are characters, as the catalog keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.search.score import Corpus, Piece, QueryTerm, ScoredText, read_text, scores
from gitmem.search.words import ASKS, FIELD, LABEL, PASSAGE, words

CORPUS = Corpus(texts=100, passages=400, name=200, description=600, body=8000)
A = QueryTerm(term="alpha", ways=("a",), tells=True, count=5, passages=8, labels=0)
B = QueryTerm(term="beta", ways=("b",), tells=True, count=5, passages=8, labels=0)
SPEAKER = QueryTerm(term="ann", ways=("n",), tells=True, count=90, passages=60, labels=300)


def said(words: str, *, label: str = "", asks: bool = False) -> Piece:
    return Piece(label, words, asks)


def text(*pieces: Piece, name: str = "", description: str = "") -> ScoredText:
    return ScoredText(name, description, written(pieces), pieces)


def written(pieces: Sequence[Piece]) -> str:
    """Passages as the catalog keeps them."""
    return PASSAGE.join(
        f"{one.label}{LABEL if one.label else ''}{one.words}{ASKS if one.asks else ''}" for one in pieces
    )


def score(asked: tuple[QueryTerm, ...], one: ScoredText) -> float:
    return scores(asked, [one], CORPUS)[0]


NAME = QueryTerm(term="alpha beta", ways=("ab", "ba"), tells=True, count=2, passages=2, labels=1)


@pytest.mark.parametrize(
    ("one", "figure"),
    [
        (text(said("axxx")), 5.474283045),
        (text(said("xxxx"), name="a"), 7.401230677),
        (text(description="xax"), 7.594440667),
        (text(said("xab", label="n"), name="xx", description="ba"), 29.141590767),
        (
            text(
                said("axx"),
                said("bx", label="an", asks=True),
                said("xxxxxxxxabx"),
                name="b",
                description="ax",
            ),
            32.047330018,
        ),
        (
            text(said("abx"))._replace(
                before=(said("bx"), said("xxxx"), said("axx"), said("bax", asks=True)),
                after=(said("xb"), said("a"), said("xxxb"), said("ab")),
            ),
            22.946212352,
        ),
        (
            text(
                said("xxx"),
                said("ax"),
                said("yyy"),
                said("b"),
                said("xxxxxxxxxxx"),
                said("nb"),
                said("a", label="b"),
            )._replace(before=(said("ba", asks=True),), after=(said("ab"),)),
            17.699005274,
        ),
    ],
)
def test_a_score_is_what_the_formula_makes_it_to_the_figure(one: ScoredText, figure: float) -> None:
    """Its constants were measured: what changes a figure here is to be measured anew."""
    assert score((A, B, SPEAKER, NAME), one) == pytest.approx(figure, rel=1e-9)


@pytest.mark.parametrize(
    ("corpus", "one", "figure"),
    [
        (Corpus(1, 1, 1, 1, 40), text(said("ax"), said("xxx"), name="ab"), 2.112474950105),
        (Corpus(1, 0, 1, 1, 0), text(name="ab"), 4.656954106980),
        (Corpus(1, 0, 1, 1, 0), text(said("ax")), 0.753420848435),
    ],
)
def test_a_score_in_a_catalog_of_one_memory_is_one_too(
    corpus: Corpus, one: ScoredText, figure: float
) -> None:
    once = tuple(replace(term, count=1, passages=min(1, corpus.passages), labels=0) for term in (A, NAME))
    assert scores(once, [one], corpus)[0] == pytest.approx(figure, rel=1e-9)


def test_what_shares_no_word_scores_nothing() -> None:
    unknown = replace(A, ways=())
    assert scores((A, unknown), [text(said("xyz")), text(said("xaz"))], CORPUS)[0] == 0.0
    assert score((unknown,), text(said("a"))) == 0.0


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    common = replace(B, count=60, passages=200)
    assert score((A, common), text(said("axx"))) > score((A, common), text(said("bxx")))


def test_a_name_of_code_counts_as_a_whole_where_it_is_rare() -> None:
    """Its words count for themselves: the project's own name must not outweigh what is asked of it."""
    name = QueryTerm(term="alpha beta", ways=("ab",), tells=True, count=2, passages=2, labels=0)
    own = replace(name, count=60, passages=240)
    whole, apart = text(said("abx")), text(said("axb"))
    assert score((A, B, name), whole) > 1.5 * score((A, B, name), apart)
    common = replace(A, count=60, passages=240), replace(B, count=60, passages=240)
    assert score((*common, own), whole) < 1.25 * score((*common, own), apart)


def test_two_words_of_a_question_count_more_than_one_twice() -> None:
    assert score((A, B), text(said("abx"))) > score((A, B), text(said("aax")))


def test_a_passage_is_read_with_the_passages_around_it() -> None:
    """What is talked about is often named a sentence before."""
    alone = text(said("axxx"))
    before, after = alone._replace(before=(said("bxxx"),)), alone._replace(after=(said("bxxx"),))
    assert score((A, B), before) > score((A, B), after) > score((A, B), alone)


def test_the_farther_off_it_stands_the_less_a_word_counts() -> None:
    alone = text(said("axxx"))
    away = [(*[said("xxxx")] * number, said("bxxx")) for number in range(5)]
    before = [score((A, B), alone._replace(before=some[::-1])) for some in away]
    after = [score((A, B), alone._replace(after=some)) for some in away]
    assert all(sorted(set(found), reverse=True) == found for found in (before, after))


def test_the_best_passages_count_wherever_they_stand() -> None:
    away = [said("xxxx")] * 5
    best, others = [said("axxx"), said("bxxx")], [said("axxx"), *away] * 4
    first, last = text(*away, *best, *away, *others), text(*away, *others, *best, *away)
    assert score((A, B), first) == pytest.approx(score((A, B), last))


def test_a_reply_counts_what_it_is_asked() -> None:
    asked = text(said("xxxx"))._replace(before=(said("abxx", asks=True),))
    told = text(said("xxxx"))._replace(before=(said("abxx"),))
    assert score((A, B), asked) > score((A, B), told)


def test_of_equal_passages_the_one_that_has_the_word_wins() -> None:
    having, beside = said("axxx"), said("xxxx")
    first = text(having)._replace(after=(beside,))
    second = text(beside)._replace(before=(having,))
    assert score((A,), first) > score((A,), second) > 0


def test_who_speaks_counts_though_each_speaks_everywhere() -> None:
    by_ann, by_ben = text(said("axx", label="n")), text(said("axx", label="m"))
    gain = score((A, SPEAKER), by_ann) - score((A, SPEAKER), by_ben)
    assert 0 < gain < score((A,), by_ben), "but less than what is said"


def test_a_word_of_the_heading_counts_more_than_one_of_the_body() -> None:
    named, described = text(said("xxxx"), name="a"), text(said("xxxx"), description="ayy")
    in_body = text(said("axxx"))
    assert min(score((A,), named), score((A,), described)) > score((A,), in_body)
    longer = [text(said("xxxx"), said("yyyy"), **{where: "a"}) for where in ("name", "description")]
    assert score((A,), longer[0]) > score((A,), longer[1]), "also in a memory of several passages"


def test_a_memory_without_a_body_is_found_by_its_heading() -> None:
    assert score((A,), text(name="a")) > 0


def test_a_long_memory_is_not_worth_more_for_saying_something_else_too() -> None:
    answer = said("abxx")
    short = text(answer, said("yyyy"))
    long = text(answer, *(said("yyyyyyyy") for _ in range(30)))
    assert score((A, B), short) > score((A, B), long) > 0


def test_neither_short_nor_long_memories_come_first_for_being_so() -> None:
    """The same word once in a memory of one passage and in one of five, each of mean length."""
    terms = tuple(replace(one, passages=one.count) for one in (A, B))
    corpus = CORPUS._replace(passages=100)
    filler = [said("x" * 20) for _ in range(4)]
    one, five = text(said("ab" + "x" * 78)), text(said("ab" + "x" * 18), *filler)
    short, long = (scores(terms, [memory], corpus)[0] for memory in (one, five))
    assert 0.8 < long / short < 1.25


def test_words_together_count_more_than_words_far_apart() -> None:
    filler = [said("yyyy") for _ in range(12)]
    together, apart = text(said("abyy"), *filler, said("yyyy")), text(said("ayyy"), *filler, said("byyy"))
    assert score((A, B), together) > score((A, B), apart)


@given(st.lists(st.text("abnxyz", max_size=12), max_size=12), st.lists(st.booleans(), min_size=12))
def test_scores_depend_on_nothing_but_the_text(bodies: list[str], asks: list[bool]) -> None:
    """A text scores the same alone and among others, whatever is cached between them."""
    texts = [text(*(said(body, asks=ask) for body, ask in zip(bodies, asks, strict=False)))]
    texts += [
        text(said(body))._replace(before=tuple(map(said, bodies[max(0, n - 4) : n])))
        for n, body in enumerate(bodies)
    ]
    together = scores((A, B, SPEAKER), texts, CORPUS)
    assert together == [score((A, B, SPEAKER), one) for one in texts]
    assert all(value >= 0 for value in together)


def test_irregular_forms_are_one_word() -> None:
    assert words("She went and bought mice") == words("she go buy mouse")
    assert words("who left what was found") == ["left", "found"], "these are words of their own"


def test_a_text_is_read_as_the_catalog_keeps_it() -> None:
    own = (said("ab", label="n"), said("cd", asks=True), said("", label="m", asks=True), said("ef"))
    read = read_text(FIELD.join(("name", "about", written(own))))
    assert read == ScoredText("name", "about", written(own), own)
    assert read_text(FIELD.join(("", "", ""))).passages == ()


def test_of_many_passages_the_promising_are_weighed_and_no_other() -> None:
    """By themselves, by a question before them and by what comes after."""
    away = [said("xxxx")] * 6
    for lead in ([said("abxx")], [said("bxxx", asks=True), said("axxx")], [said("axxx"), said("bxxx")]):
        alone, among = text(*lead, *away[: 4 - len(lead)]), text(*away, *lead, *away)
        assert score((A, B), among) > 0.6 * score((A, B), alone)
    own = said("axxx", asks=True), said("b" + "x" * 20), said("baxxx", asks=True), said("n"), said("xx")
    one = text(*own, said("ab" + "x" * 20), said("xab"))._replace(before=(said("b", asks=True), said("a")))
    assert score((A, B, SPEAKER), one) == pytest.approx(17.849157074, rel=1e-9)
    few, many = text(*[said("axxx")] * 2, *away[:2]), text(*[said("axxx")] * 2, *away)
    assert score((A,), few) > score((A,), many) > 0


def test_two_words_side_by_side_are_weighed_before_a_rarer_one_alone() -> None:
    """However many passages have that."""
    rare, away = replace(A, term="rare", ways=("c",), passages=1), [said("xxxx")] * 6
    others = [one for _ in range(4) for one in (said("cxxx"), *away)]
    both, apart = (
        text(*others, said("bxxx"), *some, said("axxx"), *away, *more)
        for some, more in (((), away), (away, ()))
    )
    assert score((A, B, rare), both) > 1.01 * score((A, B, rare), apart)


def test_what_stands_before_a_memory_of_many_passages_moves_none_of_them() -> None:
    answer, away = said("abxx"), [said("xxxx")] * 8
    alone = text(*away, answer, *away)
    assert score((A, B), alone._replace(before=tuple(away[:4]))) == pytest.approx(score((A, B), alone))
