"""Whether two claims say the same, proved from the words and not from a likeness.

*Words*: articles, forms of "to be", address and emphasis are left out; prepositions, modals and quantifiers
are meaning, as is every sign that is no punctuation (`<`, `+`, an emoji). *Claims*: two sentences are the
same where the same words stand in the same order; or where a phrase that opens one of them ("In CI, …")
stands at the end of the other. One claim is contained in another that begins with all of its sentences, in
their order, and goes on without taking anything back. *Context*: "runs on port 8080" may be said of two
services. The subject of a short claim is often in the name or the description alone; likeness of titles
does not decide, words that narrow one of them do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gitmem.core.claim import DISPUTED, Claim, with_dispute
from gitmem.core.dates import relative_dates
from gitmem.core.facts import NEGATIONS, NUMBER_WORDS, missing_facts, names, stem
from gitmem.core.memory import Memory

NOT = "\0not"
"""Stands for any way to say no."""

# What is written without a space is one chunk: `db/a.sql`, `--force`, `don't`; other signs count by one.
_TOKEN = re.compile(
    r"[a-z][a-z0-9+.-]{0,20}://[^\s<>)\]]*[^\s<>)\].,;:!?]|\[\[[^\[\]\n]{1,200}\]\]|`+[^`]+`+"
    r"|(?<![\w-])[a-z](?:\+\+|#)|[\w@~./\\:'’-]+|[^\s\w.,;:!?'\"“”‘’„()\[\]{}*_`–—-]",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_COMPOUND = re.compile(r"[A-Z][a-z]*(?:-[a-z]+)+")
_FILLER_WORDS = "a an the is are be that which you please also just really very simply always do does"
_FILLERS = frozenset(_FILLER_WORDS.split())


def form(word: str) -> str:
    """A word without case and the endings of number and of `-ing`; a past stays: "runs" is not "ran"."""
    lower = word.casefold()
    return lower if lower.endswith("ed") else stem(lower)


def forms(words: str) -> frozenset[str]:
    """The same for several words."""
    return frozenset(map(form, words.split()))


NEGATED = forms(" ".join(NEGATIONS)) | {NOT}


@lru_cache(maxsize=65_536)
def sequence(text: str) -> tuple[str, ...]:
    """The words of a sentence that count, in order: negations as one sign, code and names as written."""
    found: list[str] = []
    for token in _TOKEN.findall(text):
        word = token.replace("’", "'").lstrip(":'").rstrip(".:'-")
        lower = word.casefold()
        if not word.strip("-~./\\@") and word[:1] in ("", *"-~./\\@"):
            continue
        if lower in ("can't", "cannot"):
            found += ["can", NOT]
        elif lower == "won't":
            found += ["will", NOT]
        elif lower.endswith("n't"):
            found += [part for part in (form(lower.removesuffix("n't")),) if part not in _FILLERS]
            found.append(NOT)
        elif lower in ("not", "never", "no"):
            found.append(NOT)
        elif lower in NUMBER_WORDS:
            found.append(NUMBER_WORDS[lower])
        elif _COMPOUND.fullmatch(word):
            found.append(lower)
        elif not _WORD.fullmatch(word) or not (lower == word or word.istitle()):
            # Code, paths, numbers and names in capitals count as they are written.
            found.append(word.strip("`"))
        elif lower not in _FILLERS:
            found.append(form(lower))
    return tuple(found)


def words(text: str) -> frozenset[str]:
    """The words of a text that count, negations apart."""
    return frozenset(word for word in sequence(text) if word != NOT)


MIN_WORDS = 3
"""Words that count which a claim needs before it may be called a duplicate: shorter ones mean too much."""

PHRASE = 8
"""Words of the longest phrase that may move from the front of a sentence to its end."""

_SENTENCE = re.compile(r"(?<=[.!?])[\s*_)\"”]+(?=[^\W_a-z]|[`\"“(\[])|,?\s+(?=because\b)")
_FRONT = re.compile(r"(?P<phrase>[^,;:()]+),\s+(?P<rest>[^,;:()—–]+)")
_MOVING = forms("in on at for during under with without within by")
# Where one of these stands in the rest of a sentence, a phrase at its end may belong to a part of it alone.
_JOINING = forms(
    "and or but nor we they he she i who whose where when whenever while if unless until because"
    " since so as than then before after only not " + NOT
)
# What takes back, narrows or puts off a part of what was said before it.
RESTRICTIONS = forms(
    "but only however except unless until besides although though instead otherwise exception"
    " exceptions deprecated obsolete outdated wrong superseded anymore longer formerly previously"
    " unlike if when whenever where while apply applies valid limited optional skip sometimes mostly"
    " usually often temporarily maybe perhaps probably planned todo might may could should then"
)
_EMPHATIC = re.compile(r"\balways\b", re.IGNORECASE)
# "that" is no word that counts elsewhere; "to" before a verb opens a clause of its own.
_CLAUSE = re.compile(r"\b(?:that|which)\b|\bto (?!(?:the|a|an|its|our|their)\b)[a-z]", re.IGNORECASE)
_TAGGED = re.compile(
    r"^ {0,3}(?:[-+*][ \t]+)?(?:\*\*(?:Why|How(?: to apply)?)\b|(?:Why|How to apply):)", re.IGNORECASE
)
PLAIN_ITEM = re.compile(r"^ {0,3}(?:[-+*]|\d{1,9}[.)])[ \t]+")
_BLOCK = re.compile(
    r"^ {0,3}(?:#{1,6}(?:\s|$)|`{3,}|~{3,}|\||>|<|\[[^\]]+\]:|[-*_=]{3,}\s*$| {4})", re.MULTILINE
)
_NESTED = re.compile(r"\n[ \t]+(?:[-+*]|\d{1,9}[.)])[ \t]")


@dataclass(frozen=True)
class ClaimWords:
    """What a claim says.

    Attributes:
        sentences: its sentences in order, each in a form in which equal ones are equal.
        words: all words that count.
        plain: the claim is one paragraph or list item whose sentences can stand for themselves.
        dated: it speaks of a day that depends on when it was said, and does not say which.
    """

    sentences: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    plain: bool
    dated: bool


def is_tagged(claim: Claim) -> bool:
    """Whether it is a Why or a How to apply, which means nothing without the claim before it."""
    return _TAGGED.match(claim.text) is not None


@lru_cache(maxsize=65_536)
def said(text: str) -> ClaimWords:
    """Reads a claim's text."""
    bare = _bare(text)
    flat = " ".join(bare.split())
    sentences = tuple(found for found in map(_canonical, _SENTENCE.split(flat)) if found)
    found = frozenset(word for part in sentences for word in part if word != NOT)
    leads_in = flat.rstrip(" *_").endswith((":", "?"))
    plain = not (
        leads_in or _BLOCK.search(bare) or _NESTED.search(text) or _TAGGED.match(bare) or "\0" in text
    )
    dated = bool(relative_dates(text))
    return ClaimWords(
        sentences, found, plain and not dated and sum(map(len, sentences)) >= MIN_WORDS, dated
    )


