"""Claims that speak against one another, and claims that are alike: for a person, never settled here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.facts import lacking
from gitmem.core.memory import Memory
from gitmem.engines.engine import Observation
from gitmem.engines.offline.consolidating.context import Titles, anchored, same_context
from gitmem.engines.offline.consolidating.differ import Words, difference, shapes
from gitmem.engines.offline.consolidating.place import heading, led_in, quoted
from gitmem.engines.offline.consolidating.same import said
from gitmem.engines.offline.consolidating.words import sequence
from gitmem.engines.offline.consolidating.work import Work, ages

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
