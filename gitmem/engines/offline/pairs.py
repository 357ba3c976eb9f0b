"""Claims of two memories side by side: the same, one amends the other, a question for a person, or neither.

Likeness finds pairs, over all memories of an agent; it decides none. What two claims say is compared word
by word: numbers, names, negations, words that narrow (staging, Windows, only) and words that turn a
sentence (before, unless, all) must agree before they are one. Members of a series (`Iter 1`, `PR #45`) and
of a list are neither. What the words leave open is a question: an answer takes one key.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Literal

from gitmem.core.account import reference
from gitmem.core.claim import Claim
from gitmem.core.facts import about, missing_facts, stem, words_of
from gitmem.core.memory import Memory
from gitmem.engines.offline.difference import TURNS, WHERE, Words, difference
from gitmem.engines.offline.equivalence import (
    NEGATED,
    NOT,
    QUALIFIERS,
    RESTRICTIONS,
    Titles,
    anchored,
    heading,
    holds,
    said,
    same_context,
    sequence,
    split_sentences,
)
from gitmem.engines.offline.links import LINK, links, slug

COMMON = 12
"""Claims that a word may stand in and still be looked up when claims that are alike are sought."""


NEAREST = 6
"""Claims that are most like one, and are compared with it."""

# Several of these may well be said in one list.
_LISTED = frozenset({"name", "path", "URL"})


Kind = Literal["same", "amends", "ask", "apart"]


@dataclass(frozen=True)
class Judgement:
    """What two statements are to one another.

    Attributes:
        kind: `same`; `amends`, the one that stays takes back what the other says; `ask`, the words do not
            decide; `apart`.
        why: in words for a person; empty where `why_asked` has to compare them.
        first_goes: whether the first of the two goes, else the second.
        differs: of statements that are alike but for one thing, its kind, as `difference` gives it.
        shared: how much they share: rare words, times the share that they are of the one that says less.
        sure: whether they share so much that both speak of one thing, wherever they stand.
    """

    kind: Kind
    why: str = ""
    first_goes: bool = True
    differs: str = ""
    shared: float = 0.0
    sure: bool = False


APART = Judgement("apart")


# Names begin where words do: sought from every letter, one long word would take a time that is its square.
_NAMED = re.compile(
    r"\b(?:[A-Za-z]\w*(?:[_.-]\w+)+|[a-z]+[A-Z]\w*|[A-Z]\w*[a-z][A-Z]\w*|\d{3,}\b|[A-Z]{2,}\d*\b)|#\d{2,}"
)


@lru_cache(maxsize=65_536)
def gist(text: str) -> frozenset[str]:
    """What a statement is about: the stems of its telling words, and the names of code in it as written.

    Where it leads says nothing of what it says: two claims may well end in one `[[link]]`.
    """
    plain = LINK.sub(" ", text)
    return about(plain) | _code_names(plain)


def _code_names(text: str) -> frozenset[str]:
    """The names of code in a statement, long numbers and marks like `#45`, as `gist` has them."""
    return frozenset(match.group().casefold().rstrip(".-_") for match in _NAMED.finditer(text))


@dataclass(frozen=True)
class Weight:
    """How much it tells of two texts that both have a word (its stem): near 1 where few others have it.

    Attributes:
        texts: how many there are.
        found: how many of them have a word.
    """

    texts: int
    found: Mapping[str, int]

    def __call__(self, word: str) -> float:
        """The weight of a word, up to 1."""
        return math.log(2 + self.texts / self.found.get(word, 1)) / math.log(2 + self.texts)

    def binds(self, word: str) -> bool:
        """Whether two texts have a word and no third one."""
        return self.found.get(word, 0) == 2


def weight_of(texts: Iterable[str]) -> Weight:
    """The weight of words by how many of these texts have them."""
    known = list(texts)
    return Weight(len(known), Counter(word for text in known for word in gist(text)))


@dataclass(frozen=True)
class _Place:
    memory: Memory
    number: int

    @property
    def claim(self) -> Claim:
        return self.memory.parsed.claims[self.number]

    @property
    def name(self) -> str:
        return reference(self.memory.path, self.claim)


@dataclass(frozen=True)
class Pair:
    """Two claims that have something to do with one another.

    Attributes:
        gone, stays: memory and position of the claim that would go, and of the one that would stay.
        wording: what the one that stays is to say for both; empty to leave it as it is.
        said: what whoever was asked says of the two, for a person; empty where nobody was asked.
    """

    gone: tuple[Memory, int]
    stays: tuple[Memory, int]
    judgement: Judgement
    likeness: float
    wording: str = ""
    said: str = ""

    @property
    def claims(self) -> tuple[Claim, Claim]:
        """The claim that would go, and the one that would stay."""
        return self.gone[0].parsed.claims[self.gone[1]], self.stays[0].parsed.claims[self.stays[1]]

    @property
    def names(self) -> tuple[str, str]:
        """The two by reference, `<file>#<12 hex>`."""
        gone, stays = self.claims
        return reference(self.gone[0].path, gone), reference(self.stays[0].path, stays)


SAME_WORDS = 5
"""Words that say what it is about which a statement needs before another order of minor words is none."""

ITSELF = 8
"""Telling words of a claim that says itself what it is about, whatever memory it stands in."""

MOSTLY = 0.8
"""Share of a statement that another one has which may say all of it."""

LIKELY, LIKELY_OF = 2.8, 0.52
"""Rare words, and share of the one that says less, which two statements share that are offered as one: the
later one is to stand, and both are shown. Set on a labelled half of 204 pairs, as the three below."""

SURELY = 3.5
"""Rare words that two statements share, times the share that they are of the one that says less, from which
both speak of one thing wherever they stand, and whatever the later one says of it besides."""

LOST = 1
"""Numbers and names of the earlier one that such a later one may lack."""

NEARLY = 0.95
"""Share of both statements from which they use the same words."""

TAKES_BACK, TAKES_BACK_OF = 2.5, 0.4
"""The same where the later one says that it holds no more; a share of the earlier one."""

ASKED, ASKED_OF = 0.9, 0.25
"""The same from which it is asked whether they are one."""

AT_ONCE_WORDS, AT_ONCE, AT_ONCE_OF = 3.2, 1.25, 0.5
"""Rare words that both share, with these times their share of the one that says less, or a share of both,
where nobody knows which was said later: who says two things at once mostly means both."""

TWO_NAMES = 1.5
"""The same from which statements that name what only their own memory is named for are asked about."""

NAMED = 0.2
"""Share of a claim of a memory which a later claim has that links to that memory as superseded, maybe in
part."""

_SUPERSEDES = re.compile(
    r"\b(?:amend|supersed|overrul|revers|replac|revis|obsolete|retract)", re.IGNORECASE
)
_AMENDING = re.compile(
    r"\b(?:amend(?:s|ed|ing|ments?)?|supersed(?:e|es|ed|ing)|overrul(?:e|es|ed|ing)|revers(?:e|es|ed|al)"
    r"|replac(?:e|es|ed|ing)|revis(?:e|es|ed|ion)|no longer|from now on|(?:not|n['’]t) \w+ any ?more"
    r"|anymore|again|switch(?:ed|ing)?|(?:mov|migrat)(?:ed|ing)|instead|now"
    r"|used to|changed|rais(?:ed|es|ing)|lower(?:ed|s|ing)|bump(?:ed|s|ing)?|renam(?:ed|es|ing)"
    r"|drop(?:ped|s|ping)?|remov(?:es?|ed|ing)|revert(?:s|ed)?|deprecat(?:ed|es)|correction"
    r"|actually|update[sd]?|as of)\b",
    re.IGNORECASE,
)
_TOO = re.compile(r"\b(?:too|also|as well|besides|in addition|additionally)\b", re.IGNORECASE)
_CASE = re.compile(r"\b(?:if|when|where|while|unless|until|whenever)\b([^.,;:\n]*)", re.IGNORECASE)
_IF = re.compile(r"\b(?:if|when|where|unless|until)\b[^.,;:()\n]*", re.IGNORECASE)
_OPENS = re.compile(r"\W{0,4}(?:`(?P<code>[^`\n]+)`|(?P<name>[A-Z]\w*[a-z][A-Z]\w*|\w+_\w+|[a-z]\w*\d+\b))")
_FILE = re.compile(r"(?<![\w/.~-])[~.@]{0,2}/?(?:[\w.@{}*-]+/)+[\w.@{}*-]*|(?<=\s)/[\w.@{}*-]+")
POINTER_CHARS = 400
"""Of a claim's beginning that are looked at: a row of dashes would take a time that is its square."""