def split_sentences(text: str) -> list[str]:
    """The sentences of a claim, as they are compared."""
    return _SENTENCE.split(" ".join(_bare(text).split()))


def _bare(text: str) -> str:
    return PLAIN_ITEM.sub("", with_dispute(text, "") if DISPUTED in text else text)


def holds(target: Claim, source: Claim) -> bool:
    """Whether the target says all that the source says, so that the source may go."""
    if target.key == source.key:
        return not said(source.text).dated
    mine, other = said(source.text), said(target.text)
    if not (mine.plain and other.plain and other.sentences[: len(mine.sentences)] == mine.sentences):
        return False
    added = frozenset(word for part in other.sentences[len(mine.sentences) :] for word in part)
    if added & (RESTRICTIONS | NEGATED):
        return False
    if len(_EMPHATIC.findall(source.key)) > len(_EMPHATIC.findall(target.key)):
        return False
    return not missing_facts(source.key, target.key)


def _canonical(sentence: str) -> tuple[str, ...]:
    """One form for a sentence and for the one in which its opening phrase stands at the end."""
    match = _FRONT.fullmatch(sentence.strip().rstrip(".!"))
    if match and not _CLAUSE.search(sentence):
        phrase, rest = sequence(match["phrase"]), sequence(match["rest"])
        opens = bool(phrase) and phrase[0] in _MOVING and 1 < len(phrase) <= PHRASE
        if opens and not _JOINING & {*phrase[1:], *rest[1:]} and len(rest) >= MIN_WORDS - 1:
            return rest + phrase
    found = sequence(sentence)
    if found[:1] == ("use",) and found.count("in") == 1 and not (_JOINING | NEGATED) & set(found):
        # "Use the database in tests" is "Tests use the database".
        at = found.index("in")
        return found[at + 1 :] + found[:at]
    return found


class ClaimIndex:
    """The claims of a body by what they say, so that one that holds another is found without a search."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._places: dict[object, list[int]] = {}
        for number, claim in enumerate(claims):
            for key in _heads(claim):
                self._places.setdefault(key, []).append(number)

    def near(self, claim: Claim) -> tuple[int, ...]:
        """Positions of those that may hold a claim, in order."""
        found = {number for key in _heads(claim) for number in self._places.get(key, ())}
        return tuple(sorted(found))


def movable(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a claim stands for itself: nothing leads into it and nothing behind it explains it."""
    follows = claims[number + 1] if number + 1 < len(claims) else None
    explained = follows is not None and is_tagged(follows)
    return said(claims[number].text).plain and not explained and not led_in(claims, number)


def led_in(claims: tuple[Claim, ...], number: int) -> bool:
    """Whether a list item hangs on a line before its list, as in `On Mondays:`."""
    if not claims[number].item:
        return False
    while number >= 0 and claims[number].item:
        number -= 1
    return number >= 0 and claims[number].text.rstrip(" *_").endswith(":")


def heading(claims: tuple[Claim, ...], number: int) -> str:
    """The heading that a claim stands under; empty for none."""
    return next((c.key for c in reversed(claims[:number]) if c.text.lstrip().startswith("#")), "")


def quote(claim: Claim, most: int = 200) -> str:
    """The words of a claim on one line, cut where they are many."""
    line = flat(claim.key)
    return f"“{line}”" if len(line) <= most else f"“{line[:most].rsplit(' ', 1)[0]} …”"


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


def _heads(claim: Claim) -> tuple[object, ...]:
    return (claim.key, *said(claim.text).sentences[:1])


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
QUALIFIERS = forms(
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

    So it is where one description stands in both; where neither name nor description of one holds a word
    that is foreign to the other; where the claims themselves say most of what their description says; or
    where they name a thing that both titles name, and nothing in either title narrows it.

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
    if any(words & QUALIFIERS for words in foreign):
        return False
    if memory.description and sequence(memory.description) == sequence(target.description):
        return True
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
    facts = [fact for fact in missing_facts(here.description, text) if fact != "a negation"]
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
        if word in QUALIFIERS or not (word in known or stem(word) in stems or word[:_HEAD] in heads)
    )


def _narrowed(memory: Memory, foreign: frozenset[str]) -> bool:
    """Whether one of these words narrows what the title of a memory is about."""
    if not foreign:
        return False
    if (
        foreign & QUALIFIERS
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
        for word, following in zip(title, [*title, ""][1:], strict=True):
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
