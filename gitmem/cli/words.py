"""How commands say when and by whom, and text that JSON can hold."""

from __future__ import annotations

from datetime import UTC, datetime

from gitmem.core.text import iso
from gitmem.flows.values import aside_hint, place_value, sound

__all__ = ["DAY", "age", "aside_hint", "day", "iso", "place_value", "sound"]

DAY = 86_400


def day(time: float) -> str:
    """A moment for a person: date and minute in their time zone."""
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def age(time: float, now: float) -> str:
    """How long ago, in one word or two.

    Args:
        time, now: seconds since the epoch; a `time` of 0 is unknown.
    """
    if not time:
        return "unknown"
    days = int(max(0, now - time) // DAY)
    if days == 0:
        return "today"
    for count, unit in ((days // 365, "year"), (days // 30, "month"), (days, "day")):
        if count >= (2 if unit != "day" else 1):
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{days} days"