_POINTER = re.compile(
    r"(?P<see>see\b\W*(?:\[[^\]\n]*\]\(|\[\[|[\w./-]+\.\w{1,4}\b))"
    r"|\W*(?:\[[^\]\n]*\]\([^)\n]*\)|\[\[[^\]\n]*\]\]|[\w./-]+\.(?:md|rst|txt|adoc)\b)\W*?(?:\s[-–—]+\s|$)",
    re.IGNORECASE,
)
"""The beginning of a claim that only says where to read on."""

TOLD = 3
"""Telling words that a claim has behind where to read on which says what is there."""

_SERIAL = re.compile(
    r"\b(?P<label>iter(?:ation)?|phase|step|part|stage|week|sprint|round|issue|pr|mr|task|item|section"
    r"|milestone|round|cycle|batch|wave|day|run|release|version|v|build)s?[ \t]?[#.-]?[ \t]?"
    r"(?P<number>\d+(?:\.\d+)*)\b|#(?P<mark>\d+)\b|\b(?P<code>[A-Z]{1,5}-?\d+[a-z]?)\b",
    re.IGNORECASE,
)


def judge(
    first: str, second: str, weight: Weight, order: int = 0, named: tuple[bool, bool] = (False, False)
) -> Judgement:
    """Says what two statements are to one another.

    Args:
        weight: of words, by their rarity in all that is compared.
        order: 1 where the second was said later, -1 where the first was; 0 where nobody knows.
        named: whether the first, and the second, links to the memory that the other stands in.
    """
    mine, other = gist(first), gist(second)
    shared = mine & other
    recorded = all(named) and all(map(_SUPERSEDES.search, (first, second)))
    # What says here that it supersedes, and there that it is superseded, tells of one thing from both ends.
    if not shared or recorded or in_series(first, second):
        return APART
    # Exact, whatever the order: where both weigh the same, which of them is the later one hangs on it.
    common = math.fsum(map(weight, shared))
    covers = common / math.fsum(map(weight, mine)), common / math.fsum(map(weight, other))
    least = (first, second) if covers[0] >= covers[1] else (second, first)
    much = common * max(covers)
    names_shared = shared & _code_names(first)
    bound = any(weight.binds(name) for name in names_shared if not name.isdecimal())
    if common < ASKED and max(covers) < 1 and not any(named) and not bound:
        return APART
    for source, target in ((first, second), (second, first)):
        if max(covers) > MOSTLY and says(target, source):
            return Judgement("same", "it says all of it", first_goes=source is first)
    cues = [{match.group().casefold() for match in _AMENDING.finditer(text)} for text in (first, second)]
    # What both speak of ("before the schema is migrated") takes nothing back.
    takes_back = bool(cues[0] - cues[1]), bool(cues[1] - cues[0])
    second_later = order > 0 or (not order and (takes_back[1], covers[0]) >= (takes_back[0], covers[1]))
    earlier, later = (0, 1) if second_later else (1, 0)
    kind, words = difference(sequence(first), sequence(second), (first, second))
    if not kind and _in_other_order(sequence(first), sequence(second)):
        kind, words = "direction", "the order of words"
    # What is said of staging alone takes nothing back elsewhere; what nobody knows to be later, nothing.
    narrowed = _scope(sequence(first)) != _scope(sequence(second))
    certain = order != 0 and not narrowed and kind != "direction"
    if certain and takes_back[later] and common >= TAKES_BACK and covers[earlier] >= TAKES_BACK_OF:
        why = "the later one says that it holds no more"
        return Judgement("amends", why, second_later, shared=much, sure=much >= SURELY)
    # What has the same words and is not the same, or differs in one, may well be against the other.
    apart = _adds((first, second)[earlier], (first, second)[later]) or _other_case(first, second)
    alone = certain and not kind and min(covers) < NEARLY and not apart
    likely = common >= LIKELY and max(covers) >= LIKELY_OF and not _against(*least)
    sure = much >= SURELY and not _of_other_things(first, second)
    lost = _lost((first, second)[earlier], (first, second)[later])
    sure = sure and len(lost) <= LOST and not takes_back[earlier] and "a negation" not in lost
    if alone and (likely or sure):
        why = "the later one says the same of it, or something else"
        return Judgement("amends", why, second_later, shared=much, sure=sure)
    for at, linked in ((0, 1), (1, 0)):
        if named[at] and _SUPERSEDES.search((first, second)[at]) and covers[linked] >= NAMED:
            return Judgement("ask", "it says that it supersedes some of that memory", bool(at))
    # A name of the code that these two alone have says that both may speak of it, whatever else they say.
    if not bound and (common < ASKED or max(covers) < ASKED_OF):
        return APART
    if not kind and _of_other_things(first, second):
        return APART
    enough = common >= AT_ONCE_WORDS and much >= AT_ONCE
    enough |= min(covers) >= AT_ONCE_OF or (any(takes_back) and max(covers) >= TAKES_BACK_OF)
    if not order and not kind and not enough:
        return APART
    why = f"they differ in {'an' if kind[0] in 'aeio' else 'a'} {kind} ({words})" if kind else ""
    return Judgement("ask", why, second_later, kind, much)


