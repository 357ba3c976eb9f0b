"""Two memories on one thing: which to show; likeness proposes, the words decide.

Of two that say the same, the fresher or fuller is shown. Of two where the later says that it amends what
was decided, the later is shown first, and the earlier with the word that it was amended: nothing says for
sure that all of it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations

from gitmem.search.query import Candidate

LEAST_WORDS = 3
"""Words that count which a text needs before it is compared: shorter ones mean too much."""

HALF_A_DAY = 43_200
"""Seconds; of two that were taught closer together neither is the fresher."""

AMENDS = 2.28
"""How much a later memory must be like an earlier one (`gate.likeness`, the earlier one's text as the
question). Set on 92 chats, each as a whole and by its last long turn: five of eight amendments are more
alike, and no pair passes that amends nothing."""

ASKED_CHARS = 1_500
"""Characters of a memory's text that later ones are sought by."""

_SHARED = 0.5
# What says that something decided before holds no more. "Instead of", "used to" and "drop" stand anywhere.
_AMENDING = re.compile(
    r"\b(?:amend(?:s|ed|ing|ment|ments)?|supersed(?:e|es|ed|ing)|overrul(?:e|es|ed|ing)|revers(?:e|es|ed|al)"
    r"|replac(?:e|es|ed)|revis(?:e|es|ed|ion)|no longer|from now on|(?:not|n['’]t) \w+ any ?more|anymore"
    r"|switch(?:ed|ing)? (?:over )?from|(?:mov|migrat)(?:ed|ing) (?:away )?from)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")


def headed_alike(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Puts of any two whose descriptions say the same the fresher, else the one that says more, first.

    A memory comes before a line of a log whatever their age: it is where what was said has become one.

    Args:
        candidates: best first.

    Returns:
        The same ones.
    """
    found = list(candidates)
    for at, later in combinations(range(len(found)), 2):
        first, second = found[at], found[later]
        fresher = second.time - first.time
        longer = len(second.description) > len(first.description)
        better = fresher >= HALF_A_DAY or (abs(fresher) < HALF_A_DAY and longer)
        if (second.kind == "memory" if first.kind != second.kind else better) and (
            _holds(first.description, second.description) or _holds(second.description, first.description)
        ):
            found[at], found[later] = second, first
    return tuple(found)


def said_by(body: str, others: Iterable[str]) -> int | None:
    """Which of other bodies says all that one says: no number, name or negation is missing from it.

    Returns:
        Its place among them; None where none does.
    """
    return next((at for at, other in enumerate(others) if _holds(other, body)), None)


def amends(text: str) -> bool:
    """Whether a text says that something decided before holds no more."""
    return _AMENDING.search(text) is not None


def _holds(known: str, new: str) -> bool:
    """Whether a text says all that another says."""
    words, other = _words(new), _words(known)
    if len(words) < LEAST_WORDS or len(words & other) < _SHARED * len(words):
        return False
    from gitmem.engines.offline.likeness import gist, same  # takes longer to import than to use

    mine = gist(new)
    return len(mine.words) >= LEAST_WORDS and same(mine, gist(known))


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    # Of fifty candidates each is compared with each.
    return frozenset(_WORD.findall(text.lower()))
