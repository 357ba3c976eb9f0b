"""Rules of a general kind inside long sentences: who types fast joins clauses by commas alone.

Read by mood, not by topic: a prohibition without a definite object, or an obligation on things of a kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gitmem.engines.offline.vocabulary import WORK

_SPLIT = re.compile(r"(?:,|;| --| [-–—]|:)\s+| ?[()]\s*|\s+(?=(?:but|however|so)\s)|(?<=[a-z])\. ")
_OPENING = re.compile(
    r"^(?:(?:and|but|so|as(?= (?:this|it|we|our|the)\b)|since|because|given that|also|then|just|please"
    r"|pls|ok|okay|wait|yes|no,"
    r"|however|again|note that|note|finally|lastly)"
    r"[,:]? )+"
)
_LETS = re.compile(r"^(?:let's|lets|let us) (?=(?:not|never|do not|don't)\b)")
_PROHIBITS = re.compile(
    r"^(?:do not|don't|never|not ever|avoid) (?!\w+ed\b|worry|bother|mind|know|think|forget|care"
    r"|have to|need"
    r"|you\b|we\b|see"
    r"|like|want|be\b|get\b|let\b|stop\b)[a-z-]+\b"
    r"|^no (?:more )?(?!problem|idea|worries|need|thing|one|point|longer|way|doubt|difference)[a-z-]+ing\b"
)
_OBLIGES = re.compile(
    r"^(?P<subject>(?:all |any |every |each |no |our |most )?(?!(?:the|this|that|these|those|it|they"
    r"|there|i|you|we|he"
    r"|she|what|which|how|if|when|where|why|who|maybe|write|add|make|create|update|use|run|check|put"
    r"|let|ensure|everything|something|as|since|because|after|before"
    r"|once|a|an"
    r"|one|my|your|its|their)\b)[a-z][\w/-]*(?: [\w/()-]+){0,7}?)"
    r" (?:should|must|shall|has to|have to|needs to|need to|may not|can't|cannot) (?:always |never |not "
    r"|only |also )?"
    r"(?!be (?:done|fixed|able|good|fine|ok|possible|enough|larger|smaller|bigger|more|clear|easy)\b"
    r"|work now|have"
    r" been)[a-z]+"
)
_ABOUT_ONE = re.compile(
    r"\b(?:this|that|these|those|it|them|here|there|yet|now|again|above|below|another|instead|anything"
    r"|ones?|line \d+)\b"
    r"|\bthe (?:following|above|last|first|next|previous|other|new|old|right|left|top|bottom)\b"
    r"|^(?:do not|don't|never|avoid) [a-z-]+(?: \w+)? (?:the|my|your|his|her|their)\b"
    r"|^(?:do not|don't) (?:write|implement|change|modify|fix|edit|start|run|build|do)(?: any)? (?:code"
    r"|more)\b"
)
_NAMES_CODE = re.compile(
    r"\b[a-z]+(?:[A-Z][a-z]+)+\b|\b(?:[A-Z][a-z]+){2,}\b|\b\w+\(\)|(?<!\w)--?\w[\w-]*|\b\w+_\w+\b"
    r"|[\w-]+/[\w-]+/"
)
# Things of the trade, of which one speaks when laying down how to work; other things are the product's.
_OF_THE_TRADE = re.compile(WORK.replace(r"|tables?|lists?", "").replace(r"|state|sql", "|sql"))
_PLURAL = re.compile(
    r"^(?:all|any|every|each|no|most|our)\b|\b(?!this\b|is\b|as\b|\w*ss\b)[a-z-]{3,}s\b|^(?:code|testing)\b"
)
_NOBODY_NEEDS = re.compile(r"^no need\b")
SHORTEST, LONGEST = 3, 24


def clauses(masked: str) -> Iterator[tuple[int, int]]:
    """Splits a sentence where its parts are joined by commas, dashes or "but", without their opening words.

    Args:
        masked: a sentence as given by `sentences.masked`.

    Yields:
        where each clause begins and ends.
    """
    at = 0
    bounds = [*((m.start(), m.end()) for m in _SPLIT.finditer(masked)), (len(masked), len(masked))]
    for end, following in bounds:
        opening = _OPENING.match(masked[at:end])
        yield at + (opening.end() if opening else 0), end
        at = following


def laid_down(text: str, masked: str) -> str:
    """Says whether a clause lays down something of a general kind.

    Args:
        text: one clause.
        masked: the same, as given by `sentences.masked`.

    Returns:
        what a reviewer reads as a label; empty where it is about one thing, or lays nothing down.
    """
    lets = _LETS.match(masked)
    core = masked[lets.end() :] if lets else masked
    words = core.rstrip(" .!").split()
    if not SHORTEST <= len(words) <= LONGEST or "?" in core or _ABOUT_ONE.search(core.rstrip(" .!")):
        return ""
    if _NAMES_CODE.search(text):
        return ""
    if _PROHIBITS.match(core):
        return "what not to do"
    obliges = _OBLIGES.match(core)
    if (
        obliges
        and _PLURAL.search(obliges["subject"])
        and _OF_THE_TRADE.search(obliges["subject"])
        and not _NOBODY_NEEDS.match(core)
    ):
        return "what has to be"
    return ""
