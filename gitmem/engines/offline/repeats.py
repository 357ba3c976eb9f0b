"""What a later statement of a session is to an earlier one: a repeat, a correction, or another one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gitmem.engines.offline.likeness import Gist, near, same, words

_AGAIN = re.compile(
    r"^(?:and |but |so )*(?:as |like )?(?:i(?:'ve| have)?(?: already)? (?:said|told you|mentioned)"
    r"(?: before)?|again|once more)[,:]?(?: that)? ",
    re.I,
)
_WORD = re.compile(r"[^\W_]+(?:['.:/-][^\W_]+)*|[+#]+")
_LIGHT_WORDS = "a an the please just really that here is are was were be been ok"
_LIGHT = frozenset(_LIGHT_WORDS.split())
_CUES = frozenset(words("actually sorry correction rather instead meant"))
# Words that take something back. Without one of them two statements are two statements.
_TAKES_BACK = re.compile(
    r"^(?:(?:oh|ah|ok|okay|wait|hm+|and|but|well)[,.!]* )*"
    r"(?:actually|no|nope|sorry|correction|scratch that|on second thoughts?|my mistake|my bad|i mean"
    r"|rather)\b|\bi meant\b|\bi (?:misspoke|was wrong)\b|\bthat was wrong\b|\binstead\b(?! of)"
    r"|(?<!\w)not [^,.;]+,? but (?!only\b)|, not [^,.;]+[.!]*$",
    re.I,
)


@dataclass(frozen=True)
class Stated:
    """A statement found earlier in the session.

    Attributes:
        text: the statement, without reason and use.
        asked: it was plainly asked to be remembered.
    """

    text: str
    gist: Gist
    asked: bool


@dataclass(frozen=True)
class Earlier:
    """Which earlier statement a new one bears on, by place, and how."""

    at: int
    how: Literal["repeats", "completes", "corrects"]


def takes_back(sentence: str, before: str = "") -> bool:
    """Says whether a sentence, or a short one before it ("No, wait."), plainly corrects something."""
    plain, ahead = sentence.replace("’", "'"), before.replace("’", "'")
    return bool(
        _TAKES_BACK.search(plain) or (len(ahead.split()) <= SHORT_CUE and _TAKES_BACK.search(ahead))
    )


SHORT_CUE = 4
"""Words of a sentence that is nothing but a cue, at most."""


def earlier(new: Stated, found: Sequence[Stated], *, corrects: bool) -> Earlier | None:
    """Finds the one earlier statement that a new one says again, completes or corrects.

    What was asked to be remembered is dropped only where the very same words were said before: likeness
    takes "number 4 is Ann's" for "number 5 is Ben's". A correction needs its cue, and one subject alone
    that it can be about.

    Args:
        found: statements of this session so far, in order.
        corrects: the new one carries a cue (`takes_back`).
    """
    tokens = _tokens(new.text)
    for at, old in enumerate(found):
        if tokens == _tokens(old.text):
            return Earlier(at, "repeats")
    for at, old in enumerate(found):
        if new.text.startswith(old.text) and not old.asked:
            return Earlier(at, "completes")
        if not (new.asked or old.asked) and _likely_the_same(new.gist, old.gist):
            return Earlier(at, "completes" if same(old.gist, new.gist) else "repeats")
    if corrects:
        subjects = [at for at, old in enumerate(found) if _same_subject(new.gist, old.gist)]
        if len(subjects) == 1:
            return Earlier(subjects[0], "corrects")
    return None


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    """All that could tell two statements apart: words and numbers in order, without articles."""
    plain = _AGAIN.sub("", text.replace("’", "'"))
    return tuple(w for w in (found.lower() for found in _WORD.findall(plain)) if w not in _LIGHT)


def _likely_the_same(new: Gist, old: Gist) -> bool:
    if not near(new, old) or new.numbers != old.numbers:
        return False
    contained = new.words <= old.words or old.words <= new.words
    return contained and (same(new, old) or same(old, new))


def _same_subject(new: Gist, old: Gist) -> bool:
    """One thing is said otherwise: a number, a yes or no, or a name; where more differs, it is another."""
    if new.words - _CUES == old.words - _CUES:
        return True
    if new.numbers != old.numbers or new.negative != old.negative:
        return False
    return near(new, old)
