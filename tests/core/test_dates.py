"""Relative dates get the day they mean, once; whatever could be two days is left to a person."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.dates import annotate, relative_dates, unclear

WEDNESDAY = datetime(2026, 11, 18, 15, 0, tzinfo=UTC)

WORDS = st.sampled_from(
    [
        *("yesterday", "today", "tomorrow's", "3 days ago", "two", "weeks", "in 3 days", "the other day"),
        *("last", "next", "this", "on", "by", "in", "Friday", "monday", "week", "end of the month", "27"),
        *(
            "`", "```", "~~~", "\n", "\n\n", ">", "- ", ".", "**", "[[", "]]", "](", ")", "(",
            "https://x.y/",
        ),
        *("was fixed", "will", "every", "and", "(2026-11-20)"),
    ]
)  # fmt: skip
PROSE = st.lists(WORDS, max_size=25).flatmap(
    lambda words: st.sampled_from([" ", ""]).map(lambda separator: separator.join(words))
)


@pytest.mark.parametrize(
    ("text", "annotated"),
    [
        ("We agreed yesterday.", "We agreed yesterday (2026-11-17)."),
        ("We fixed it, so it works today.", "We fixed it, so it works today (2026-11-18)."),
        ("It works today, and we will ship it.", "It works today (2026-11-18), and we will ship it."),
        ("Today, tomorrow", "Today (2026-11-18), tomorrow (2026-11-19)"),
        ("the day before yesterday", "the day before yesterday (2026-11-16)"),
        ("the day after tomorrow", "the day after tomorrow (2026-11-20)"),
        ("this morning", "this morning (2026-11-18)"),
        ("yesterday's outage", "yesterday's (2026-11-17) outage"),
        ("3 days ago", "3 days ago (2026-11-15)"),
        ("two weeks ago", "two weeks ago (2026-11-04)"),
        ("a month ago", "a month ago (2026-10-18)"),
        ("The launch is in 2 weeks", "The launch is in 2 weeks (2026-12-02)"),
        ("five days from now", "five days from now (2026-11-23)"),
        ("frozen by Friday", "frozen by Friday (2026-11-20)"),
        ("We will ship on Monday", "We will ship on Monday (2026-11-23)"),
        ("We fixed it. It will go out on Friday.", "We fixed it. It will go out on Friday (2026-11-20)."),
        ("We're freezing merges on Monday", "We're freezing merges on Monday (2026-11-23)"),
        ("The launch is planned on Friday", "The launch is planned on Friday (2026-11-20)"),
        ("Merge freeze begins Thursday", "Merge freeze begins Thursday (2026-11-19)"),
        ("since Monday", "since Monday (2026-11-16)"),
        ("last Friday", "last Friday (2026-11-13)"),
        ("next Monday", "next Monday (2026-11-23)"),
        ("this Friday", "this Friday (2026-11-20)"),
        ("last\nFriday", "last\nFriday (2026-11-13)"),
        ('she said "yesterday"', 'she said "yesterday (2026-11-17)"'),
        ("**yesterday** it broke", "**yesterday (2026-11-17)** it broke"),
        (
            "Tonight, this afternoon, this evening",
            "Tonight (2026-11-18), this afternoon (2026-11-18), this evening (2026-11-18)",
        ),
        ("yesterday morning", "yesterday morning (2026-11-17)"),
        ("tomorrow’s demo", "tomorrow’s (2026-11-19) demo"),
        ("day after tomorrow", "day after tomorrow (2026-11-20)"),
        ("an hour and a week ago", "an hour and a week ago (2026-11-11)"),
        ("twelve days ago, eleven days ago", "twelve days ago (2026-11-06), eleven days ago (2026-11-07)"),
        ("in 2 weeks' time", "in 2 weeks' time (2026-12-02)"),
        ("in three months", "in three months (2027-02-18)"),
        ("2 weeks from today", "2 weeks from today (2026-12-02)"),
        ("one month from now", "one month from now (2026-12-18)"),
        ("coming Tuesday", "coming Tuesday (2026-11-24)"),
        ("due Friday afternoon", "due Friday afternoon (2026-11-20)"),
        (
            "until Saturday; till Sunday; before Thursday",
            "until Saturday (2026-11-21); till Sunday (2026-11-22); before Thursday (2026-11-19)",
        ),
        ("It starts Monday, ends Friday", "It starts Monday (2026-11-23), ends Friday (2026-11-20)"),
        ("the freeze is Friday", "the freeze is Friday (2026-11-20)"),
        (
            "we launch Thursday, which lands Friday",
            "we launch Thursday (2026-11-19), which lands Friday (2026-11-20)",
        ),
        ("since Thursday", "since Thursday (2026-11-12)"),
        ("last Sunday", "last Sunday (2026-11-15)"),
        ("next Tuesday", "next Tuesday (2026-11-24)"),
        ("It was broken, but will be in 3 days", "It was broken, but will be in 3 days (2026-11-21)"),
        ("It was late. We are there in 3 days", "It was late. We are there in 3 days (2026-11-21)"),
        ("Every week counts; by Friday", "Every week counts; by Friday (2026-11-20)"),
        ("- never\n- by Friday", "- never\n- by Friday (2026-11-20)"),
        ("1. never\n2. by Friday", "1. never\n2. by Friday (2026-11-20)"),
        ("never\n\nby Friday", "never\n\nby Friday (2026-11-20)"),
        ("by Friday 3 pm", "by Friday (2026-11-20) 3 pm"),
        ("by Friday 10:30", "by Friday (2026-11-20) 10:30"),
        ("(today)", "(today (2026-11-18))"),
        ("today's, and todays", "today's (2026-11-18), and todays"),
        ("today (2026-11-19) and today", "today (2026-11-19) and today (2026-11-18)"),
        ("[[x]] today [y](z) `c` today", "[[x]] today (2026-11-18) [y](z) `c` today (2026-11-18)"),
        ("```\ntoday\n```\ntoday", "```\ntoday\n```\ntoday (2026-11-18)"),
        ("last Monday", "last Monday"),
        ("this Monday", "this Monday"),
    ],
)
def test_what_means_one_day_is_annotated(text: str, annotated: str) -> None:
    assert annotate(text, WEDNESDAY) == annotated
    assert bool(unclear(text, WEDNESDAY)) is (annotated == text)
    found, loud = ([one.date for one in relative_dates(said, WEDNESDAY)] for said in (text, text.upper()))
    assert found == loud


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("last week we moved", "last week"),
        ("due next month", "next month"),
        ("a few days ago", "a few days ago"),
        ("the other day", "the other day"),
        ("2 years ago", "2 years ago"),
        ("by end of the month", "by end of the month"),
        ("next Friday", "next Friday"),
        ("last Monday", "last Monday"),
        ("by Wednesday", "by Wednesday"),
        ("We shipped it on Friday", "on Friday"),
        ("It was done in 3 days", "in 3 days"),
        ("Tokens expire in 30 days", "in 30 days"),
        ("a couple of weeks ago", "a couple of weeks ago"),
        ("earlier this week", "earlier this week"),
        ("later next sprint", "later next sprint"),
        ("last night it broke", "last night"),
        ("in several months", "in several months"),
        ("some years ago", "some years ago"),
        ("before the end of this quarter", "before the end of this quarter"),
        ("end of day", "end of day"),
        ("at end of year", "at end of year"),
        ("this weekend", "this weekend"),
        ("a year ago", "a year ago"),
        ("in 2 years", "in 2 years"),
        ("this Tuesday", "this Tuesday"),
        ("next Sunday", "next Sunday"),
        ("It broke on Friday", "on Friday"),
        ("We ship on Monday", "on Monday"),
        ("The launch is on Friday", "on Friday"),
        ("The release goes out on Friday", "on Friday"),
        ("they said it before Friday", "before Friday"),
        ("we waited until Friday", "until Friday"),
        ("A token rotates in 30 days", "in 30 days"),
        ("The call times out in 2 days", "in 2 days"),
        ("The call time out in 2 days", "in 2 days"),
        ("Within limits, in 2 days", "in 2 days"),
        ("It usually is there in 2 days", "in 2 days"),
        ("As always in 2 days", "in 2 days"),
        ("It never ends in 2 days", "in 2 days"),
        ("We went there in 2 days", "in 2 days"),
        ("It is told per day in 2 days", "in 2 days"),
    ],
)
def test_what_could_be_two_days_is_listed_and_left(text: str, phrase: str) -> None:
    """`next Friday` on a Wednesday is in two days for some and in nine for others."""
    (found,), (loud,) = unclear(text, WEDNESDAY), unclear(text.upper(), WEDNESDAY)
    assert (found.text, found.date) == (phrase, None) and loud.start == found.start
    assert text[found.start : found.end] == phrase
    assert annotate(text, WEDNESDAY) == text


@pytest.mark.parametrize(
    "text",
    [
        "`yesterday`", "``a ` today``", "```\ntoday\n```", "~~~ text\ntoday\n~~~~",
        "```\ntoday, never closed", "> ```\n> today\n> ```", "https://example.org/today/x",
        "The schema lives in db/schema.sql today.", "Today the API returns pages of 50.",
        'Press "Today" to go back.', "The Today button scrolls to the present.",
        "www.example.org/today", "[[today]]", "[notes](today)", "[ref]: today",
        "today.md, notes/today, today-view, get_today, @today, #today", "on Friday, November 27",
        "on Friday 27", "on Friday the 13th", "on Fridays", "Never deploy on Friday.",
        "deploys go out on tuesday", "Renovate opens updates on Monday; patches merge themselves",
        "Deploy on Friday with the runbook.", "Standup is every week on Monday", "todays", "May 2026",
        "on Friday, Nov. 27", "on Friday the 1st", "on Friday 2nd", "on Friday (27 November)",
        "Each of us, on Monday", "Always on Monday", "Usually on Monday", "It rotates on Monday",
        "It expires on Monday", "It times out on Monday", "Monday",
        "\\today $today today/x today\\x x.today today.x", "ftp+x://today", "yesterday (on 2026-11-17)",
        "**yesterday** (2026-11-17)", "yesterday\n (2026-11-17)", "five or 3 days",
    ],
)  # fmt: skip
def test_code_links_habits_and_absolute_dates_are_left_alone(text: str) -> None:
    assert relative_dates(text, WEDNESDAY) == relative_dates(text.upper(), WEDNESDAY) == ()
    assert annotate(text, WEDNESDAY) == text


@pytest.mark.parametrize(
    "text",
    [
        "yesterday (2026-01-02)",
        "**yesterday** (2026-01-02)",
        '"today" (2026-01-02)',
        "last week (2026-01-05 to 2026-01-11)",
        "yesterday (it was 2026-01-02, as Ann said)",
    ],
)
def test_an_annotated_phrase_is_settled_whatever_the_date(text: str) -> None:
    assert relative_dates(text, WEDNESDAY) == ()
    assert annotate(text, WEDNESDAY) == text


def test_days_are_those_of_the_zone_and_of_the_calendar() -> None:
    late = datetime(2026, 11, 18, 23, 30, tzinfo=timezone(timedelta(hours=-8)))
    assert annotate("today", late) == "today (2026-11-18)"
    assert annotate("today", late.astimezone(UTC)) == "today (2026-11-19)"
    assert annotate("1 month ago", datetime(2027, 3, 31, tzinfo=UTC)) == "1 month ago (2027-02-28)"
    assert annotate("yesterday", datetime(1, 1, 1)) == "yesterday"
    assert annotate("tomorrow", datetime(9999, 12, 31)) == "tomorrow"
    assert annotate("9 months ago", datetime(1, 1, 1)) == "9 months ago"
    assert annotate("9999 weeks ago", datetime(1, 1, 1)) == "9999 weeks ago"


def test_without_a_time_every_phrase_is_listed_undated() -> None:
    phrases = relative_dates("today and last week")
    assert [(phrase.text, phrase.date) for phrase in phrases] == [("today", None), ("last week", None)]


@given(
    st.dates(min_value=date(2000, 1, 1), max_value=date(2100, 1, 1)),
    st.sampled_from(["last", "next", "this"]),
)
def test_a_weekday_is_only_dated_where_both_readings_agree(today: date, word: str) -> None:
    """The nearest such day and the one in the neighbouring (or this) calendar week must be the same."""
    said = datetime(today.year, today.month, today.day)
    (phrase,) = relative_dates(f"{word} Friday", said)
    monday = today - timedelta(days=today.weekday())
    of_week = monday + timedelta(days=4, weeks={"last": -1, "next": 1, "this": 0}[word])
    if phrase.date is not None:
        assert phrase.date == of_week
        assert 0 < abs((phrase.date - today).days) < 7


@given(PROSE | st.text(max_size=80))
def test_annotating_twice_changes_nothing(text: str) -> None:
    once = annotate(text, WEDNESDAY)
    assert annotate(once, WEDNESDAY) == once
    assert all(phrase.date is None for phrase in relative_dates(once, WEDNESDAY))


@given(PROSE)
def test_annotating_only_inserts_dates(text: str) -> None:
    phrases = relative_dates(text, WEDNESDAY)
    added = annotate(text, WEDNESDAY)
    rebuilt, at = "", 0
    for phrase in phrases:
        assert at <= phrase.start < phrase.end
        mark = f" ({phrase.date.isoformat()})" if phrase.date else ""
        rebuilt, at = rebuilt + text[at : phrase.end] + mark, phrase.end
    assert added == rebuilt + text[at:]
