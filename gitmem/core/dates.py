"""Dates in English prose: relative ones annotated against the day they were said, and spans in a question.

A date is written behind the phrase, `yesterday (2026-11-20)`, and the phrase stays. Only what means one
day, whichever way it is read, is annotated; the rest is listed as unclear for a person. Code, links and
URLs are left alone; quotations are not. Days are those of the time zone that the message's time is in.
"""

from __future__ import annotations

import bisect
import calendar
import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import islice

from gitmem.values import dataclass

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = dict(
    zip(
        (
            "a",
            "an",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
        ),
        (1, 1, *range(1, 12)),
        strict=True,
    )
) | {"twelve": 12}

# One space or one line break, so that a phrase never reaches over a blank line.
_GAP = r"(?:[ \t]+|[ \t]*\n[ \t]*)"
_DAY = rf"(?P<day>{'|'.join(_WEEKDAYS)})"
_COUNT = rf"(?P<count>\d{{1,4}}|{'|'.join(_NUMBERS)})"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_VAGUE_UNIT = r"(?:weekend|week|month|quarter|year|sprint)"
_PERIOD = r"(?:morning|afternoon|evening)"


def _compiled(pattern: str) -> re.Pattern[str]:
    # Part of a path, an identifier or a compound is no phrase.
    spaced = pattern.replace(" ", _GAP)
    return re.compile(rf"(?<![\w\-./@#$\\])(?:{spaced})(?![\w/\\]|-\w|\.\w)", re.IGNORECASE)


_FIXED = _compiled(
    rf"(?:the )?day (?P<side>before yesterday|after tomorrow)|this {_PERIOD}"
    rf"|(?P<near>yesterday|today|tomorrow)(?: {_PERIOD})?(?:['’]s)?|tonight"
)
_AGO = _compiled(rf"{_COUNT} {_UNIT} ago")
_AHEAD = _compiled(
    rf"in {_COUNT} {_UNIT}(?:['’] time)?|{_COUNT.replace('count', 'count2')} "
    r"(?P<unit2>day|week|month|year)s? from (?:now|today)"
)
_WEEKDAY = _compiled(
    r"(?:(?P<word>last|next|this|coming|on|by|until|till|before|due|since)"
    r"|(?P<verb>begins?|beginning|starts?|starting|ends?|ships?|launch(?:es)?|lands?"
    r"|(?:deadline|freeze|release) is))"
    rf" {_DAY}(?: {_PERIOD})?"
)
_VAGUE = _compiled(
    rf"(?:earlier |later )?(?:last|next|this) {_VAGUE_UNIT}|last night|the other day"
    r"|(?:in )?(?:a few|a couple of|several|some) (?:days|weeks|months|years)(?: ago)?"
    rf"|(?:by |at |before )?(?:the )?end of (?:the |this |next )?(?:day|{_VAGUE_UNIT})"
)
# What lies ahead first: "two weeks from today" is not today.
_PATTERNS = (_AHEAD, _FIXED, _AGO, _WEEKDAY, _VAGUE)
# Every phrase holds one of these; most texts hold none, and are done with a hundredth of the work.
_NEEDED = re.compile(
    "day|tomorrow|night|morning|afternoon|evening|week|month|quarter|year|sprint", re.IGNORECASE
)

