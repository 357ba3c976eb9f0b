"""Symbols and flags that HEAD lacks and the code had when memories were taught, for thousands of memories.

Recall asks about each memory's own moment. Here a few former commits are asked about all missing words
first, and only what one of them had is looked up at the moment itself: a word that the code had only
between two of these is not told of, and none is told of that was never there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from gitmem.core.references import Finding, Named
from gitmem.integrations.code_looks import LISTING, Looker
from gitmem.integrations.code_now import DAY

SAMPLES = 6
"""Former commits that are asked about all missing words."""

NAMES = 1_500
"""Words in one question: git takes them as arguments."""


def words_gone(look: Looker, asked: Sequence[Named]) -> list[list[Finding]]:
    """Finds out which words were in the code when a memory was taught, or within a day after, and went.

    Args:
        asked: with the words of which HEAD seems to lack some, and when they were taught.

    Returns:
        Findings for each; none where the time ran out.
    """
    nothing: list[list[Finding]] = [[] for _ in asked]
    head = look.head()
    commits = _Commits(look, head) if head else None
    if commits is None:
        return nothing
    then = [commits.of(one.taught) - {head} for one in asked]
    wanted: dict[str, set[str]] = {}
    for one, when in zip(asked, then, strict=True):
        for commit in when:
            wanted.setdefault(commit, set()).update(part for _, parts in one.words for part in parts)
    if len(wanted) > SAMPLES:
        order = sorted(wanted, key=commits.place)
        sample = [order[at * (len(order) - 1) // (SAMPLES - 1)] for at in range(SAMPLES)]
        words = frozenset().union(*wanted.values())
        once = frozenset().union(*(_words(look, commit, words) for commit in sample))
        wanted = {commit: some & once for commit, some in wanted.items() if some & once}
    had = {commit: _words(look, commit, some) for commit, some in wanted.items()}
    gone = [
        [
            (written, parts)
            for written, parts in one.words
            if any(had.get(commit, frozenset()).issuperset(parts) for commit in when)
        ]
        for one, when in zip(asked, then, strict=True)
    ]
    lost = _lacking(look, head, {part for some in gone for _, parts in some for part in parts})
    return [
        [Finding(written, "gone") for written, parts in some if not lost.isdisjoint(parts)] for some in gone
    ]


class _Commits:
    """The commits up to HEAD, newest first, by the time at which they were made."""

    def __init__(self, look: Looker, head: str) -> None:
        seen = look.ask(["rev-list", "--timestamp", head, "--"], LISTING)
        rows = [line.split(" ") for line in seen.text.split("\n")[:-1]]
        self._names = [row[1] for row in rows if len(row) == 2]
        times = [int(row[0]) for row in rows if len(row) == 2]
        # Clocks differ: a commit may be older than the one before it. What counts is the first old enough.
        self._oldest = [-time for time in accumulate(times, min)]
        self._places = {name: at for at, name in enumerate(self._names)}

    def of(self, taught: int) -> set[str]:
        """What the code was when something was taught, and a day later: much is said before it is done."""
        return set(filter(None, (self._at(taught + DAY), self._at(taught)))) if taught else set()

    def place(self, commit: str) -> int:
        """How many commits are newer."""
        return self._places[commit]

    def _at(self, moment: int) -> str:
        at = bisect_left(self._oldest, -moment)
        return self._names[at] if at < len(self._names) else ""


def _words(look: Looker, commit: str, words: Collection[str]) -> frozenset[str]:
    """Which of some words a commit surely has."""
    return frozenset(word for some in _chunks(words) for word in look.words(commit, some)[0])


def _lacking(look: Looker, commit: str, words: Collection[str]) -> frozenset[str]:
    """Which of some words a commit surely lacks."""
    lacking: set[str] = set()
    for some in _chunks(words):
        found, complete = look.words(commit, some)
        lacking |= set(some) - found.keys() if complete else set()
    return frozenset(lacking)


def _chunks(words: Collection[str]) -> Iterator[list[str]]:
    order = sorted(words)
    yield from (order[at : at + NAMES] for at in range(0, len(order), NAMES))
