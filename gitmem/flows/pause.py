"""When a person did not want to be learned from: `pause` and `unpause`, as hooks and the worker read it.

One file, `<common git dir>/gitmem/pauses.json`: `{"version": 1, "pauses": [[from, until], …]}`, in epoch
seconds; `until` is null while nobody has said when it ends. What was said within one is never extracted, so
intervals stay after their end. Here is the standard library alone: hooks import it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

from gitmem.ledger.files import read_regular, replace_file
from gitmem.values import dataclass

FILE = "pauses.json"
KEPT = 500
"""Pauses that are told apart; beyond, the oldest two become one that spans both."""

_BYTES = 1024 * 1024
_VERSION = 1
_EVER = (0.0, None)


@dataclass(frozen=True)
class Pause:
    """A stretch of time out of which nothing is learned.

    Attributes:
        start, end: epoch seconds; the end does not belong to it, and is None where it is open.
    """

    start: float
    end: float | None = None

    def covers(self, moment: float) -> bool:
        """Whether a moment (epoch seconds) lies in it."""
        return self.start <= moment and (self.end is None or moment < self.end)

    def as_value(self) -> dict[str, str | None]:
        """The JSON form: ISO 8601, UTC."""
        from gitmem.core.text import iso  # a verb asks for it; hooks do not wait for what it loads

        return {"since": iso(self.start), "until": None if self.end is None else iso(self.end)}


def intervals(state: Path) -> tuple[Pause, ...]:
    """All pauses, oldest first.

    A file that cannot be read counts as one pause without beginning or end: better to learn nothing than
    what somebody said in confidence.

    Args:
        state: `<common git dir>/gitmem`.
    """
    try:
        found = read_regular(state / FILE, _BYTES)
    except OSError:
        return (Pause(*_EVER),)
    if found is None:
        return ()
    try:
        value = json.loads(found[0])
        if value["version"] != _VERSION:
            return (Pause(*_EVER),)
        return tuple(sorted((_pause(*pair) for pair in value["pauses"]), key=lambda one: one.start))
    except (ValueError, TypeError, KeyError, RecursionError):
        return (Pause(*_EVER),)


def current(state: Path, now: float) -> Pause | None:
    """The pause that holds at a moment (epoch seconds), of several the one that ends last."""
    held = [one for one in intervals(state) if one.covers(now)]
    return max(held, key=lambda one: math.inf if one.end is None else one.end, default=None)


def paused(state: Path, now: float) -> bool:
    """Whether nothing may be learned at a moment (epoch seconds)."""
    return current(state, now) is not None


def said_in_pause(pauses: Iterable[Pause], said: float | None, now: float) -> bool:
    """Whether something was said while nothing was to be learned.

    Args:
        said: when; where that is unknown, it counts as said now.
    """
    return any(one.covers(now if said is None else said) for one in pauses)


def pause(state: Path, now: float, until: float | None = None) -> Pause:
    """Begins a pause, or gives the one that holds another end.

    Args:
        until: epoch seconds; None for no end.

    Returns:
        the pause that holds now.

    Raises:
        OSError: it cannot be written.
    """
    known = intervals(state)
    held = [one for one in known if one.covers(now)]
    made = Pause(min([one.start for one in held], default=now), until)
    _write(state, [*(one for one in known if one not in held), made])
    return made


def unpause(state: Path, now: float) -> Pause | None:
    """Ends the pause that holds.

    Returns:
        that pause as it was; None where none holds.

    Raises:
        OSError: it cannot be written.
    """
    held = current(state, now)
    if held is not None:
        known = intervals(state)
        _write(state, [Pause(one.start, now) if one.covers(now) else one for one in known])
    return held


def _write(state: Path, pauses: Iterable[Pause]) -> None:
    joined: list[Pause] = []
    for one in sorted(pauses, key=lambda one: one.start):
        last = joined[-1] if joined else None
        if last is not None and (last.end is None or one.start <= last.end):
            joined[-1] = _spanning(last, one)
        else:
            joined.append(one)
    while len(joined) > KEPT:
        joined[:2] = [_spanning(joined[0], joined[1])]
    value = {"version": _VERSION, "pauses": [[one.start, one.end] for one in joined]}
    state.mkdir(parents=True, exist_ok=True)
    replace_file(state / FILE, (json.dumps(value) + "\n").encode("ascii"), 0o600)


def _spanning(first: Pause, second: Pause) -> Pause:
    ends = (first.end, second.end)
    return Pause(first.start, None if None in ends else max(filter(None, ends), default=first.start))


def _pause(start: object, end: object) -> Pause:
    for one in (start, end):
        if isinstance(one, bool) or not isinstance(one, int | float | None) or not math.isfinite(one or 0):
            raise TypeError("not a time")
    if start is None:
        raise TypeError("not a time")
    return Pause(start, end)  # type: ignore[arg-type]