# The weekday is only a part of an absolute date: "Friday, November 27", "Friday the 13th".
_ABSOLUTE = re.compile(
    r",?[ \t\n]+(?:the[ \t]+)?(?:\(?\d{1,4}(?:st|nd|rd|th)?\b(?![ \t]*(?:am|pm|:|h\b|o'clock))"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b)",
    re.IGNORECASE,
)
_ANNOTATED = re.compile(r"[*_~\"'”’)\]]*[ \t]*(?:\n[ \t]*)?\([^()\n]*\d{4}-\d{2}-\d{2}[^()\n]*\)")
_SKIPPED = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*?^[ \t]*(?:>[ \t]*)*(?P=fence)[`~]*[ \t]*$|.*)"
    r"|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
    r"|(?<![a-z0-9])(?:[a-z][a-z0-9+.\-]{1,20}://|www\.)[^\s<>]+"
    r"|\[\[[^\[\]\n]*\]\]|(?<=\])\([^()\n]*\)|^\[[^\]\n]+\]:[^\n]*",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_CLAUSE_END = re.compile(r"[.!?;](?=\s|$)|\n[ \t]*\n|\n[ \t]*(?:[-*+]|\d+[.)])[ \t]")
_PAST = re.compile(
    r"\b(?:was|were|had|did|went|came|got|made|broke|found|said|told|wrote|met|ran|began|took|\w{2,}ed)\b",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:will|shall|going to|is to|are to|due|must|need|needs|planned|scheduled)\b|['’]ll\b", re.I
)
# "Today" in what is so in general means nowadays; on a button it is a name.
_PRESENT = re.compile(
    r"\b(?:is|are|has|have|do|does|can|cannot|uses?|runs?|lives?|works?|returns?|needs?|holds?|reads?|writes?"
    r"|takes?|keeps?|supports?|stores?|handles?|sits?|stands?|exists?)\b|\b(?:it|that|there)['’]s\b",
    re.IGNORECASE,
)
_THING = re.compile(
    r"[\"”’*_]*\s+(?:button|tab|view|page|screen|widget|filter|section|link|menu|label|column|badge|panel)s?\b",
    re.IGNORECASE,
)
_HABIT = re.compile(
    r"\b(?:every|each|always|never|usually|within|per|expires?|times? out|rotates?)\b", re.IGNORECASE
)
_UNDER_WAY = re.compile(r"(?:\b(?:am|is|are)|['’](?:m|s|re))\s+(?:\w+ly\s+)?\w+ing\b", re.IGNORECASE)
# "We ship on Monday" may be either; "Deploys go out on Tuesday" is what deploys do.
_THE = re.compile(r"\W*(?:the|this|that)\b", re.IGNORECASE)
_EITHER = re.compile(
    r"\b(?:I|we|you|he|she|they)\b|(?:\b(?:is|are)|['’]s)\s+on\s+(?:" + "|".join(_WEEKDAYS) + r")\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Phrase:
    """A relative date without an annotation.

    Attributes:
        start, end: where it is in the text, in code points.
        text: the phrase as written.
        date: the one day it means; None where unclear, or where it is unknown when it was said.
    """

    start: int
    end: int
    text: str
    date: date | None


def annotate(text: str, said: datetime) -> str:
    """Returns the text with an ISO date behind each relative date that means one day.

    Annotating again changes nothing: a phrase that an ISO date in parentheses follows is settled, whoever
    wrote the date and whatever it is.

    Args:
        text: markdown.
        said: when the message said it, in the time zone whose days count.
    """
    parts: list[str] = []
    at = 0
    for phrase in relative_dates(text, said):
        if phrase.date is not None:
            parts += [text[at : phrase.end], f" ({phrase.date.isoformat()})"]
            at = phrase.end
    return "".join([*parts, text[at:]])


def unclear(text: str, said: datetime) -> tuple[Phrase, ...]:
    """Lists the relative dates that `annotate` leaves for a person: `last week`, `a few days ago`, …."""
    return tuple(phrase for phrase in relative_dates(text, said) if phrase.date is None)


def relative_dates(text: str, said: datetime | None = None) -> tuple[Phrase, ...]:
    """Lists the relative dates that have no annotation yet, in order, without overlaps.

    A weekday in a rule ("never deploy on Friday", "deploys go out on Friday") is no date and is not listed.

    Args:
        text: markdown.
        said: when it was said; None where unknown, then every date is None.
    """
    if not _NEEDED.search(text):
        return ()
    prose = _SKIPPED.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), text)
    clauses = _Clauses(prose)
    taken = bytearray(len(text))
    found: list[Phrase] = []
    for pattern in _PATTERNS:
        for match in pattern.finditer(prose):
            start, end = match.span()
            if any(taken[start:end]) or _ANNOTATED.match(text, end):
                continue
            if pattern is _FIXED and _is_no_day(match, clauses):
                continue
            if pattern is _WEEKDAY and (_ABSOLUTE.match(prose, end) or _is_rule(match, clauses)):
                continue
            taken[start:end] = b"\1" * (end - start)
            day = None if said is None else _resolve(pattern, match, clauses, said.date())
            found.append(Phrase(start, end, text[start:end], day))
    return tuple(sorted(found, key=lambda phrase: phrase.start))


class _Clauses:
    """What the sentence or list item around a place tells about time, worked out once for each."""

    def __init__(self, prose: str) -> None:
        self._prose = prose
        ends = list(_CLAUSE_END.finditer(prose))
        self._starts = [0, *(end.end() for end in ends)]
        self._ends = [*(end.start() for end in ends), len(prose)]
        self._known: dict[tuple[int, re.Pattern[str]], bool] = {}

    def habit(self, at: int) -> bool:
        """Whether it states a rule or a property ("every", "never", "expires")."""
        return self._holds(_HABIT, at)

    def ahead(self, at: int) -> bool:
        """Whether it tells of one thing to come ("we will ship", "we are shipping")."""
        return self._holds(_FUTURE, at) or self._holds(_UNDER_WAY, at)

    def either(self, at: int) -> bool:
        """Whether what it tells in the present may be a habit, or one thing to come."""
        number = bisect.bisect_right(self._starts, at) - 1
        is_about_one = _THE.match(self._prose, self._starts[number]) is not None
        return is_about_one or self._holds(_EITHER, at)

    def in_general(self, at: int) -> bool:
        """Whether it tells how things are, and nothing that happened or is to come."""
        return self._holds(_PRESENT, at) and not (self._holds(_PAST, at) or self.ahead(at))

    def past(self, at: int) -> bool:
        """Whether it tells what happened, and nothing to come."""
        return self._holds(_PAST, at) and not self._holds(_FUTURE, at)

    def _holds(self, pattern: re.Pattern[str], at: int) -> bool:
        number = bisect.bisect_right(self._starts, at) - 1
        if (number, pattern) not in self._known:
            found = pattern.search(self._prose, self._starts[number], self._ends[number])
            self._known[number, pattern] = found is not None
        return self._known[number, pattern]


def _is_no_day(match: re.Match[str], clauses: _Clauses) -> bool:
    """Whether "today" means nowadays, or names a thing on a screen."""
    if (match["near"] or "").casefold() != "today":
        return False
    prose, (start, end) = match.string, match.span()
    quoted = prose[start - 1 : start] in ('"', "“", "*") and prose[start].isupper()
    return quoted or _THING.match(prose, end) is not None or clauses.in_general(start)


def _is_rule(match: re.Match[str], clauses: _Clauses) -> bool:
    """Whether a weekday stands for every such day: what things do in the present they do again."""
    at = match.start()
    if clauses.habit(at):
        return True
    is_present = not (clauses.ahead(at) or clauses.past(at) or clauses.either(at))
    return (match["word"] or "").lower() == "on" and is_present


def _resolve(pattern: re.Pattern[str], match: re.Match[str], clauses: _Clauses, today: date) -> date | None:
    if pattern is _FIXED:
        return _fixed(match, today)
    if pattern is _AGO:
        return _shift(today, match["count"], match["unit"], -1)
    if pattern is _AHEAD:
        if match["count2"]:
            return _shift(today, match["count2"], match["unit2"], 1)
        # "done in 3 days" and "tokens expire in 3 days" are durations.
        if clauses.habit(match.start()) or clauses.past(match.start()):
            return None
        return _shift(today, match["count"], match["unit"], 1)
    if pattern is _WEEKDAY:
        return _weekday(match, clauses, today)
    return None


def _fixed(match: re.Match[str], today: date) -> date | None:
    if match["side"]:
        return _plus(today, -2 if match["side"].lower().startswith("before") else 2)
    return _plus(today, {"yesterday": -1, "tomorrow": 1}.get((match["near"] or "").lower(), 0))


def _weekday(match: re.Match[str], clauses: _Clauses, today: date) -> date | None:
    word = (match["word"] or "").lower()
    wanted = _WEEKDAYS.index(match["day"].lower())
    ahead = (wanted - today.weekday()) % 7
    if ahead == 0:
        return None
    # Whether the nearest such day is in the calendar week (Monday to Sunday) that holds today.
    later_this_week = wanted > today.weekday()
    if word == "next":
        return None if later_this_week else _plus(today, ahead)
    if word == "last":
        return _plus(today, ahead - 7) if later_this_week else None
    if word == "this":
        return _plus(today, ahead) if later_this_week else None
    if word == "since":
        return _plus(today, ahead - 7)
    if word in ("on", "before", "until", "till") and clauses.past(match.start()):
        return None
    if word == "on" and not clauses.ahead(match.start()):
        return None
    return _plus(today, ahead)


def _shift(today: date, count: str, unit: str, sign: int) -> date | None:
    if unit.lower() == "year":
        return None  # "a year ago" never means a day
    number = sign * (int(count) if count.isdecimal() else _NUMBERS[count.lower()])
    unit = unit.lower()
    if unit in ("day", "week"):
        return _plus(today, number * (7 if unit == "week" else 1))
    months = today.year * 12 + today.month - 1 + number
    year, month = months // 12, months % 12 + 1
    if not 1 <= year <= 9999:
        return None
    return date(year, month, min(today.day, calendar.monthrange(year, month)[1]))


def _plus(today: date, days: int) -> date | None:
    try:
        return today + timedelta(days=days)
    except OverflowError:
        return None


Span = tuple[date, date]
"""First and last day."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
"""What the name of each month begins with."""

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY_NUMBER = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_ANY_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_ISO = re.compile(
    r"(?<![\w.-])(?P<year>(?:19|20)\d\d)-(?P<number>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?(?![\d]|-\d)"
)
_DAY_FIRST = re.compile(rf"\b{_DAY_NUMBER}(?: of)? {_MONTH},?(?: {_YEAR})?\b", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"\b{_MONTH} {_DAY_NUMBER}\b(?!:)(?:,? {_YEAR}\b)?", re.IGNORECASE)
_MONTH_YEAR = re.compile(rf"\b{_MONTH},?(?: of)? {_YEAR}\b", re.IGNORECASE)
# "may", "march" and "mar" alone are words; "in May" is a month.
_MONTH_ALONE = re.compile(
    rf"\b(?:in|during|since|last|this|of|by|until) {_MONTH}(?= |$|[?,.!;])", re.IGNORECASE
)
_YEAR_ALONE = re.compile(rf"\b(?:in|during|of) {_YEAR}\b", re.IGNORECASE)

_HOW_MANY = rf"(?P<count>\d{{1,3}}|{'|'.join(_NUMBERS)})"
_UNITS = r"(?P<unit>day|week|month|year)s?"
_NEAR = re.compile(
    r"\b(?:(?P<before>(?:the )?day before yesterday)|(?P<near>yesterday|today|tonight))\b", re.IGNORECASE
)
_PAST_UNIT = re.compile(
    r"\b(?P<which>last|this|past|previous) (?P<unit>week|weekend|month|year|quarter)\b", re.IGNORECASE
)
_PAST_MANY = re.compile(rf"\b(?:last|past|previous) {_HOW_MANY} {_UNITS}\b", re.IGNORECASE)
_SPAN_AGO = re.compile(rf"\b{_HOW_MANY} {_UNITS} ago\b", re.IGNORECASE)
_SPAN_WEEKDAY = re.compile(rf"\b(?:last|on|this|since) (?P<weekday>{'|'.join(_WEEKDAYS)})\b", re.IGNORECASE)


def named_days(text: str, most: int = 1_000) -> Iterator[Span]:
    """Yields the days and months that a text names with their year, at most `most`."""
    # Nearly all texts name none, and each look takes ten times as long as the one before it.
    if not ("20" in text or "19" in text) or not _ANY_YEAR.search(text):
        return iter(())
    return islice(_absolute(text, None), most)


def asked_days(question: str, today: date) -> tuple[Span, ...]:
    """Lists the spans of days that a question names, counted from `today` where it counts from there.

    A month or day without a year is the last one that has begun. What is unclear by a few days ("two weeks
    ago") is a span of all the days it may mean.
    """
    return tuple(dict.fromkeys((*_absolute(question, today), *_relative(question, today))))


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
    for match in _SPAN_AGO.finditer(text):
        length = _LENGTH[match["unit"].lower()]
        back = length * _count(match["count"])
        yield _days(today, back + length // 2, back - length // 2)
    for match in _SPAN_WEEKDAY.finditer(text):
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
