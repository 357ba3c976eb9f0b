"""Whether two statements say the same, by their words.

Likeness only proposes; numbers, negations and names decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

# Measured on paraphrases of one's own rules: the same fact said again shares about 0.6 of the words.
NEAR = 0.6
# So much of a statement must be in what is known, that nothing new is left in it.
CONTAINED = 0.85

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?|\d+(?:[.:/-]\d+)*", re.I)
_NEGATION_WORDS = (
    "no not never none nobody without stop avoid dont cannot wont cant isnt arent doesnt didnt mustnt"
    " shouldnt nor neither"
)
_NEGATION = frozenset(_NEGATION_WORDS.split())
_STOP_WORDS = (
    "a an the to of in on at for and or but so is are was were be been being am i im ive you your we"
    " were our us my me it its that this"
    " these those there here with by as from if when whenever then than please also just really very do"
    " does did has have had will"
    " would can could should must may too because since into out up about them they their always ever"
    " remember keep mind use using"
    " make sure want like need ok now going forward future general every time any all own"
)
_STOP = frozenset(_STOP_WORDS.split())


@dataclass(frozen=True)
class Gist:
    """What of a text counts when it is compared.

    Attributes:
        words: stemmed content words, without numbers and negations.
        numbers: as written.
        negative: the text says no.
        names: capitalised words inside a sentence, lower-cased and stemmed.
    """

    words: frozenset[str]
    numbers: frozenset[str]
    negative: bool
    names: frozenset[str]


def _stem(word: str) -> str:
    for end in ("ings", "ing", "edly", "ies", "ied", "ed", "es", "s"):
        if word.endswith(end) and len(word) - len(end) >= 3 and not word.endswith("ss"):
            word = word[: -len(end)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


def words(text: str) -> tuple[str, ...]:
    """Gives the stemmed content words of a text, in order, repeats kept."""
    found = (w.lower().replace("'", "") for w in _WORD.findall(text.replace("’", "'")))
    return tuple(_stem(w) for w in found if w not in _STOP and w not in _NEGATION)


def gist(text: str) -> Gist:
    """Reads what counts in a text."""
    plain = text.replace("’", "'")
    all_words = [w.replace("'", "") for w in re.findall(r"[A-Za-z']+", plain)]
    names = re.findall(r"(?<=[a-z0-9,;] )[A-Z][\w-]*", plain)
    # At the beginning everything is capitalised; "Ann owns …" is a name all the same.
    first = re.match(r"([A-Z][a-z]+) (?:is|[a-z]+s)\b", plain)
    if first and first[1].lower() not in _STOP:
        names.append(first[1])
    content = words(text)
    return Gist(
        words=frozenset(w for w in content if not w[0].isdigit()),
        numbers=frozenset(re.findall(r"\d+(?:[.:/-]\d+)*", plain)),
        negative=any(w.lower() in _NEGATION for w in all_words),
        names=frozenset(_stem(n.lower()) for n in names),
    )


def near(a: Gist, b: Gist) -> bool:
    """Says whether two texts are about the same thing: names apart, most words are shared."""
    left, right = (a.words - a.names) or a.words, (b.words - b.names) or b.words
    if not left or not right:
        return False
    shared = left & right
    names_agree = not a.names or not b.names or bool(a.names & b.names) or len(shared) >= 3
    both = len(shared) / len(left | right)
    smaller = len(shared) / min(len(left), len(right))
    return (
        names_agree and (both >= NEAR or (smaller >= CONTAINED and len(shared) >= 3)) and len(shared) >= 2
    )


def same(new: Gist, known: Gist) -> bool:
    """Says whether nothing in the new text is missing from, or against, the known one."""
    return (
        new.numbers <= known.numbers
        and new.negative == known.negative
        and new.names <= (known.names | known.words)
        and bool(new.words)
        and len(new.words & known.words) >= CONTAINED * len(new.words)
    )


def says_all(new: Gist, known: Gist) -> bool:
    """Says whether the known text has every word of the new one: likeness may not drop a request."""
    return same(new, known) and new.words <= known.words


def stated_in(new: Gist, texts: Iterable[str], *, wholly: bool = False) -> bool:
    """Says whether some line of the given texts says the same.

    Args:
        new: the statement.
        texts: instruction files, whole.
        wholly: with every word of it.
    """
    says = says_all if wholly else same
    return any(says(new, gist(line)) for text in texts for line in text.splitlines() if line.strip())
