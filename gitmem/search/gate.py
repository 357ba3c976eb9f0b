"""The offline choice: few and right beats many, and nothing is right where nothing fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from typing import Literal

from gitmem.search.duplicates import headed_alike
from gitmem.search.query import Candidate
from gitmem.search.words import tells
from gitmem.values import dataclass

NEAR_BEST = 0.4
"""Share of the best score that a candidate needs: what is far below the best answers something else."""

COVERED = {0: 0.5, 1: 0.3, 2: 0.2}
"""Share of the question's rarity that a memory must match, by how many of the matched terms that tell
stand in its name or description (two or more count as two). Set by hand on half of 846 prompts of real
sessions, so that the prompts of one project recall nothing from the memories of others nine times in ten;
questions on those memories still find them."""

TOLD_IN_BODY = 2
"""Terms that tell which a memory must match where none of them is in its name or description."""

LONG_QUESTION = 8
"""From this many terms on no memory matches a great share: a request tells more than it asks."""

TERMS_OF_LONG = 4
HEADED_OF_LONG = 2
COVERED_OF_LONG = 0.18
"""What of a long one a memory must match: that many terms that tell, so many of them in its name or
description, and this share."""

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
class Left:
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
    left: tuple[Left, ...] = ()


def fits(candidate: Candidate) -> bool:
    """Whether a memory matches enough of the question to be worth showing."""
    parts = candidate.parts
    if not parts["telling"]:  # "how should I write tests?": only a memory about just that
        return parts["headed"] >= parts["asked"]
    if parts["told"] >= parts["telling"] and (parts["decisive"] or parts["matched"] >= parts["asked"]):
        return True
    if not parts["decisive"] and parts["told"] < TOLD_IN_BODY:
        return False
    if parts["covered"] >= COVERED[min(2, int(parts["decisive"]))]:
        return True
    return (
        parts["asked"] >= LONG_QUESTION
        and parts["told"] >= TERMS_OF_LONG
        and parts["decisive"] >= HEADED_OF_LONG
        and parts["covered"] >= COVERED_OF_LONG
    )


def choose(candidates: Iterable[Candidate], shown: Set[str] = frozenset()) -> list[Candidate]:
    """Keeps the candidates that fit, best first, each content once.

    Args:
        candidates: best first.
        shown: object names of the contents that this session has seen already.
    """
    return list(select(candidates, shown).chosen)


def select(candidates: Iterable[Candidate], shown: Set[str] = frozenset()) -> Selection:
    """The same, with what was left out and why.

    Of two whose descriptions say the same, the one to prefer comes first; whether the other goes, its body
    decides (see `alike`).
    """
    chosen: list[Candidate] = []
    left: list[Left] = []
    kept: dict[str, Candidate] = {}
    best: float | None = None
    for candidate in candidates:
        if not fits(candidate):
            left.append(Left(candidate, "below", f"covers {candidate.parts['covered']:.0%}"))
            continue
        best = candidate.score if best is None else best
        if candidate.score < NEAR_BEST * best:
            left.append(Left(candidate, "below", f"{candidate.score / best:.0%} of the best score"))
        elif candidate.blob in shown:
            left.append(Left(candidate, "shown"))
        elif candidate.blob in kept:
            left.append(Left(candidate, "duplicate", kept[candidate.blob].path))
        else:
            kept[candidate.blob] = candidate
            chosen.append(candidate)
    return Selection(headed_alike(chosen), tuple(left))


def explains(candidate: Candidate, tools: Set[str]) -> bool:
    """Whether a memory is a reference mainly about a tool in use: named first, or with words like "API".

    Args:
        tools: lower-case names of commands, servers and tools.
    """
    if candidate.type != REFERENCE or not tools:
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
    return bool(tool) and words[: len(tool)] == tool
