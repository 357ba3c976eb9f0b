"""Points in time as people and data sets write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from gitmem.core.dates import MONTHS

_MONTH = rf"(?P<month>{'|'.join(MONTHS)})[a-z]*\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(rf"(?<!\w){pattern}(?!\w)", re.IGNORECASE)
    for pattern in (
        rf"{_DAY}(?: of)? {_MONTH},? {_YEAR}",
        rf"{_MONTH} {_DAY},? {_YEAR}",
        r"(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})",
    )
)
_CLOCK = re.compile(
    r"(?<![\w:])(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})?"
    r"(?: ?(?P<half>[ap])\.?m\b\.?|(?<=:\d\d)(?![\w:]))",
    re.IGNORECASE,
)
_LATEST = datetime(9999, 1, 1, tzinfo=UTC).timestamp()


def moment(given: object, *, end: bool = False) -> int | None:
    """Reads a time: ISO 8601, epoch seconds, or prose that is clear ("1:56 pm on 8 May, 2023").

    Args:
        given: a value of a JSON line.
        end: whether a day without a time of day means its end, as in `--at`; else its beginning.

    Returns:
        Seconds since the epoch, UTC where no zone is given; None for what names no one moment. So does
        `3/4/2023`: half of the world reads March there.
    """
    if isinstance(given, int | float) and not isinstance(given, bool):
        return int(given) if 0 <= given < _LATEST else None
    if not isinstance(given, str):
        return None
    text = " ".join(given.split())
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        return _in_prose(text, end)
    if re.fullmatch(r"\d{4}-?\d\d-?\d\d", text):
        return _stamp(read, end)
    return _epoch(read)


def _in_prose(text: str, end: bool) -> int | None:
    found = [match for pattern in _DATES for match in pattern.finditer(text)]
    if len(found) != 1:
        return None
    date = found[0].groupdict()
    month = int(date["number"]) if "number" in date else 1 + MONTHS.index(date["month"][:3].lower())
    rest = text[: found[0].start()] + " " + text[found[0].end() :]
    clocks = list(_CLOCK.finditer(rest))
    if len(clocks) > 1:
        return None
    try:
        day = datetime(int(date["year"]), month, int(date["day"]), tzinfo=UTC)
        if not clocks:
            return _stamp(day, end)
        clock = clocks[0]
        hour, minute = int(clock["hour"]), int(clock["minute"] or 0)
        if clock["half"]:
            if not 1 <= hour <= 12:
                return None
            hour = hour % 12 + (12 if clock["half"].lower() == "p" else 0)
        return _epoch(day.replace(hour=hour, minute=minute))
    except ValueError:
        return None


def _stamp(day: datetime, end: bool) -> int | None:
    return _epoch(day + timedelta(hours=23, minutes=59, seconds=59) if end else day)


def _epoch(read: datetime) -> int | None:
    seconds = int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())
    return seconds if seconds >= 0 else None  # git knows no earlier time