def _adds(earlier: str, later: str) -> bool:
    """Whether the later statement begins by saying that it comes on top: it amends none."""
    return bool(_TOO.search(split_sentences(later)[0])) and not _TOO.search(earlier)


def _other_case(first: str, second: str) -> bool:
    """Whether each statement names a case that it is about, and the two cases share no telling word."""
    cases = [frozenset[str]().union(*map(gist, _CASE.findall(text))) for text in (first, second)]
    return bool(cases[0] and cases[1]) and not cases[0] & cases[1]


def why_asked(judgement: Judgement, first: str, second: str) -> str:
    """Why a question is asked of two statements, in words for a person."""
    if judgement.why:
        return judgement.why
    missing = missing_facts(first, second), missing_facts(second, first)
    figures = [next((one for one in some if one.startswith("the number ")), "") for some in missing]
    if all(figures):
        return f"they differ in {figures[0]} / {figures[1].removeprefix('the number ')}"
    if "a negation" in (*missing[0], *missing[1]):
        return "they differ in a negation"
    return f"both speak of {spoken}" if (spoken := _shared(first, second)) else "they use the same words"


SHOWN = 3
"""Words that two statements share and that are named to a person."""


def _shared(first: str, second: str) -> str:
    """The longest words that tell and that two statements share, as the first has them, in its order."""
    both = gist(first) & gist(second)
    named_there = dict.fromkeys(match.group() for match in _NAMED.finditer(first))
    found = [name for name in named_there if name.casefold().rstrip(".-_") in both]
    found += [word for word in dict.fromkeys(words_of(first)) if stem(word.casefold()) in both]
    kept = [word for word in found if not any(word != other and word in other for other in found)]
    longest = sorted(dict.fromkeys(kept), key=lambda word: (-len(word), word))[:SHOWN]
    return ", ".join(sorted(longest, key=first.index))


