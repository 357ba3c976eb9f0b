"""The facts of daily logs that a dream is given to make memories of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from gitmem.core.account import line_key, path_of
from gitmem.core.daily_log import LogLine
from gitmem.core.merge import agent_folder
from gitmem.core.text import counted, one_line
from gitmem.dream.settled import Sayings, Waiting
from gitmem.engines.engine import Observation
from gitmem.ledger.dreams import DreamCommit

MOST_LINES = 100
"""Facts of one dream, the oldest: as many as a person looks through one by one. The next one goes on."""

_SHOWN = 100


def undecided(waiting: Waiting, changes: Sequence[DreamCommit]) -> Waiting:
    """The facts that wait without the lasting ones that a person is asked about already.

    Args:
        changes: what dreams that wait propose: it may be made of a line, or say the same.
    """
    keys = frozenset(key for change in changes for key in change.keys)
    made = [change.files for change in changes if any(story.line for story in change.claims)]
    files = {path: new for pairs in made for path, (_, new) in pairs.items() if new is not None}
    said = Sayings.of(files, frozenset(map(agent_folder, files)))
    lasting = {
        ref: line
        for ref, line in waiting.lasting.items()
        if line_key(ref) not in keys and not said.hold(agent_folder(path_of(ref)), line.text)
    }
    return replace(waiting, lasting=lasting)


def proposable(waiting: Waiting) -> dict[str, LogLine]:
    """The facts that an engine is given."""
    return dict(islice(waiting.lasting.items(), MOST_LINES))


def left_out(waiting: Waiting) -> Iterator[Observation]:
    """What is told of the facts that no memory is made of, this time or at all."""
    more = len(waiting.lasting) - MOST_LINES
    if more > 0:
        yield Observation("log", f"{counted(more, 'more fact')} of daily logs wait for another dream")
    for ref, line in waiting.passing.items():
        yield Observation("log", f"it only mattered on its day: “{one_line(line.text, _SHOWN)}”", (ref,))
