"""What is told of what a search found: with a prompt, where nobody asked, and where somebody did.

A candidate is weighed against what any memory here would score: how far its score stands out from those
that the same question gives others, for which a word in a name or description counts more than one deep in
a body; and how much it has of all that was asked, what no memory knows included. Few and right beats many,
and nothing is right where nothing fits. Of two that say the same, the fresher or fuller is shown; of two
where the later says that it amends what was decided, the later first, and the earlier with the word that it
was amended: nothing says for sure that all of it was.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence, Set
from functools import lru_cache
from itertools import combinations
from typing import Literal

from gitmem.search.query import Candidate
from gitmem.search.words import tells
from gitmem.values import dataclass

OTHERS = slice(5, 20)
"""Ranks of the candidates whose scores are what the question gives anything here."""

CHANCE = 0.5
"""Words that a memory has by chance of a question, times the square root of how many are asked. Among 500
memories it is 0.7 for what people typed; so much, where there are few, costs answers of long reports."""

COVERED = 2.0
"""How much it weighs that a memory has all that was asked, against a score e times that of others."""

SHORT = 8
LENGTH = 0.3
"""What it is worth that a question has e times so many terms: nothing has all the words of a long one.

Both, and how they weigh against each other, are a logistic regression over every other prompt of what
`tests/bench/recall_told.py` measures, of DevMemBench and of LoCoMo, each asked also where its answers are
taken out; rounded. How unlikely it is that so many words match by chance told nothing more beside them."""

TOLD_IN_BODY = 2
"""Terms that tell which a memory must match where none of them is in its name or description."""


@dataclass(frozen=True)
class RecallGate:
    """What passes.

    Attributes:
        least: weight that the first needs; see `weight`.
        rest: weight that is enough for others beside it.
        near: share of the best score that it needs: what is far below the best answers something else.
        vague: whether a memory that has all words of a question passes, though hardly one of them tells
            what it is about.
    """

    least: float
    rest: float
    near: float
    vague: bool


PROMPT = RecallGate(least=1.9, rest=1.9, near=0.4, vague=False)
"""Nobody asked. Set on half of what `tests/bench/recall_told.py` measures, so that one prompt of ten tells
something where nothing answers it."""

QUESTION = RecallGate(least=1.5, rest=0.4, near=0.4, vague=True)
"""Somebody asked, and can tell what is no answer: where one thing answers, what is next to it is shown,
too. Set on half of LoCoMo's questions and of DevMemBench's, so that of questions that share no word with
their answer one in four is answered at most (`tests/search/test_paraphrases.py`)."""

Why = Literal[
    "below",
    "shown",
    "duplicate",
    "in-use",
    "not-chosen",
    "limit",
    "type",
    "settled",
    "promoted",
    "unmerged",
    "unsigned",
    "gone",
]
WORDS: dict[Why, str] = {
    "below": "matches too little of it",
    "shown": "shown before in this session",
    "duplicate": "says the same as one that is shown",
    "in-use": "a reference for a tool that is in use",
    "not-chosen": "not chosen by the engine",
    "limit": "fits, but others fit better",
    "type": "of another type",
    "settled": "a line of a log of which a memory was made, or that was forgotten or rejected",
    "promoted": "a rule of the repository, which agents read anyway",
    "unmerged": "taught on a branch that is not merged here",
    "unsigned": "not signed by somebody trusted (gitmem.requireSigned)",
    "gone": "cannot be read, or must not be shown",
}

REFERENCE = "reference"

_WORD = re.compile(r"[a-z0-9]+(?:[+.-][a-z0-9]+)*")
_SPLIT = re.compile(r"[^a-z0-9]+")
_USAGE_WORDS = """
    api apis cheat cheatsheet cli command commands doc docs documentation endpoint endpoints example
    examples flag flags guide manual option options parameter parameters quickstart reference syntax
    tutorial usage