def _against(contained: str, other: str) -> bool:
    """Whether two statements differ in more than that one says more: in a number or a name each way."""
    lost, added = _lost(contained, other), _lost(other, contained)
    if "a negation" in lost:
        return True
    return any(_facts(lost, what) and _facts(added, what) for what in ("number", ""))


def _lost(text: str, other: str) -> tuple[str, ...]:
    """What another statement does not give of the numbers, names and negations of one."""
    # The first word of a sentence is a capital one, and no name for it.
    both = [said[:1].lower() + said[1:] for said in (text, other)]
    lost = missing_facts(*both)
    if "a negation" in lost and "a negation" not in missing_facts(*(_IF.sub(" ", said) for said in both)):
        # "Defaults to INFO if not set" says no to nothing.
        lost = tuple(one for one in lost if one != "a negation")
    return lost


def _of_other_things(one: str, other: str) -> bool:
    """Whether each begins with the name of a thing, or names files, of which the other names none."""
    return any(
        mine and theirs and not any(name in other for name in mine) | any(name in one for name in theirs)
        for mine, theirs in ((find(one), find(other)) for find in (_opening, _files))
    )


def _opening(text: str) -> list[str]:
    """The name of code that a statement begins with, if any."""
    match = _OPENS.match(text)
    return [match["code"] or match["name"]] if match else []


def _files(text: str) -> list[str]:
    return [match.group().rstrip("/.") for match in _FILE.finditer(text)]


def _scope(words: Words) -> frozenset[str]:
    """What narrows where a statement holds: `in staging`, `on Windows`."""
    return frozenset(word for before, word in pairwise(words) if before in WHERE and word in QUALIFIERS)


