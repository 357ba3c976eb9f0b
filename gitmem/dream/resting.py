"""A dream that failed or was ended is not begun again at once: its note beside the lock says until when.

Without it a worker would ask a model that cannot answer, or whose answer is refused, after every session.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from gitmem.core.text import one_line
from gitmem.dream.lock import lock_folder, read_note
from gitmem.store.record import write_atomically
from gitmem.store.workspace import Scope
from gitmem.values import dataclass

FILE = "failed.json"
FIRST_SECONDS = 3_600.0
"""How long the first failure rests; each further one rests twice as long, a day at most."""

LONGEST_SECONDS = 86_400.0
_BYTES = 4_096
_WHY = 300


@dataclass(frozen=True)
class Rest:
    """What the note says.

    Attributes:
        tried: when the dream ended, epoch seconds.
        times: failures without a dream between them.
        why: what went wrong, one line.
    """

    tried: float
    times: int
    why: str

    @property
    def until(self) -> float:
        """When it may be tried again, epoch seconds."""
        return self.tried + min(LONGEST_SECONDS, FIRST_SECONDS * (1 << min(self.times, 10) - 1))


def rest_of(scope: Scope) -> Rest | None:
    """The note of a scope; None where the last dream went well, or the note is damaged."""
    try:
        fields = json.loads(read_note(_path(scope), _BYTES))
        return Rest(
            float(fields["tried"]), max(1, int(fields["times"])), one_line(str(fields["why"]), _WHY)
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return None


def note_failure(scope: Scope, now: float, why: str) -> None:
    """Notes that a dream failed. Best effort: without the note it is only tried again earlier."""
    before = rest_of(scope)
    times = before.times + 1 if before else 1
    value = {"tried": now, "times": times, "why": one_line(why, _WHY)}
    with suppress(OSError):
        write_atomically(_path(scope), json.dumps(value).encode())


def forget_failures(scope: Scope) -> None:
    """Takes the note away: a dream went well."""
    with suppress(OSError):
        _path(scope).unlink(missing_ok=True)


def _path(scope: Scope) -> Path:
    return lock_folder(scope) / FILE