"""
_USAGE = frozenset(_USAGE_WORDS.split())
# Rather too much counts as a warning: a reference shown in vain costs less than a trap not told of.
_WARNING_WORDS = """
    never|do not|don['’]?t|must not|mustn['’]t|cannot|can['’]?t|avoid|beware|careful(?:ly)?|caution
    |gotchas?|pitfalls?|traps?|warn(?:s|ed|ing|ings)?|watch out|fail(?:s|ed|ing|ure|ures)?
    |break(?:s|ing)?|broken|broke|bugs?|buggy|crash(?:es|ed|ing)?|hang(?:s|ing)?|wrong(?:ly)?|silently
    |unless|danger(?:ous)?|unsafe|known issues?|does not|doesn['’]t|is not|isn['’]t|not supported
    |unsupported|deprecated|flaky|loses?|lost|corrupts?|workarounds?|instead of|only works?
"""
_WARNING = re.compile(rf"\b(?:{''.join(map(str.strip, _WARNING_WORDS.splitlines()))})\b", re.IGNORECASE)


@dataclass(frozen=True)
class LeftOut:
    """A candidate that is not shown.

    Attributes:
        why: a key of `WORDS`.
        detail: what it was measured by, or the memory that is shown instead; may be empty.
    """

    candidate: Candidate
    why: Why
    detail: str = ""

    @property
    def words(self) -> str:
        """The reason as a person reads it."""
        return f"{WORDS[self.why]} ({self.detail})" if self.detail else WORDS[self.why]


@dataclass(frozen=True)
class Selection:
    """What was made of candidates.

    Attributes:
        chosen: best first; more than can be shown, since some may turn out to be unreadable.
        left: those left out, in their order.
    """

    chosen: tuple[Candidate, ...]
    left: tuple[LeftOut, ...] = ()


def weight(candidate: Candidate, others: float) -> float:
    """How much speaks for a candidate; see `PROMPT` for how much is enough.

    Args:
        others: see `background`.
    """
    longer = math.log(max(SHORT, candidate.parts["asked"]) / SHORT)
    return likeness(candidate, others) + LENGTH * longer


def likeness(candidate: Candidate, others: float) -> float:
    """How much a memory has of a question beyond what any memory here has, however long the question.

    Args:
        others: see `background`.
    """
    if candidate.score <= 0:
        return -math.inf
    return math.log(candidate.score / others) + COVERED * candidate.parts["covered"]


def background(candidates: Sequence[Candidate]) -> float:
    """The score that a question gives any memory here: the mean of those that are not its best.

    Where there are none, what a memory has by chance counts instead: a word, of a long question more.
    """
    most = OTHERS.stop - OTHERS.start
    scores = [one.score for one in candidates[OTHERS]]
    word = max([one.parts.get("word", 0.0) for one in candidates], default=0.0) or 1.0
    asked = max([one.parts.get("asked", 1.0) for one in candidates], default=1.0)
    chance = word * max(1.0, CHANCE * math.sqrt(asked))
    return (sum(scores) + (most - len(scores)) * chance) / most


def fits(candidate: Candidate, others: float, gate: RecallGate = QUESTION, *, beside: bool = False) -> bool:
    """Whether a memory matches enough of the question to be worth showing.

    Args:
        others: see `background`.
        beside: whether it is shown beside another that fits.
    """
    parts = candidate.parts
    if not parts["telling"]:  # "how should I write tests?": only a memory about just that
        about = gate.vague and parts["headed"] >= parts["asked"]
    else:  # one word deep in a body is enough where nothing else is asked
        about = bool(
            parts["decisive"]
            or parts["told"] >= TOLD_IN_BODY
            or (gate.vague and parts["matched"] >= parts["asked"])
        )
    return about and weight(candidate, others) >= (gate.rest if beside else gate.least)


def select(
    candidates: Iterable[Candidate], shown: Set[str] = frozenset(), gate: RecallGate = QUESTION
) -> Selection:
    """Keeps the candidates that fit, best first, each content once; and says why others are left out.

    Of two whose descriptions say the same, the one to prefer comes first; whether the other goes, its body
    decides (see `said_by`).

    Args:
        candidates: best first.
        shown: object names of the contents that this session has seen already.
    """
    found = list(candidates)
    others = background(found)
    chosen: list[Candidate] = []
    left: list[LeftOut] = []
    kept: dict[str, Candidate] = {}
    best = next((one.score for one in found if fits(one, others, gate)), None)
    for candidate in found:
        if best is None or not fits(candidate, others, gate, beside=True):
            left.append(
                LeftOut(candidate, "below", f"weighs {weight(candidate, others):.1f} of {gate.least:g}")
            )
            continue
        if candidate.score < gate.near * best:
            left.append(LeftOut(candidate, "below", f"{candidate.score / best:.0%} of the best score"))
        elif candidate.blob in shown:
            left.append(LeftOut(candidate, "shown"))
        elif candidate.blob in kept:
            left.append(LeftOut(candidate, "duplicate", kept[candidate.blob].path))
        else:
            kept[candidate.blob] = candidate
            chosen.append(candidate)
    return Selection(headed_alike(chosen), tuple(left))


def explains(candidate: Candidate, tools: Set[str]) -> bool:
    """Whether a memory is a reference mainly about a tool in use: named first, or with words like "API".

    Args:
        tools: lower-case names of commands, servers and tools.
    """
    if candidate.type != REFERENCE:
        return False
    name = _SPLIT.sub(" ", (candidate.name or candidate.file).lower()).split()
    about = _WORD.findall(candidate.description.lower())
    named = {word for tool in tools for word in (tool, _SPLIT.sub(" ", tool).strip()) if _names(word)}
    leads = any(_begins(words, tool.split()) for words in (name, about) for tool in named)
    return leads or (
        bool(_USAGE & {*name, *about})
        and any(f" {tool} " in f" {' '.join(words)} " for words in (name, about) for tool in named)
    )


def warns(text: str) -> bool:
    """Whether a text tells of trouble."""
    return _WARNING.search(text) is not None


def _names(tool: str) -> bool:
    """Whether a tool's name is no word of any request (`make`, `test`, `find`)."""
    return len(tool) > 1 and tells(tool)


def _begins(words: list[str], tool: list[str]) -> bool:
    return words[: len(tool)] == tool


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
_AMENDING = (
    r"\b(?:amend(?:s|ed|ing|ment|ments)?|supersed(?:e|es|ed|ing)|overrul(?:e|es|ed|ing)|revers(?:e|es|ed|al)"
    r"|replac(?:e|es|ed)|revis(?:e|es|ed|ion)|no longer|from now on|(?:not|n['’]t) \w+ any ?more|anymore"
    r"|switch(?:ed|ing)? (?:over )?from|(?:mov|migrat)(?:ed|ing) (?:away )?from)\b"
)
_ANY_WORD = re.compile(r"\w+")


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
        better = fresher >= HALF_A_DAY or (fresher > -HALF_A_DAY and longer)
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
    return re.search(_AMENDING, text, re.IGNORECASE) is not None


def _holds(known: str, new: str) -> bool:
    """Whether a text says all that another says."""
    words, other = _words(new), _words(known)
    if len(words & other) < _SHARED * len(words):
        return False
    from gitmem.engines.offline.likeness import gist, same  # takes longer to import than to use

    mine = gist(new)
    return len(mine.words) >= LEAST_WORDS and same(mine, gist(known))


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    # Of fifty candidates each is compared with each.
    return frozenset(_ANY_WORD.findall(text.lower()))
