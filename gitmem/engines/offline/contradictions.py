"""Claims that speak against one another, and claims that are alike: for a person, never settled here.

Two sentences that are otherwise the same do so where they differ in a number, a name, a negation or the
like.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.facts import lacking, names
from gitmem.core.memory import Memory
from gitmem.engines.engine import Observation
from gitmem.engines.offline.similar import (
    NOT,
    Titles,
    anchored,
    form,
    forms,
    heading,
    led_in,
    quoted,
    said,
    same_context,
    sequence,
)
from gitmem.engines.offline.work import Work, ages

ALIKE = 0.6
"""Share of words in common from which two claims are shown to a person side by side."""

COMMON = 12
"""Claims that a word may stand in and still be looked up when claims that are alike are sought."""

MANY = 20
"""Sentences of one shape beyond which it is a turn of phrase and tells nothing."""

LONGEST = 60
"""Words of the longest sentence that is compared with others."""

_SHOWN = 90
"""Characters of a claim that a note quotes."""

# Several of these may well be said in one list.
_LISTED = frozenset({"name", "path", "URL"})
_OPENING = re.compile(
    r"(?:when|whenever|if|unless|once|while|until|during|except)\b[^,.]*,\s+(.+)", re.IGNORECASE
)


@dataclass(frozen=True)
class _Sentence:
    memory: Memory
    place: int
    words: Words

    @property
    def claim(self) -> Claim:
        return self.memory.parsed.claims[self.place]

    @property
    def name(self) -> str:
        return reference(self.memory.path, self.claim)


def note_contradictions(
    work: Work, agent: str, said_at: Mapping[str, datetime], observed: Sequence[Observation]
) -> None:
    """Lists pairs of claims about one thing that differ in exactly one fact, and those that are alike.

    Args:
        said_at: claim to when it was first said.
        observed: what is told already.
    """
    hot = work.hot(agent)
    titles = Titles(hot)
    known = {frozenset(one.claims) for one in observed if len(one.claims) == 2}
    told: set[frozenset[str]] = set()
    for one, other in _pairs(list(_sentences(hot))):
        names = frozenset({one.name, other.name})
        if names in told or len(names) < 2:
            continue
        kind, words = difference(one.words, other.words, (one.claim.key, other.claim.key))
        if not kind or not _same_thing(titles, one, other, kind):
            continue
        told.add(names)
        if names in known:
            continue
        article = "an" if kind[0] in "aeio" else "a"
        both = f"{quoted(one.claim, _SHOWN)} and {quoted(other.claim, _SHOWN)}"
        what = f"{both} differ in {article} {kind} ({words})"
        work.notes.append(f"contradiction: {what}: {ages((one.name, other.name), said_at)}")
    _note_alike(work, hot, told | known)


def _sentences(memories: Sequence[Memory]) -> Iterator[_Sentence]:
    for memory in memories:
        for place, claim in enumerate(memory.parsed.claims):
            found = said(claim.text)
            if not (found.plain or found.dated) or led_in(memory.parsed.claims, place):
                continue
            for words in found.sentences:
                if len(words) <= LONGEST:
                    yield _Sentence(memory, place, words)
            opening = _OPENING.match(claim.key)
            if opening and len(found.sentences) == 1:
                yield _Sentence(
                    memory, place, (*sequence(opening[1]), *sequence(claim.key[: opening.start(1)]))
                )


def _pairs(sentences: Sequence[_Sentence]) -> Iterator[tuple[_Sentence, _Sentence]]:
    """Those that have a shape in common, each once, in order."""
    by_shape: dict[tuple[object, ...], list[int]] = {}
    for number, sentence in enumerate(sentences):
        for shape in shapes(sentence.words):
            by_shape.setdefault(shape, []).append(number)
    pairs = set()
    for numbers in by_shape.values():
        if 1 < len(numbers) <= MANY:
            pairs |= {(a, b) for at, a in enumerate(numbers) for b in numbers[at + 1 :] if a != b}
    for one, other in sorted(pairs):
        yield sentences[one], sentences[other]


def _same_thing(titles: Titles, one: _Sentence, other: _Sentence, kind: str) -> bool:
    if one.memory is other.memory:
        claims = one.memory.parsed.claims
        listed = kind in _LISTED and one.claim.item and other.claim.item
        return not listed and heading(claims, one.place) == heading(claims, other.place)
    texts = (one.claim.text, other.claim.text)
    return same_context(titles, one.memory, other.memory, [one.place], [other.place]) or anchored(
        titles, one.memory, other.memory, texts
    )


def _note_alike(work: Work, hot: Sequence[Memory], told: set[frozenset[str]]) -> None:
    """Lists pairs of claims in different memories that are alike and not provably the same."""
    claims = [(memory, claim) for memory in hot for claim in memory.parsed.claims if said(claim.text).plain]
    places: dict[str, list[int]] = {}
    for number, (_, claim) in enumerate(claims):
        for word in said(claim.text).words:
            places.setdefault(word, []).append(number)
    for number, (memory, claim) in enumerate(claims):
        mine = said(claim.text).words
        shared: Counter[int] = Counter()
        for word in mine:
            if len(places[word]) <= COMMON:
                shared.update(other for other in places[word] if other > number)
        for other in sorted(shared):
            there, near = claims[other]
            theirs = said(near.text).words
            if there is memory or len(mine & theirs) < ALIKE * len(mine | theirs):
                continue
            if frozenset({reference(memory.path, claim), reference(there.path, near)}) in told:
                continue
            missing = lacking(claim.key, near.key) or lacking(near.key, claim.key)
            same = "say the same" if claim.key == near.key else "use the same words"
            how = f"differ in {missing[0]}" if missing else f"{same}, perhaps of two things"
            both = f"{quoted(claim, _SHOWN)} in {memory.name} and {quoted(near, _SHOWN)} in {there.name}"
            work.notes.append(f"alike: {both} {how}")


Words = tuple[str, ...]

SHORTEST = 3
"""Words of the shortest sentence of which it counts in what it differs from another."""

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
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_COMPOUND = re.compile(r"[a-z]+(?:-[a-z]+)+")
_WORD = re.compile(r"[^\W\d_]+")
_NUMBER = re.compile(r"(\d+(?:[.,]\d+)*)\s?(\D*)")


def shapes(words: Words) -> Iterator[tuple[object, ...]]:
    """Keys of which two sentences share one where they differ in one place, or in the order of words."""
    yield ("all", *words)
    if len(words) < SHORTEST:
        return
    yield ("order", *sorted(words))
    for at in range(len(words)):
        yield ("but", at, *words[:at], *words[at + 1 :])
        yield ("all", *words[:at], *words[at + 1 :])
        if at >= SHORTEST and words[at] in _CONDITIONS:
            yield ("all", *words[:at])


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
