"""What a rewording adds: facts, or a whole statement, that nothing before it had.

A dream may say again what is there, in other words; what it adds it has made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date

from gitmem.memory.dates import relative_dates
from gitmem.memory.facts import is_negation, lacking, stem

_DATE = re.compile(r" \((\d{4}-\d{2}-\d{2})\)")
_WORD = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")

# Words that stand in any sentence, whatever it is about.
_COMMON_WORDS = """
    a about after again all also always an and any are as at be because been before behind being but
    by can could did do does doing done each else even ever every for from had has have he her here
    his how if in into is it its just keep like made make may more most much must need new of off on
    once one only or other our out over own put same see set she should so some still such than that
    the their them then there these they this those through to too under until up us use used using
    very was we were what when where which while who why will with within would yet you your
"""
_COMMON = frozenset(map(stem, _COMMON_WORDS.split()))

KIN = 3
"""One in so many words that say what a claim is about must stand in what takes its place."""

NEW = 2
"""One in so many of them, in a claim that took no other's place, must have stood somewhere before."""


def added(new: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Names the facts of a claim that none of its sources has, each as a phrase for a person.

    Args:
        new: the claim, its dates by `undated` taken out.
        sources: claims that it was made of, and those that stood around it.
    """
    return lacking(new, "\n\n".join(sources))


def undated(text: str, days: Mapping[str, date] | None = None) -> str:
    """A claim without the dates that are written behind relative phrases.

    Args:
        days: relative phrase to the day it means, where that is known: another date stays.
    """
    parts: list[str] = []
    dates: list[tuple[int, str]] = []
    at = length = 0
    for match in _DATE.finditer(text):
        parts.append(text[at : match.start()])
        length += len(parts[-1])
        dates.append((length, match[1]))
        at = match.end()
    if not dates:
        return text
    plain = "".join([*parts, text[at:]])
    phrases = {phrase.end: phrase.text for phrase in relative_dates(plain)}
    kept: list[str] = []
    at = 0
    for end, day in dates:
        phrase = phrases.get(end)
        meant = (days or {}).get(phrase) if phrase is not None else None
        kept.append(plain[at:end])
        if phrase is None or (meant is not None and meant.isoformat() != day):
            kept.append(f" ({day})")
        at = end
    return "".join([*kept, plain[at:]])


def akin(source: str, target: str) -> bool:
    """Whether a text can stand for another: some of the words that say what that is about are in it.

    A claim without numbers and names lacks no fact in any other claim; it is not said there all the same.
    """
    words, there = _about(source), _about(target)
    return source == target or not words or KIN * len(words & there) >= len(words)


def unheard(new: str, sources: Iterable[str]) -> bool:
    """Whether most of what a claim is about stands in none of these texts."""
    words = _about(new)
    known = frozenset().union(*map(_about, sources))
    return NEW * len(words & known) < len(words)


def _about(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text) if not is_negation(word))
    return frozenset(map(stem, words)) - _COMMON
