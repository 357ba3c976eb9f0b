"""What a text must hold so that no fact of another is lost in it, and what it may add."""

from __future__ import annotations

from datetime import date

import pytest

from gitmem.core import facts
from gitmem.core.facts import (
    added,
    akin,
    missing_facts,
    names,
    numbers,
    sentences,
    stem,
    unheard,
    without_dates,
)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Run `lint` first.", "Run linter first."),
        ("Run `lint` first.", "Run prelint first."),
        ("Run `lint` first.", "Run re-lint first."),
        ("Run `lint` first.", "Run lint-all first."),
        ("Run `lint` first.", "Run ./lint first."),
        ("Run `lint` first.", "Run lint/all first."),
        ("Run `lint` first.", "Run lint@2 first."),
        ("It is in src/app now.", "It is in src/apps now."),
        ("It is in src/app now.", "It is in old/src/app now."),
        ("It is in src/app now.", "It is in src/app/main now."),
        ("Pass --force to it.", "Pass --force-with-lease to it."),
        ("Set max_size here.", "Set max_sizes here."),
        ("Set max_size here.", "Set the_max_size here."),
        ("Call open_it here.", "Call store.open_it here."),
        ("See https://a.example/b there.", "See https://a.example/bc there."),
        ("See [[release]] there.", "See [[release-process]] there."),
    ],
)
def test_a_name_is_not_held_by_a_longer_one(source: str, target: str) -> None:
    """`lint` is not `linter`: a merge that says so would lose which of the two was meant."""
    assert missing_facts(source, target)
    assert not missing_facts(source, f"{target} {source}")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("Run `lint` first.", "First (lint), then push."),
        ("Run `lint` first.", "First comes lint."),
        ("Run `lint` first.", "lint, first of all"),
        ("Run `a  b` first.", "First run a\n  b, then push."),
        ("It is in src/app now.", "Look in `src/app`: it is there now."),
        ("It is in src/app now.", "It is in src/app."),
        ("See [[release]] there.", "There: [[release|how to release]]."),
        ("Use `--x` here.", "Here use --x."),
        ("Set max_size here.", "Here: max_size=3"),
        ("Set max_ here.", "Here it is set."),
    ],
)
def test_a_name_is_held_wherever_it_stands_by_itself(source: str, target: str) -> None:
    assert missing_facts(source, target) == ()


@pytest.mark.parametrize(
    ("source", "target", "lost"),
    [
        ("It takes 5 ms and 12%.", "It takes time.", ("the number 12%", "the number 5")),
        ("It runs twice a day, a hundred times.", "It runs often.", ("the number 100", "the number 2")),
        ("See `a.b` there.", "See it there.", ("the name a.b",)),
        ("See docs/a there.", "See it there.", ("the path docs/a",)),
        ("Run git push -f there.", "Run git push there.", ("the name -f",)),
        ("See [[x]] there.", "See it there.", ("the link [[x",)),
        ("See [[x|how Ann ships]].", "See [[x]].", ("the name Ann",)),
        ("See http://h.example/x.", "See it.", ("the URL http://h.example/x",)),
        ("See HTTP://h.example/x.", "See it.", ("the URL HTTP://h.example/x",)),
        ("See `a\nb` there.", "See it there.", ("the name a b",)),
        ("ask Ann’s team", "ask the team", ("the name Ann",)),
        ("Never push.", "Push.", ("a negation",)),
        ("Push. Never merge.", "Push. Merge.", ("a negation",)),
        ("Push.", "Do not push.", ("a negation",)),
        ("~~Push.~~", "Push.", ("a negation",)),
    ],
)
def test_what_is_lost_is_named(source: str, target: str, lost: tuple[str, ...]) -> None:
    assert missing_facts(source, target) == lost