def _in_other_order(one: Words, other: Words) -> bool:
    """Whether one says nearly all of the other in another order, but for a phrase that moved whole."""
    both = Counter(one) & Counter(other)
    if both.total() < MOSTLY * min(len(one), len(other)):
        return False
    once = {word for word in both if one.count(word) == other.count(word) == 1}
    mine, theirs = ([word for word in words if word in once] for words in (one, other))
    while mine and mine[0] == theirs[0]:
        mine, theirs = mine[1:], theirs[1:]
    while mine and mine[-1] == theirs[-1]:
        mine, theirs = mine[:-1], theirs[:-1]
    return bool(mine) and not any(mine[at:] + mine[:at] == theirs for at in range(len(mine)))


def _facts(phrases: Sequence[str], what: str) -> bool:
    """Whether phrases of `lacking` tell of a number, or else of anything but numbers and negations."""
    numeric = [phrase.startswith("the number ") for phrase in phrases if phrase != "a negation"]
    return any(numeric) if what else not all(numeric)


def says(target: str, source: str) -> bool:
    """Whether a statement says all that another says, of the same thing, in nearly the same words."""
    if holds(Claim(target, "", target), Claim(source, "", source)):
        return True
    if len(about(source)) < SAME_WORDS or missing_facts(source, target):
        return False
    mine, other = (tuple(filter(_telling, sequence(text))) for text in (source, target))
    rest = iter(other)
    if not all(word in rest for word in mine):
        return False
    added = Counter(other) - Counter(mine)
    return not added.keys() & (RESTRICTIONS | NEGATED | QUALIFIERS | TURNS)


def in_series(first: str, second: str) -> bool:
    """Whether two statements are of a series: each names a number of its own (`Iter 1`, `PR #45`)."""
    mine, other = (
        {match.group().casefold() for match in _SERIAL.finditer(text)} for text in (first, second)
    )
    return bool(mine) and bool(other) and not mine & other


def _telling(word: str) -> bool:
    """Whether a word is more than a joint between others."""
    return word in TURNS or word == NOT or not word.isalpha() or bool(about(word))


def _is_pointer(text: str) -> bool:
    """Whether a claim only says where to read on, and not what is there."""
    match = _POINTER.match(text[:POINTER_CHARS])
    return match is not None and (not match["see"] or len(about(text[match.end() :])) < TOLD)


def find_pairs(memories: Sequence[Memory], said_at: Mapping[str, datetime]) -> list[Pair]:
    """Finds the claims that have something to do with one another, best first.

    Args:
        memories: of one agent.
        said_at: claim to when it was first said.
    """
    known = [
        _Place(memory, number)
        for memory in memories
        for number, claim in enumerate(memory.parsed.claims)
        if about(LINK.sub(" ", claim.key)) and not _is_pointer(claim.key)
    ]
    weight = weight_of(place.claim.key for place in known)
    plain = [place for place in known if said(place.claim.text).plain]
    titles = Titles(memories)
    found: dict[frozenset[str], Pair] = {}
    for one, other, likeness in _near(plain, weight):
        order = _order(one.name, other.name, said_at)
        named = _links_to(one, other.memory), _links_to(other, one.memory)
        made = judge(one.claim.key, other.claim.key, weight, order, named)
        _keep(found, one, other, _in_context(titles, one, other, made), likeness)
    rank = ("same", "amends", "ask")
    return sorted(
        found.values(),
        key=lambda pair: (rank.index(pair.judgement.kind), -round(pair.likeness, 6), *_ends(pair)),
    )


def _ends(pair: Pair) -> tuple[str, int, str, int]:
    return pair.gone[0].path, pair.gone[1], pair.stays[0].path, pair.stays[1]


def _keys(text: str) -> frozenset[str]:
    """What claims that are alike share and few others have: telling words, and two of them in a row."""
    row = [word for word in sequence(text) if _telling(word)]
    return gist(text) | {f"{one} {two}" for one, two in pairwise(row)}


def _links_to(place: _Place, memory: Memory) -> bool:
    known = {slug(memory.name), slug(PurePosixPath(memory.path).stem)}
    return any(slug(link) in known for link in links(place.claim.text))


