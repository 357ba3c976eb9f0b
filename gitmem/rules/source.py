"""What teaches a claim: the source, one that can be named and looked up, from which its words come.

That each fact of a text stands somewhere proves nothing: "staging runs on 9090" is no fact of a memory that
says "staging runs on 8080" and "production runs on 9090". So what a claim adds to those in whose place it
stands must come from a statement as a whole: one that the claim says again, or that says all of the claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitmem.core.facts import (
    NUMBER_WORDS,
    TURNING,
    about,
    added,
    clauses,
    holds,
    misplaced_facts,
    missing_facts,
    sentences,
    stem,
    words_of,
)
from gitmem.values import dataclass

BEFORE = 2
"""Messages before one in a conversation that may say what it is about."""


@dataclass(frozen=True)
class Source:
    """Something that was said before, and can be looked up.

    Attributes:
        name: `<file>#<12 hex>` of a claim or a line of a log, or a path of the code.
        text: all that it says.
    """

    name: str
    text: str


def untaught(new: str, replaced: Iterable[str], sources: Iterable[Source] = ()) -> tuple[str, ...]:
    """Names what a claim says that neither what it replaces nor one of the sources taught.

    Args:
        new: the claim, without dates that are written behind relative phrases.
        replaced: the claims in whose place it stands, and what is known to have been made into it.
        sources: what else was said; a statement about something else teaches nothing.

    Returns:
        Facts, and the other words, each as a phrase for a person; nothing where all of it is taught.
    """
    known = list(replaced)
    missing = _missing(new, known, ())
    if not missing:
        return ()
    taught: list[str] = []
    words = about(new)
    for source in sources:
        if not words & about(source.text):
            continue
        said = clauses(source.text)
        here = [one for one in said if any(holds(part, one) for part in clauses(new))]
        here += [part for part in sentences(new) if any(_same(one, part) for one in sentences(source.text))]
        if here:
            taught += here
            missing = _missing(new, [*known, *taught], taught)
            if not missing:
                return ()
    return missing


def says_again(new: str, sources: Sequence[str]) -> bool:
    """Whether a claim says what others said, in their words: none of its facts, nor any other word, is new.

    A word may come in where none goes: "as agreed, …".
    """
    if added(new, sources) or misplaced_facts(new, sources):
        return False
    words, known = about(new), _words(sources)
    return not words - known or known <= words


def said_in(conversation: Sequence[str], new: str, replaced: Iterable[str]) -> bool:
    """Whether a message of a conversation teaches what a claim adds to those in whose place it stands.

    People answer in few words ("no, Thursday"): one of the messages just before may say what about.
    """
    known = tuple(replaced)
    subject = _words(known)
    for number, message in enumerate(conversation):
        around = conversation[max(0, number - BEFORE) : number + 1]
        if subject & _words(around) and not _absent(new, (*known, message)):
            return True
    return False


def _missing(new: str, known: Sequence[str], taught: Sequence[str]) -> tuple[str, ...]:
    """What is in none of some texts, or is said of something else there."""
    return tuple(dict.fromkeys((*_absent(new, known), *misplaced_facts(new, known, taught))))


def _absent(new: str, known: Sequence[str]) -> tuple[str, ...]:
    facts = added(new, known)
    fresh = (about(new) - _words(known)) | (_turns(new) - frozenset().union(*map(_turns, known)))
    # A name or a number is told as such, and not again as a word.
    told = {word.casefold() for fact in (*facts, *NUMBER_WORDS) for word in words_of(fact)}
    words = {
        stem(word): word for word in words_of(new) if stem(word) in fresh and word.casefold() not in told
    }
    return (*facts, *(f"the word {word}" for word in words.values()))


def _same(one: str, other: str) -> bool:
    """Whether a sentence says another with all of its facts and none besides."""
    return holds(one, other) and not missing_facts(one, other) and not misplaced_facts(other, [one])


def _turns(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words_of(text) if word.casefold() in TURNING)


def _words(texts: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(about, texts))