@pytest.mark.parametrize(
    ("source", "target", "lost"),
    [
        (
            "It is reviewed by Ana Lopez, not by Ben.",
            "It is reviewed by Ben, not by Ana Lopez.",
            "a negation",
        ),
        ("Frag Ana, nicht Ben.", "Frag Ben, nicht Ana.", "a negation"),
        ("Use spaces, never tabs.", "Use tabs, never spaces.", "a negation"),
        ("We use Redis not Memcached.", "We use Memcached not Redis.", "a negation"),
        ("Ask Ana, not Ben.", "Ask Ben. Do not ask Ana.", "a negation"),
        ("Not reviewed by Ana, Ben does it.", "Reviewed by Ana, not by Ben.", "a negation"),
        ("Pin 3.11, not 3.12.", "Pin 3.12, not 3.11.", "a negation"),
        ("It reads CSV before JSON.", "It reads JSON before CSV.", "the order around “before”"),
        ("Prefer uv over pip.", "Prefer pip over uv.", "the order around “over”"),
    ],
)
def test_the_same_words_the_other_way_round_say_something_else(source: str, target: str, lost: str) -> None:
    assert lost in missing_facts(source, target) and lost in missing_facts(target, source)
    assert missing_facts(source, f"{source} So said the team.") == ()


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("In CI, never mock the database.", "Never mock the database in CI."),
        ("Redis is not used here.", "We do not use Redis here."),
        ("Run the linter before you push.", "Before you push, run the linter."),
        ("Ask Ana, not Ben.", "Ask Ana, not Ben. On Fridays ask Ben, not Ana."),
        ("Never push to main without a review.", "Without a review, never push to main."),
    ],
)
def test_the_same_said_in_another_order_loses_nothing(source: str, target: str) -> None:
    assert missing_facts(source, target) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("In May we asked Ann and Bob’s team.", ("May", "Ann", "Bob")),
        ("The port. Use it: Redis is there", ("Redis",)),
        ("Redis is there", ("Redis",)),
        ("then I asked", ()),
        ("we said Don't", ()),
        ("`Ann` [[Ann]] https://h.example/Ann", ()),
        ("we met `[[x` and Ann]] at ask", ("Ann",)),
        ("ask Ann, Ann and ann", ("Ann",)),
        ("the Never and the No", ()),
        ("we met The Who", ("The", "Who")),
    ],
)
def test_a_name_is_a_capitalised_word_that_does_not_merely_open_a_sentence(
    text: str, found: tuple[str, ...]
) -> None:
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("one 2 3.5 and 1,000", {"1", "2", "3.5", "1,000"}),
        ("5ms 5MB 12% 10x", {"5ms", "5mb", "12%", "10x"}),
        ("2026-11-20 10:30 and 1/2", {"2026-11-20", "10:30", "1/2"}),
        ("once, twice, hundred, thousand", {"1", "2", "100", "1000"}),
        ("zero to twelve", {"0", "12"}),
        ("v2 and 3rd.", {"2", "3rd"}),
    ],
)
def test_numbers_are_found_with_their_unit(text: str, found: set[str]) -> None:
    assert numbers(text) == found


@pytest.mark.parametrize(
    "same",
    [
        "merge merges merged merging", "run runs running", "retry retries retried retrying",
        "move moved moving moves", "Cache caches cached caching", "server server's servers",
        "server’s Server", "class classes", "stop stopped stopping", "call called calls",
    ],
)  # fmt: skip
def test_the_endings_of_number_and_tense_make_no_other_word(same: str) -> None:
    assert len(set(map(stem, same.split()))) == 1