def _keep(
    found: dict[frozenset[str], Pair], one: _Place, other: _Place, made: Judgement, how: float
) -> None:
    if made.kind != "apart":
        gone, stays = (one, other) if made.first_goes else (other, one)
        pair = Pair((gone.memory, gone.number), (stays.memory, stays.number), made, how)
        found.setdefault(frozenset({one.name, other.name}), pair)


def _order(first: str, second: str, said_at: Mapping[str, datetime]) -> int:
    """Which of two claims was said later; 0 where that is unknown."""
    one, other = said_at.get(first), said_at.get(second)
    return 0 if one is None or other is None or one == other else 1 if one < other else -1


def _near(places: Sequence[_Place], weight: Weight) -> Iterator[tuple[_Place, _Place, float]]:
    """Claims that share rare words, each pair once, with how much they share."""
    having: dict[str, list[int]] = {}
    for number, place in enumerate(places):
        for word in _keys(place.claim.key):
            having.setdefault(word, []).append(number)
    pairs: dict[tuple[int, int], float] = {}
    for number, place in enumerate(places):
        mine = gist(place.claim.key)
        shared: dict[int, float] = {}
        for word in sorted(_keys(place.claim.key)):
            if 1 < len(having[word]) <= COMMON:
                for other in having[word]:
                    if other != number:
                        shared[other] = shared.get(other, 0.0) + weight(word)
        for other in sorted(shared, key=lambda other: (-shared[other], other))[:NEAREST]:
            theirs = gist(places[other].claim.key)
            least = min(math.fsum(map(weight, mine)), math.fsum(map(weight, theirs)))
            common = math.fsum(map(weight, mine & theirs))
            pairs[min(number, other), max(number, other)] = common * common / least
    for one, other in sorted(pairs):
        yield places[one], places[other], pairs[one, other]


def _in_context(titles: Titles, one: _Place, other: _Place, made: Judgement) -> Judgement:
    """What two claims are to one another in their memories: the same words may be said of two things."""
    if made.kind == "apart":
        return APART
    if _of_two_things(one, other):
        told = min(len(gist(place.claim.key)) for place in (one, other)) >= ITSELF
        asks = one.memory is not other.memory and told and made.shared >= TWO_NAMES
        return (
            Judgement("ask", "their memories are named for two things", made.first_goes) if asks else APART
        )
    memories = one.memory, other.memory
    if one.memory is other.memory:
        claims = one.memory.parsed.claims
        listed = made.differs in _LISTED and one.claim.item and other.claim.item
        near = made.differs and heading(claims, one.number) == heading(claims, other.number)
        return made if near and not listed and made.kind == "ask" else APART
    about_one = same_context(titles, *memories, [one.number], [other.number])
    if made.kind == "same" and _speaks_for_itself(one, other):
        return made
    if made.kind == "amends" and made.sure and not _narrowed(one, other):
        return made
    if about_one and (made.kind == "ask" or one.memory.type == other.memory.type):
        return made
    if made.kind != "same" and (
        anchored(titles, *memories, (one.claim.text, other.claim.text)) or made.kind == "amends"
    ):
        return Judgement("ask", made.why, made.first_goes)
    if len(about(one.claim.key)) < SAME_WORDS:
        return APART
    return Judgement("ask", "they use the same words, perhaps of two things", made.first_goes)


def _speaks_for_itself(one: _Place, other: _Place) -> bool:
    """Whether claims are long enough to say what they are about, and nothing in a title narrows them."""
    least = min(len(gist(place.claim.key)) for place in (one, other))
    return least >= ITSELF and one.memory.type == other.memory.type and not _narrowed(one, other)


def _narrowed(one: _Place, other: _Place) -> bool:
    """Whether a word narrows one title and not the other; a description that is a sentence sums up."""
    here, there = (
        frozenset(
            sequence(
                f"{memory.name} {memory.description if len(about(memory.description)) < ITSELF else ''}"
            )
        )
        for memory in (one.memory, other.memory)
    )
    return bool((here ^ there) & (QUALIFIERS | NEGATED))


def _of_two_things(one: _Place, other: _Place) -> bool:
    """Whether each claim names what its own memory is named for, and the other one does not."""
    here, there = (
        about(f"{place.memory.name.replace('-', ' ').replace('_', ' ')}") for place in (one, other)
    )
    mine, theirs = about(one.claim.key), about(other.claim.key)
    return bool(here & mine - theirs - there) and bool(there & theirs - mine - here)
