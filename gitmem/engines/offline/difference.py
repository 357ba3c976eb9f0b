"""In what one thing two sentences differ: a number, a name, a negation, a word that turns them."""

from __future__ import annotations

import re

from gitmem.core.facts import names
from gitmem.engines.offline.equivalence import NOT, form, forms

Words = tuple[str, ...]
"""A sentence as `equivalence.sequence` reads it."""

_MODALS = forms("must may might can could should shall will would need have")
_QUANTIFIERS = forms("all each every some any most many few several both either neither none half only one")
_DIRECTIONS = forms(
    "before after from to into onto over under above below until since on off up down in out first"
    " last left right max min maximum minimum more less fewer with without enable disable allow"
    " forbid open close opt upstream downstream primary replica always sometimes often rarely"
    " increase decrease < > ≤ ≥ + = ≠ → ←"
)
_UNITS = forms(
    "nanosecond microsecond millisecond second minute hour day week month year quarter ns ms s min"
    " h d byte kb mb gb tb kib mib gib tib bit percent % pixel px em rem meter metre km mile gram kg"
    " dollar euro cent $ € req rps request thread process line character"
)
_MONTHS = forms(
    "january february march april may june july august september october november december jan feb"
    " mar apr jun jul aug sep oct nov dec"
)
_CONDITIONS = forms("when whenever if unless until while once except provided during after before only")
# A number behind one of these is a part of a name.
_LABELS = forms(
    "phase step part stage week sprint round issue pr task item chapter section level layer tier"
    " milestone option variant case rule week day"
)
WHERE = forms("in on for under with within during")
"""What stands before a word that narrows where a statement holds."""

TURNS = _MODALS | _QUANTIFIERS | _CONDITIONS | (_DIRECTIONS - forms("in on up out over down"))
"""Words that turn a sentence: without one it says something else."""

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_COMPOUND = re.compile(r"[a-z]+(?:-[a-z]+)+")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)\s?(\D*)")


def difference(one: Words, other: Words, texts: tuple[str, str]) -> tuple[str, str]:
    """Says in what two sentences differ.

    Args:
        one, other: their words, in order.
        texts: the claims that they stand in, as written.

    Returns:
        Kind (`number`, `negation`, `name`, `path`, `URL`, `unit`, `direction`, `quantifier`, `modal`,
        `date`, `condition`) and the two words; both empty where it is none of these, or more than one.
    """
    if one == other:
        return "", ""
    if len(one) == len(other):
        places = [at for at in range(len(one)) if one[at] != other[at]]
        if len(places) == 1:
            at = places[0]
            kind = _kind(one[at], other[at], (*one[at - 1 : at], *one[at + 1 : at + 2]), texts)
            said = (_shown(word, text) for word, text in zip((one[at], other[at]), texts, strict=True))
            return kind, " / ".join(said) if kind else ""
        moved = any(one[at:] + one[:at] == other for at in range(len(one)))
        return (
            ("direction", "the order of words") if sorted(one) == sorted(other) and not moved else ("", "")
        )
    short, long = sorted((one, other), key=len)
    at = next((at for at, word in enumerate(short) if word != long[at]), len(short))
    extra = long[at : at + len(long) - len(short)]
    if short[at:] != long[at + len(extra) :]:
        return "", ""
    if extra == (NOT,):
        return "negation", "said in one and not in the other"
    if len(extra) == 1 and extra[0] in _MODALS:
        return "modal", extra[0]
    if len(extra) == 1 and extra[0] in _QUANTIFIERS:
        return "quantifier", extra[0]
    if extra[0] in _CONDITIONS and (at == 0 or at == len(short)):
        return "condition", " ".join(_shown(word, texts[long is other]) for word in extra)
    return "", ""


def _kind(one: str, other: str, around: Words, texts: tuple[str, str]) -> str:
    pair = {one, other}
    if all(_DAY.fullmatch(word) for word in pair):
        return "date"
    if all("://" in word for word in pair):
        return "URL"
    if pair <= _MODALS:
        return "modal"
    if pair & _QUANTIFIERS and pair <= _QUANTIFIERS | {"1", "2", NOT}:
        return "quantifier"
    numbers = [_NUMBER.fullmatch(word) for word in (one, other)]
    if all(numbers):
        if around[:1] and around[0] in _LABELS:
            return ""
        if numbers[0] and numbers[1] and numbers[0][1] == numbers[1][1]:
            return "unit"
        return "date" if set(around) & _MONTHS else "number"
    if NOT in pair:
        return "negation"
    if pair <= _UNITS:
        return "unit"
    if pair <= _DIRECTIONS:
        return "direction"
    if any("/" in word for word in pair):
        return "path"
    return (
        "name" if all(_is_name(word, text) for word, text in zip((one, other), texts, strict=True)) else ""
    )


def _is_name(word: str, text: str) -> bool:
    if not word.isalpha():
        return _COMPOUND.fullmatch(word) is None and any(map(str.isalnum, word))
    return word != word.lower() or word in {form(name) for name in names(text)}


def _shown(word: str, text: str) -> str:
    """A word as a text has it: its form alone reads like a slip of the pen."""
    if word == NOT:
        return "not"
    return next((said for said in _WORD.findall(text) if form(said.lower()) == word), word)
