"""What failed, and how long it rests: one policy for sessions, notes, dreams and the worker's steps.

A model that declines a session, or is cut off in its answer, costs as much as one that works, and would be
asked again at every prompt. So what failed rests, twice as long after each further failure, until it works.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from gitmem.core.text import one_line
from gitmem.ledger.state import Space

Kind = Literal["session", "notes", "dream", "step"]

LONGEST_SECONDS = 86_400.0
"""No rest is longer."""

_WHY = 300


@dataclass(frozen=True)
class RetryPolicy:
    """How long a kind of work rests.

    Attributes:
        borne: failures in a row after which it is tried again as soon as there is an occasion.
        first: seconds of the first rest; each further one is twice as long, up to `LONGEST_SECONDS`.
    """

    borne: int
    first: float

    def rest(self, times: int) -> float:
        """Seconds to wait after so many failures in a row."""
        beyond = times - self.borne
        return min(LONGEST_SECONDS, self.first * 2 ** (min(beyond, 20) - 1)) if beyond > 0 else 0.0


PATIENCE: Mapping[Kind, RetryPolicy] = {
    "session": RetryPolicy(1, 3_600.0),
    "notes": RetryPolicy(1, 3_600.0),
    "dream": RetryPolicy(0, 3_600.0),
    # What git or the disk refuses is often mended within minutes.
    "step": RetryPolicy(1, 300.0),
}


@dataclass(frozen=True)
class Failure:
    """What failed, and was not done since.

    Attributes:
        kind, name: what it is: a session's cursor, a memory ref, a step.
        by: the engine that failed, of which another may do better at once; empty where none is to blame.
        times: how often in a row.
        tried: when it failed last, epoch seconds.
        until: when it may be tried again, epoch seconds.
        why: one line; empty where nobody said.
    """

    kind: str
    name: str
    by: str
    times: int
    tried: float
    until: float
    why: str

    @property
    def told(self) -> str:
        """What it is, for a person: `step sessions`, `dream refs/gitmem/project`, `session … (engine)`."""
        return f"{self.kind} {self.name}" + (f" ({self.by})" if self.by else "")

    def holds(self, now: float) -> bool:
        """Whether it rests; one of a time that is yet to come was noted by a clock that was set back."""
        return self.tried <= now < self.until


_FAILED = Space("failed", 500)


def rest_of(state: Path, kind: Kind, name: str, now: float, by: str = "") -> Failure | None:
    """The failure for which something is to be left alone now; None where it may be tried.

    Args:
        state: folder of the state that it belongs to.
        now: epoch seconds.
        by: who would try; what another engine failed at is not held.
    """
    one = last_failure(state, kind, name)
    return one if one is not None and one.by == by and one.holds(now) else None


def last_failure(state: Path, kind: Kind, name: str) -> Failure | None:
    """The failure since which something was not done; None where there is none."""
    return _parse(f"{kind} {name}", _FAILED.get(state, f"{kind} {name}"))


def note_failure(state: Path, kind: Kind, name: str, now: float, by: str = "", why: str = "") -> None:
    """Notes a failure. Best effort: without the note it is tried again at the next occasion."""
    key = f"{kind} {name}"

    def further(known: Any) -> dict[str, Any]:
        before = _parse(key, known)
        times = before.times + 1 if before is not None and before.by == by else 1
        until = now + PATIENCE[kind].rest(times)
        one = Failure(kind, name, by, times, now, until, one_line(why, _WHY))
        return {key: value for key, value in asdict(one).items() if key not in ("kind", "name")}

    _FAILED.update(state, key, further)


def clear(state: Path, kind: Kind, name: str) -> None:
    """Drops the note of a failure: it went well, or may be tried again."""
    _FAILED.delete(state, f"{kind} {name}")


def of_kind(state: Path, kind: Kind) -> dict[str, Failure]:
    """All failures of a kind, by name, whether or not they rest."""
    found = (_parse(key, value) for key, value in _FAILED.all(state).items())
    return {one.name: one for one in found if one is not None and one.kind == kind}


def forget(state: Path, kind: Kind) -> None:
    """Lets all of a kind be tried again at once: a person asked for it."""
    for name in of_kind(state, kind):
        clear(state, kind, name)


def resting(state: Path, now: float) -> tuple[Failure, ...]:
    """All that is left alone now, the newest failure last."""
    found = (_parse(key, value) for key, value in _FAILED.all(state).items())
    return tuple(one for one in found if one is not None and one.holds(now))


def _parse(key: str, value: Any) -> Failure | None:
    kind, _, name = key.partition(" ")
    with suppress(ValueError, TypeError, KeyError, OverflowError):
        by, why = str(value["by"]), one_line(str(value["why"]), _WHY)
        times, tried, until = int(value["times"]), float(value["tried"]), float(value["until"])
        if math.isfinite(until):
            return Failure(kind, name, by, times, tried, until, why)
    return None
