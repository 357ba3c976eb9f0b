"""Times that are named in English prose: days and months in a text, spans of days in a question."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date
from itertools import islice

Span = tuple[date, date]
"""First and last day."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""What the name of each month begins with."""

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ANY_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ISO = re.compile(
    r"(?<![\w.-])(?P<year>(?:19|20)\d\d)-(?P<number>[01]\d)(?:-(?P<day>[0-3]\d))?(?![\d]|-\d)"
)
_DAY_FIRST = re.compile(rf"\b{_DAY}(?: of)? {_MONTH},?(?: {_YEAR})?\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY}\b(?!:)(?:,? {_YEAR}\b)?", re.IGNORECASE)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},?(?: of)? {_YEAR}\b", re.IGNORECASE)
# "may", "march" and "mar" alone are words; "in May" is a month.
_MONTH_ALONE = re.compile(
    rf"\b(?:in|during|since|last|this|of|by|until) {_MONTH}(?= |$|[?,.!;])", re.IGNORECASE
)
_YEAR_ALONE = re.compile(rf"\b(?:in|during|of) {_YEAR}\b", re.IGNORECASE)

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
        1,
    )
} | {"a": 1, "an": 1}
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNITS = r"(?P<unit>day|week|month|year)s?"
_NEAR = re.compile(
    r"\b(?:(?P<before>(?:the )?day before yesterday)|(?P<near>yesterday|today|tonight))\b", re.IGNORECASE
)
_PAST_UNIT = re.compile(
    r"\b(?P<which>last|this|past|previous) (?P<unit>week|weekend|month|year|quarter)\b", re.IGNORECASE
)
_PAST_MANY = re.compile(rf"\b(?:last|past|previous) {_COUNT} {_UNITS}\b", re.IGNORECASE)
_AGO = re.compile(rf"\b{_COUNT} {_UNITS} ago\b", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(?:last|on|this|since) (?P<weekday>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)


def named_days(text: str, most: int = 1_000) -> Iterator[Span]:
    """Yields the days and months that a text names with their year, at most `most`."""
    if not _ANY_YEAR.search(text):  # nearly all texts: the patterns below take ten times as long
        return iter(())
    return islice(_absolute(text, None), most)


def asked_days(question: str, today: date) -> tuple[Span, ...]:
    """Lists the spans of days that a question names, counted from `today` where it counts from there.

    A month or day without a year is the last one that has begun. What is unclear by a few days ("two weeks
    ago") is a span of all the days it may mean.
    """
    found = [*_absolute(question, today), *_relative(question, today)]
    return tuple(dict.fromkeys(span for span in found if span[0] <= span[1]))


def _absolute(text: str, today: date | None) -> Iterator[Span]:
    """Dates and months; without a year only where `today` tells it."""
    taken = bytearray(len(text))
    patterns = [_ISO, _DAY_FIRST, _MONTH_FIRST, _MONTH_YEAR]
    if today is not None:
        patterns += [_MONTH_ALONE, _YEAR_ALONE]
    for pattern in patterns:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(taken[start:end]):
                continue
            span = _span(match.groupdict(), today)
            if span:
                taken[start:end] = b"\1" * (end - start)
                yield span


def _span(named: dict[str, str | None], today: date | None) -> Span | None:
    month = int(named.get("number") or 0) or _month(named.get("month"))
    day = int(named.get("day") or 0)
    year = int(named.get("year") or 0)
    if not year:
        if today is None:
            return None
        year = today.year - ((month, day) > (today.month, today.day))
    try:
        if not month:
            return date(year, 1, 1), date(year, 12, 31)
        if day:
            return date(year, month, day), date(year, month, day)
        return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
    except (ValueError, IndexError):
        return None


def _month(name: str | None) -> int:
    return MONTHS.index(name[:3].lower()) + 1 if name else 0


def _relative(text: str, today: date) -> Iterator[Span]:
    for match in _NEAR.finditer(text):
        back = 2 if match["before"] else {"yesterday": 1}.get(match["near"].lower(), 0)
        yield _days(today, back, back)
    for match in _PAST_UNIT.finditer(text):
        yield _unit(match["which"].lower(), match["unit"].lower(), today)
    for match in _PAST_MANY.finditer(text):
        yield _days(today, _LENGTH[match["unit"].lower()] * _count(match["count"]), 0)
    for match in _AGO.finditer(text):
        length = _LENGTH[match["unit"].lower()]
        back = length * _count(match["count"])
        yield _days(today, back + length // 2, back - length // 2)
    for match in _WEEKDAY.finditer(text):
        back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower()) - 1) % 7 + 1
        yield _days(today, back, back)


_LENGTH = {"day": 1, "week": 7, "month": 30, "year": 365, "weekend": 7, "quarter": 91}


def _unit(which: str, unit: str, today: date) -> Span:
    if unit in ("week", "weekend"):
        monday = today.weekday()
        return _days(today, monday, 0) if which == "this" else _days(today, monday + 7, 1)
    if unit == "month":
        first = today.replace(day=1)
        return (first, today) if which == "this" else (_month_before(first), _days(first, 1, 1)[0])
    if unit == "year":
        year = today.year - (which != "this")
        return date(max(1, year), 1, 1), date(max(1, year), 12, 31)
    return _days(today, (1 if which == "this" else 2) * _LENGTH[unit], 0)


def _month_before(first: date) -> date:
    return _days(first, 1, 1)[0].replace(day=1)


def _days(today: date, oldest: int, newest: int) -> Span:
    """The days from `oldest` to `newest` days ago."""
    first, last = (date.fromordinal(max(1, today.toordinal() - back)) for back in (oldest, newest))
    return first, last


def _count(word: str) -> int:
    return int(word) if word.isdecimal() else _NUMBERS[word.lower()]
