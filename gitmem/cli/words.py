"""How commands say when and by whom, and text that JSON can hold."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitmem.store.lookup import Found

DAY = 86_400


def day(time: float) -> str:
    """A moment for a person: date and minute in their time zone."""
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def iso(time: float) -> str:
    """A moment for a program: ISO 8601, UTC."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


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


def place_value(found: Found) -> dict[str, object]:
    """Which memory it is, for the `--json` of what changes one."""
    return {
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "name": sound(found.memory.name),
    }


def sound(text: str) -> str:
    """Text that UTF-8 can carry: what was no text in a file is replaced."""
    return text.encode("utf-8", "replace").decode()
