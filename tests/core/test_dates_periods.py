"""Which days a text names, and which a question asks for."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.dates import asked_days, named_days

TODAY = date(2026, 11, 22)  # a Sunday


def shown(spans: object) -> list[str]:
    return [f"{first}..{last}" for first, last in spans]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("frozen since 2026-12-01", ["2026-12-01..2026-12-01"]),
        ("the 2026-03 release", ["2026-03-01..2026-03-31"]),
        ("met on 5 March 2026 and March 7th, 2026", ["2026-03-05..2026-03-05", "2026-03-07..2026-03-07"]),
        ("shipped in February 2024", ["2024-02-01..2024-02-29"]),
        ("2026-02-30 and 2026-13-01 are no days", []),
        ("in March, we may march", []),
        (
            "5th of May 2026; 1st June, 2026; June 2nd 2026",
            ["2026-05-05..2026-05-05", "2026-06-01..2026-06-01", "2026-06-02..2026-06-02"],
        ),
        ("Sept 2025, Oct. of 2025", ["2025-09-01..2025-09-30", "2025-10-01..2025-10-31"]),
        (
            "January 2025 Feb 2025 Apr 2025",
            ["2025-01-01..2025-01-31", "2025-02-01..2025-02-28", "2025-04-01..2025-04-30"],
        ),
        (
            "July 2025 aug 2025 NOV 2025 December 2025",
            [
                "2025-07-01..2025-07-31",
                "2025-08-01..2025-08-31",
                "2025-11-01..2025-11-30",
                "2025-12-01..2025-12-31",
            ],
        ),
        ("31 April 2026", ["2026-04-01..2026-04-30"]),
        ("since May 2025, and 5 June 2026", ["2026-06-05..2026-06-05", "2025-05-01..2025-05-31"]),
        ("in 2026, in 1999", []),
        ("March 5: 2026", []),
        ("2026-00-01 1899-01-01 2026-05-39", []),
        ("x2026-05-01 2026-05-011 .2026-05-01 -2026-05-01", []),
        ("port 2026, build 1.2026-03-04, id 2026-03-04-77", []),
    ],
)
def test_a_text_names_days_with_their_year_alone(text: str, expected: list[str]) -> None:
    assert shown(named_days(text)) == shown(named_days(text.upper())) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("what did we decide yesterday?", ["2026-11-21..2026-11-21"]),
        ("the day before yesterday", ["2026-11-20..2026-11-20"]),
        ("what changed on 2026-03-05", ["2026-03-05..2026-03-05"]),
        ("what did we learn in March?", ["2026-03-01..2026-03-31"]),
        ("what did we learn in December", ["2025-12-01..2025-12-31"]),
        ("what was decided on May 8", ["2026-05-08..2026-05-08"]),
        ("the incident of 2024", ["2024-01-01..2024-12-31"]),
        ("what broke last week", ["2026-11-09..2026-11-21"]),
        ("this week", ["2026-11-16..2026-11-22"]),
        ("last month", ["2026-10-01..2026-10-31"]),
        ("in the past three days", ["2026-11-19..2026-11-22"]),
        ("two weeks ago", ["2026-11-05..2026-11-11"]),
        ("on Friday", ["2026-11-20..2026-11-20"]),
        ("may I march on?", []),
        ("in May", ["2026-05-01..2026-05-31"]),
        ("during November.", ["2026-11-01..2026-11-30"]),
        ("last Mar", ["2026-03-01..2026-03-31"]),
        ("until march it was", ["2026-03-01..2026-03-31"]),
        ("in Mayhem", []),
        ("22 November", ["2026-11-22..2026-11-22"]),
        ("23 November", ["2025-11-23..2025-11-23"]),
        ("during 1999", ["1999-01-01..1999-12-31"]),
        ("since 1999", []),
        ("today and tonight", ["2026-11-22..2026-11-22"]),
        ("this month", ["2026-11-01..2026-11-22"]),
        ("previous year", ["2025-01-01..2025-12-31"]),
        ("this year", ["2026-01-01..2026-12-31"]),
        ("this quarter", ["2026-08-23..2026-11-22"]),
        ("past quarter", ["2026-05-24..2026-11-22"]),
        ("last weekend", ["2026-11-09..2026-11-21"]),
        ("this weekend", ["2026-11-16..2026-11-22"]),
        ("previous 2 weeks", ["2026-11-08..2026-11-22"]),
        ("last 12 months", ["2025-11-27..2026-11-22"]),
        ("past two years", ["2024-11-22..2026-11-22"]),
        ("3 days ago", ["2026-11-19..2026-11-19"]),
        ("a month ago", ["2026-10-08..2026-11-07"]),
        ("a year ago", ["2025-05-24..2026-05-23"]),
        ("on Sunday", ["2026-11-15..2026-11-15"]),
        ("since Saturday", ["2026-11-21..2026-11-21"]),
        ("last Monday", ["2026-11-16..2026-11-16"]),
        ("this Tuesday or yesterday", ["2026-11-21..2026-11-21", "2026-11-17..2026-11-17"]),
        ("yesterday and yesterday", ["2026-11-21..2026-11-21"]),
        ("how do we deploy?", []),
    ],
)
def test_a_question_asks_for_spans_of_days(question: str, expected: list[str]) -> None:
    for said in (question, question.upper()):
        assert shown(asked_days(said, TODAY)) == expected


@given(st.text(max_size=80), st.dates())
def test_no_text_and_no_day_is_too_odd(text: str, today: date) -> None:
    for said in (text, f"in {text} 99 years ago, last quarter, last month, the day before yesterday"):
        assert all(first <= last for first, last in asked_days(said, today))
        assert all(last - first < timedelta(days=31) for first, last in named_days(said))


def test_only_so_many_days_of_a_text_are_read() -> None:
    text = " ".join(f"2026-01-{day:02}" for day in range(1, 29)) * 40
    assert len(list(named_days(text))) == 1000 and len(list(named_days(text, 3))) == 3


def test_what_is_too_long_ago_ends_at_the_first_day_there_is() -> None:
    assert shown(asked_days("last 99 years", date(3, 2, 1))) == ["0001-01-01..0003-02-01"]
    assert shown(asked_days("last year, last month", date(1, 1, 5)))[0] == "0001-01-01..0001-12-31"