@pytest.mark.parametrize(
    "different", ["bus bed", "less let", "is as", "red ring", "pass past", "port post"]
)
def test_other_words_stay_other_words(different: str) -> None:
    one, other = different.split()
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("denies", "deny"), ("denied", "deny"), ("tries", "tri"), ("using", "using"), ("uses", "use"),
        ("adding", "add"), ("added", "add"), ("stopped", "stop"), ("missed", "miss"),
        ("calling", "call"), ("boss", "boss"), ("types", "typ"), ("type", "typ"), ("due", "due"),
        ("It’s", "it"), ("Ann's", "ann"), ("red", "red"), ("shed", "shed"), ("sheds", "shed"),
        ("inn", "inn"),
    ],
)  # fmt: skip
def test_a_short_word_keeps_its_letters(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


def test_sentences_end_at_points_lines_and_dashes() -> None:
    text = "One. Two: three; four\n\nfive — six -- seven (v1.2) well-known"
    assert sentences(text) == ("One.", "Two:", "three;", "four", "five", "six", "seven (v1.2) well-known")


@pytest.mark.parametrize(
    ("source", "target", "is_akin"),
    [
        ("the cache of the server is slow", "Caches are warm", True),
        ("the cache of the server is slow at night", "Caches are warm", False),
        ("the cache", "the queue", False),
        ("it is so", "the queue", True),
        ("Never cache", "Cache never", True),
        ("", "", True),
    ],
)
def test_one_in_three_words_makes_two_texts_akin(source: str, target: str, is_akin: bool) -> None:
    assert akin(source, target) is is_akin


@pytest.mark.parametrize(
    ("new", "sources", "is_unheard"),
    [
        ("cache the server", ["The cache is warm."], False),
        ("cache the server nightly", ["The cache is warm."], True),
        ("cache the server nightly", ["The cache is warm.", "Servers run."], False),
        ("so it is", [], False),
        ("cache", [], True),
    ],
)
def test_what_stands_half_nowhere_was_not_said_before(
    new: str, sources: list[str], is_unheard: bool
) -> None:
    assert unheard(new, sources) is is_unheard


def test_facts_may_come_from_any_of_the_sources() -> None:
    assert added("Ann owns port 80.", ["ask Ann", "it is port 80"]) == ()
    assert added("Ann owns port 80.", ["ask Ann"]) == ("the number 80",)


@pytest.mark.parametrize(
    ("text", "days", "plain"),
    [
        ("It ships tomorrow (2026-11-21).", {}, "It ships tomorrow."),
        ("It ships tomorrow (2026-11-21).", {"tomorrow": date(2026, 11, 21)}, "It ships tomorrow."),
        (
            "It ships tomorrow (2026-11-21).",
            {"tomorrow": date(2026, 11, 22)},
            "It ships tomorrow (2026-11-21).",
        ),
        ("Version 3 (2026-11-21) is out.", {}, "Version 3 (2026-11-21) is out."),
        (
            "Not today (2026-11-20), v3 (2026-11-19), tomorrow (2026-11-21)!",
            {},
            "Not today, v3 (2026-11-19), tomorrow!",
        ),
        ("It ships tomorrow.", {}, "It ships tomorrow."),
    ],
)
def test_only_the_date_behind_a_relative_phrase_is_taken_out(
    text: str, days: dict[str, date], plain: str
) -> None:
    assert without_dates(text, days) == plain


@pytest.mark.parametrize("text", ["[[" + "a" * 100_000, "a." * 50_000, "```\n" + " " * 100_000 + "x\n```"])
def test_a_hostile_line_takes_no_time(text: str) -> None:
    """A pattern that goes back at each letter would take minutes."""
    assert missing_facts(text, text) == ()


def test_of_texts_with_thousands_of_sentences_a_fact_counts_as_lost() -> None:
    """A claim may be as long as a memory, and be anybody's: all pairs took the better part of an hour."""
    said = [f"n{number}." for number in range(1_100)]
    one, other = " ".join(said), " ".join(reversed(said))
    assert missing_facts(one, other) == ("a negation",)
    assert missing_facts(one, one) == ()
    assert facts.misplaced_facts(one, [other]) == ("more than can be compared",)
    assert missing_facts("not b, never c, " * 300, "never c, not b. " * 300) == ()
