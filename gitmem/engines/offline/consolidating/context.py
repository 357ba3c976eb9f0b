"""Whether two memories speak of one thing, so that a claim means the same in both.

"Runs on port 8080" may be said of two services: the subject of a short claim is often in the name or the
description alone. Likeness of titles does not decide; words that narrow one of them do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from gitmem.core.facts import lacking, names, stem
from gitmem.core.memory import Memory
from gitmem.engines.offline.consolidating.same import said
from gitmem.engines.offline.consolidating.words import NEGATED, NOT, form, forms, sequence, words

COVERED = 0.6
"""Share of a description that a claim must say itself to mean the same in another memory."""

RARE = 5
"""Titles that may share a word that says what they are about; or one in ten, where that is more."""

_HEAD = 6
"""Letters that two words share from the first where they are of one family: configured, configuration."""

# Words in names that tell two copies apart and nothing else.
_GENERIC = forms("copy duplicate dup note notes memory feedback project user reference")

# What a title says of a memory and not of what the memory is about.
_FRAMING = _GENERIC | forms(
    "run runs work works way thing things info information detail details fact facts overview summary"
    " guide about general various list everything know keep mind rule rules"
)

# Of which there are several in most projects: none of these says by itself what a claim is about.
_COMMON = forms(
    "service services server client host port test tests database db schema table api endpoint"
    " config configuration setting settings option flag file folder path code repo repository app"
    " application system tool script page build release deploy deployment job task queue cache log"
    " logs user users data key token version limit timeout error alert rule convention environment"
    " branch library package module class function type types hook pipeline run team model view"
    " route request response"
)

# What only asks what the rest of a title answers.
_NEUTRAL = forms(
    "how long often much many what where who why when it its their our we own this there have has was were"
)

# What narrows a subject, wherever it stands: a claim about one of these is none about another.
_QUALIFIERS = forms(
    "staging production prod preview dev development local locally remote ci test testing demo"
    " sandbox beta alpha nightly legacy old new current former next previous windows linux macos mac"
    " ios android web mobile desktop backend frontend internal external public private read write"
    " input output upload download import export left right first last primary secondary replica"
    " master slave min max minimum maximum upper lower async sync manual automatic only except " + NOT
)

# What stands behind one of these narrows what stands before it.
_NARROWING = forms(
    "in on at for of with without under during from to into by within via per against between among"
    " when while if unless until before after since as than like"
)
_BREAK = re.compile(r"[:;()\[\]/|+&,—–]| - ")


class Titles:
    """How often each word stands in names and descriptions of an agent's memories."""

    def __init__(self, memories: Collection[Memory]) -> None:
        self._counts = Counter(word for memory in memories for word in _title(memory))
        self._few = max(RARE, len(memories) // 10)

    def rare(self, word: str) -> bool:
        """Whether a word can say by itself what a memory is about."""
        return word not in _COMMON and len(word) > 2 and self._counts[word] <= self._few


def same_context(
    titles: Titles, memory: Memory, target: Memory, mine: Collection[int], theirs: Collection[int]
) -> bool:
    """Whether claims mean the same in both memories.

    So it is where neither name nor description of one holds a word that is foreign to the other; where the
    claims themselves say most of what their description says; or where they name a thing that both titles
    name, and nothing in either title narrows it.

    Args:
        mine, theirs: positions of the claims in the bodies.
    """
    texts = [memory.parsed.claims[at].text for at in mine] + [
        target.parsed.claims[at].text for at in theirs
    ]
    # What each claim says itself narrows nothing that it does not narrow in both places.
    spoken = frozenset[str].intersection(*(said(text).words for text in texts))
    pairs = ((memory, target, mine), (target, memory, theirs))
    foreign = [_foreign(here, there) - spoken for here, there, _ in pairs]
    if any(words & _QUALIFIERS for words in foreign):
        return False
    if all(_speaks_for_itself(*pair, words) for pair, words in zip(pairs, foreign, strict=True)):
        return True
    narrowed = any(_narrowed(here, words) for (here, _, _), words in zip(pairs, foreign, strict=True))
    return not narrowed and anchored(titles, memory, target, texts)


def anchored(titles: Titles, memory: Memory, target: Memory, texts: Iterable[str]) -> bool:
    """Whether texts name a thing that both titles name."""
    shared = {word for word in _title(memory) & _title(target) if titles.rare(word)}
    return all(shared & said(text).words for text in texts)


def _speaks_for_itself(
    here: Memory, there: Memory, numbers: Collection[int], foreign: frozenset[str]
) -> bool:
    if not foreign:
        return True
    spoken = frozenset[str]().union(*(said(here.parsed.claims[number].text).words for number in numbers))
    title = words(here.description) or _named(here)
    text = " ".join([there.description, *(claim.key for claim in there.parsed.claims)])
    facts = [fact for fact in lacking(here.description, text) if fact != "a negation"]
    return len(title & spoken) >= COVERED * len(title) and not facts


def _foreign(here: Memory, there: Memory) -> frozenset[str]:
    """Words of a memory's name and description that the other one holds nowhere."""
    title = _title(there)
    known = title.union(*(said(claim.text).words for claim in there.parsed.claims))
    stems = {stem(word) for word in known}
    heads = {word[:_HEAD] for word in known if len(word) >= _HEAD}
    return frozenset(
        word
        for word in _title(here) - title - _NEUTRAL - _FRAMING
        # That another claim over there speaks of staging says nothing of this one.
        if word in _QUALIFIERS or not (word in known or stem(word) in stems or word[:_HEAD] in heads)
    )


def _narrowed(memory: Memory, foreign: frozenset[str]) -> bool:
    """Whether one of these words narrows what the title of a memory is about."""
    if not foreign:
        return False
    if (
        foreign & _QUALIFIERS
        or not all(word.isalpha() for word in foreign)
        or _BREAK.search(memory.description)
    ):
        return True
    if any(
        form(name) in foreign for name in names(memory.description[:1].lower() + memory.description[1:])
    ):
        return True
    for text in (_spaced(memory.name), memory.description):
        narrowing = False
        title = [word for word in sequence(text) if word not in _NEUTRAL]
        for word, following in zip(title, [*title[1:], ""], strict=True):
            if word in _NARROWING or word in NEGATED:
                narrowing = True
            elif word not in foreign:
                narrowing = False
            elif narrowing or (following and following not in foreign and following not in _NARROWING):
                return True
    return False


def _title(memory: Memory) -> frozenset[str]:
    return (words(memory.description) | _named(memory)) - _NARROWING


def _named(memory: Memory) -> frozenset[str]:
    """The words of a name that say what the memory is about."""
    found = words(_spaced(memory.name))
    return frozenset(word for word in found if len(word) > 2 and word.isalpha()) - _GENERIC


def _spaced(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
