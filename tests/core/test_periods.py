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
        ("port 2026, build 1.2026-03-04, id 2026-03-04-77", []),
    ],
)
def test_a_text_names_days_with_their_year_alone(text: str, expected: list[str]) -> None:
    assert shown(named_days(text)) == expected


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
        ("how do we deploy?", []),
    ],
)
def test_a_question_asks_for_spans_of_days(question: str, expected: list[str]) -> None:
    assert shown(asked_days(question, TODAY)) == expected


@given(st.text(max_size=80), st.dates())
def test_no_text_and_no_day_is_too_odd(text: str, today: date) -> None:
    for said in (text, f"in {text} 99 years ago, last quarter, last month, the day before yesterday"):
        assert all(first <= last for first, last in asked_days(said, today))
        assert all(last - first < timedelta(days=31) for first, last in named_days(said))
