"""The facts of daily logs that a dream is given to make memories of."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gitmem.dream.settled import Waiting
from gitmem.engines.engine import Observation
from gitmem.guard.text import counted, one_line
from gitmem.memory.account import line_key
from gitmem.memory.daily import LogLine

MOST_LINES = 100
"""Facts of one dream, the oldest: as many as a person looks through one by one. The next one goes on."""

_SHOWN = 100


def proposable(waiting: Waiting, proposed: Collection[str]) -> dict[str, LogLine]:
    """The facts that an engine is given.

    Args:
        proposed: keys of changes that wait for a person already.
    """
    fresh = ((ref, line) for ref, line in waiting.lasting.items() if line_key(ref) not in proposed)
    return dict(entry for entry, _ in zip(fresh, range(MOST_LINES), strict=False))


def left_out(waiting: Waiting, proposed: Collection[str]) -> Iterator[Observation]:
    """What is told of the facts that no memory is made of, this time or at all."""
    more = sum(line_key(ref) not in proposed for ref in waiting.lasting) - MOST_LINES
    if more > 0:
        yield Observation("log", f"{counted(more, 'more fact')} of daily logs wait for another dream")
    for ref, line in waiting.passing.items():
        yield Observation("log", f"it only mattered on its day: “{one_line(line.text, _SHOWN)}”", (ref,))
