"""Whether one claim says all that another says, proved from the words and not from a likeness.

Two sentences are the same where the same words stand in the same order, articles and the like apart; or
where a phrase that opens one of them ("In CI, …") stands at the end of the other. One claim is contained in
another that begins with all of its sentences, in their order, and goes on without taking anything back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from gitmem.core.claim import Claim, with_dispute
from gitmem.core.dates import relative_dates
from gitmem.core.facts import lacking
from gitmem.engines.offline.consolidating.words import NEGATED, NOT, forms, sequence

MIN_WORDS = 3
"""Words that count which a claim needs before it may be called a duplicate: shorter ones mean too much."""

PHRASE = 8
"""Words of the longest phrase that may move from the front of a sentence to its end."""

_SENTENCE = re.compile(r"(?<=[.!?])[\s*_)\"”]+(?=[^\W_a-z]|[`\"“(\[])|,?\s+(?=because\b)")
_FRONT = re.compile(r"(?P<phrase>[^,;:()]+),\s+(?P<rest>[^,;:()—–]+)")
_MOVING = forms("in on at for during under with without within by")
# Where one of these stands in the rest of a sentence, a phrase at its end may belong to a part of it alone.
_JOINING = forms(
    "and or but nor we they he she i who whose where when whenever while if unless until because"
    " since so as than then before after only not " + NOT
)
# What takes back, narrows or puts off a part of what was said before it.
_RESTRICTIONS = forms(
    "but only however except unless until besides although though instead otherwise exception"
    " exceptions deprecated obsolete outdated wrong superseded anymore longer formerly previously"
    " unlike if when whenever where while apply applies valid limited optional skip sometimes mostly"
    " usually often temporarily maybe perhaps probably planned todo might may could should then"
)
_EMPHATIC = re.compile(r"\balways\b", re.IGNORECASE)
# "that" is no word that counts elsewhere; "to" before a verb opens a clause of its own.
_CLAUSE = re.compile(r"\b(?:that|which)\b|\bto (?!(?:the|a|an|its|our|their)\b)[a-z]", re.IGNORECASE)
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
        sentences: its sentences in order, each in a form in which equal ones are equal.
        words: all words that count.
        plain: the claim is one paragraph or list item whose sentences can stand for themselves.
        dated: it speaks of a day that depends on when it was said, and does not say which.
    """

    sentences: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    plain: bool
    dated: bool


def is_tagged(claim: Claim) -> bool:
    """Whether it is a Why or a How to apply, which means nothing without the claim before it."""
    return _TAGGED.match(claim.text) is not None


@lru_cache(maxsize=65_536)
def said(text: str) -> Said:
    """Reads a claim's text."""
    unmarked = with_dispute(text, "") if "(disputed " in text else text
    bare = _PLAIN_ITEM.sub("", unmarked)
    flat = " ".join(bare.split())
    sentences = tuple(found for found in map(_canonical, _SENTENCE.split(flat)) if found)
    found = frozenset(word for part in sentences for word in part if word != NOT)
    leads_in = flat.rstrip(" *_").endswith((":", "?"))
    plain = not (
        leads_in or _BLOCK.search(bare) or _NESTED.search(text) or _TAGGED.match(bare) or "\0" in text
    )
    dated = bool(relative_dates(text))
    return Said(sentences, found, plain and not dated and sum(map(len, sentences)) >= MIN_WORDS, dated)


def holds(target: Claim, source: Claim) -> bool:
    """Whether the target says all that the source says, so that the source may go."""
    if target.key == source.key:
        return not said(source.text).dated
    mine, other = said(source.text), said(target.text)
    if not (mine.plain and other.plain and other.sentences[: len(mine.sentences)] == mine.sentences):
        return False
    added = frozenset(word for part in other.sentences[len(mine.sentences) :] for word in part)
    if added & (_RESTRICTIONS | NEGATED):
        return False
    if len(_EMPHATIC.findall(source.key)) > len(_EMPHATIC.findall(target.key)):
        return False
    return not lacking(source.key, target.key)


def _canonical(sentence: str) -> tuple[str, ...]:
    """One form for a sentence and for the one in which its opening phrase stands at the end."""
    match = _FRONT.fullmatch(sentence.strip().rstrip(".!"))
    if match and not _CLAUSE.search(sentence):
        phrase, rest = sequence(match["phrase"]), sequence(match["rest"])
        opens = bool(phrase) and phrase[0] in _MOVING and 1 < len(phrase) <= PHRASE
        if opens and not _JOINING & {*phrase[1:], *rest[1:]} and len(rest) >= MIN_WORDS - 1:
            return rest + phrase
    found = sequence(sentence)
    if found[:1] == ("use",) and found.count("in") == 1 and not (_JOINING | NEGATED) & set(found):
        # "Use the database in tests" is "Tests use the database".
        at = found.index("in")
        return found[at + 1 :] + found[:at]
    return found
