"""Whether one claim says all that another says, proved from the words and not from a likeness.

Two sentences are the same where the same words stand in the same order, endings, articles and the like
apart; or where a phrase without a negation or a direction moved as a whole. One claim is contained in
another where all of its sentences are there, and what the other adds takes nothing back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gitmem.memory.claim import Claim
from gitmem.memory.dates import relative_dates
from gitmem.memory.facts import NEGATIONS, NUMBER_WORDS, lacking, stem

MIN_WORDS = 3
"""Words that count which a claim needs before it may be called a duplicate: shorter ones mean too much."""

COVERED = 0.6
"""Share of a description that a claim must say itself to mean the same in another memory."""

NOT = "\0not"

_TOKEN = re.compile(
    r"[a-z][a-z0-9+.-]*://[^\s<>)\]]+|\[\[[^\]\n]+\]\]|`+[^`]+`+|[~./]*[\w@-]+(?:[/.:@_-]+\w+)+|\d+(?:[.,]\d+)*%?\w*"
    r"|[^\W\d_]+['’][^\W\d_]+|\w+",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    r"(?<=[.!?;:])[\s*_)\"”]+|\n+|\s+[—–]\s+|\s+--?\s+|,?\s+(?=because\b)|,\s+(?=since\b)", re.IGNORECASE
)
# Articles, forms of "to be", address and emphasis: a rule is the same with and without them.
_FILLERS_WORDS = """
    a an the is are be been being that which we you us our please also just really very simply
    always must should shall of in on at for and do does
"""
_FILLERS = frozenset(_FILLERS_WORDS.split())
# Words that give the words around them a side: with one of these, order is meaning.
_DIRECTIONS_WORDS = """
    over instead than rather before after from to into onto by until till unless if when while
    once since versus vs not either or above below under replaces replace depends depend calls
    call
"""
_DIRECTIONS = frozenset(map(stem, _DIRECTIONS_WORDS.split()))
# What takes back a part of what was said before it.
_RESTRICTIONS_WORDS = """
    but only however except unless until besides although though instead otherwise exception
    exceptions deprecated obsolete outdated wrong superseded anymore longer formerly previously
    unlike
"""
_RESTRICTIONS = frozenset(map(stem, _RESTRICTIONS_WORDS.split()))
_NEGATIONS = frozenset(map(stem, NEGATIONS)) | {NOT}
_TAGGED = re.compile(r"^ {0,3}\*\*(?:Why|How(?: to apply)?)\b", re.IGNORECASE)
_PLAIN_ITEM = re.compile(r"^ {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]+")
_BLOCK = re.compile(
    r"^ {0,3}(?:#{1,6}(?:\s|$)|`{3,}|~{3,}|\||>|<|\[[^\]]+\]:|[-*_=]{3,}\s*$| {4})", re.MULTILINE
)
_NESTED = re.compile(r"\n[ \t]+(?:[-+*]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True)
class Said:
    """What a claim says.

    Attributes:
        sentences: its sentences in a form in which equal ones are equal.
        words: stems of all words that count.
        plain: the claim is one paragraph or list item whose sentences can stand for themselves.
        dated: it speaks of a day that depends on when it was said, and does not say which.
    """

    sentences: frozenset[tuple[str, ...]]
    words: frozenset[str]
    plain: bool
    dated: bool


def is_tagged(claim: Claim) -> bool:
    """Whether it is a Why or a How to apply, which means nothing without the claim before it."""
    return _TAGGED.match(claim.text) is not None


@lru_cache(maxsize=16_384)
def said(text: str) -> Said:
    """Reads a claim's text."""
    bare = _PLAIN_ITEM.sub("", text)
    parts = [sequence(part) for part in _SENTENCE.split(bare)]
    sentences = frozenset(_canonical(part) for part in parts if part)
    found = frozenset(word for part in parts for word in part if word != NOT)
    leads_in = bare.rstrip(" *_").endswith(":")
    plain = not (
        leads_in or _BLOCK.search(bare) or _NESTED.search(text) or _TAGGED.match(bare) or "\0" in text
    )
    dated = bool(relative_dates(text))
    return Said(sentences, found, plain and not dated and sum(map(len, parts)) >= MIN_WORDS, dated)


def sequence(text: str) -> tuple[str, ...]:
    """The words of a sentence that count, in order: stems, negations as one sign, code as written."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.replace("’", "'")
        lower = word.casefold()
        if lower in ("can't", "cannot"):
            found += ["can", NOT]
        elif lower.endswith("n't") or lower in ("not", "never", "no"):
            found.append(NOT)
        elif lower in NUMBER_WORDS:
            found.append(NUMBER_WORDS[lower])
        elif (
            word[0] in "`[" or not word.replace("'", "").isalpha() or not (lower == word or word.istitle())
        ):
            found.append(word.strip("`"))
        elif lower not in _FILLERS:
            found.append(stem(lower))
    return tuple(found)


def holds(target: Claim, source: Claim) -> bool:
    """Whether the target says all that the source says, so that the source may go."""
    if target.key == source.key:
        return not said(source.text).dated
    mine, other = said(source.text), said(target.text)
    if not (mine.plain and other.plain and mine.sentences <= other.sentences):
        return False
    added = frozenset(word for part in other.sentences - mine.sentences for word in part)
    if added & (_RESTRICTIONS | _NEGATIONS):
        return False
    return not lacking(source.key, target.key)


def _canonical(words: tuple[str, ...]) -> tuple[str, ...]:
    """One form for all sentences in which a phrase merely moved from the front to the end."""
    if len(words) < MIN_WORDS or (_DIRECTIONS | _NEGATIONS) & set(words):
        return words
    return min(words[at:] + words[:at] for at in range(len(words)))
