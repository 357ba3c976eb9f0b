"""The facts that no rewording may lose (numbers, negations, names, paths, URLs, links), and what one adds.

Similarity cannot tell "3.11 is the minimum" from "3.12 is the minimum", nor "always" from "never"; these
can. A dream may say again what is there, in other words; what it adds it has made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache

from gitmem.core.dates import relative_dates

LINK = re.compile(r"\[\[([^\[\]\n|#]+)(?=(?:[|#][^\[\]\n]*)?\]\])")
"""Where a wiki link leads; what it shows besides is said like anything else."""

_URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s<>\"'`)\]]*[^\s<>\"'`)\].,;:!?]", re.IGNORECASE)
CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
"""Code between as many backticks as stand before it."""
_PATH = re.compile(
    r"(?<![\w/.~-])(?:~|\.{1,2})?/?[\w@-][\w.@-]*(?:/[\w.@*-]+)+/?|(?<![\w/.])[~.]?/[\w.@-]+"
)
_IDENTIFIER = re.compile(
    r"(?<![\w.-])(?:--?[A-Za-z][\w-]*|\w+(?:\.\w+)*\.[A-Za-z]\w*(?:\(\))?|\w*[^\W\d_]_\w+|[a-z]+[A-Z]\w*"
    r"|[^\W\d_]+\d\w*)"
)
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*(?:%|[A-Za-z]{1,3}\b)?")
_PART = re.compile(r"[\w/.@-]")
_ONTO = re.compile(r"[\w/@-]")
_WRITTEN = 200
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_TOKEN = re.compile(f"{_NUMBER.pattern}|{_WORD.pattern}")
# A run of blanks is tried at its beginning alone: what is blanked out may be long.
_SENTENCE = re.compile(r"(?<=[.!?;:])[\s*_)\"”]+|\n+|(?<![^\S\n])[^\S\n]+(?:[—–]|--?)\s+")

_CLAUSE = re.compile(r"[,;]\s+|(?<!\s)\s+(?:and|but|while|whereas|und|aber|während)\s+", re.IGNORECASE)

_COUNTS = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTS.split())} | {
    "once": "1",
    "twice": "2",
    "hundred": "100",
    "thousand": "1000",
}
_NEGATION_WORDS = """
    no not never none nobody nothing neither nor without cannot avoid except unless forbidden
    nicht nie niemals kein keine keinen keinem keiner keines niemand nichts nirgends ohne weder
    außer verboten
"""
NEGATIONS = frozenset(_NEGATION_WORDS.split())

# Words that open a sentence and are no name. A word that is missing here is taken for one, which only
# makes a merge harder to claim.
_OPENER_WORDS = """
    a an the this that these those it its they there here he she we you i our your my their his
    her if when while where why how what which who because since so as at by for from in into of
    on once to with within without under over after before until unless during and or but also
    then thus both each every all any some most many few more other another always never only
    just even still now today new old same not no do does don doesn is are was were be been can
    could should must may might will would shall has have had use uses using used run runs
    running keep make makes put puts set sets check write read prefer avoid add remove delete
    update create call test tests ask tell see look find start stop try let get give take treat
    wait expect note remember ensure verify please instead rather otherwise however everything
    nothing everyone nobody one two first second last next default
"""
_OPENERS = frozenset(_OPENER_WORDS.split())


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """A word without case and the endings of number and tense."""
    plain = word.casefold().replace("’", "'").removesuffix("'s")
    for end in ("ing", "ed", "es", "s"):
        if plain.endswith(end) and len(plain) - len(end) >= 3 and not plain.endswith("ss"):
            plain = plain[: -len(end)]
            break
    if len(plain) > 3 and plain[-1] == plain[-2] and plain[-1] not in "sl":
        plain = plain[:-1]
    if len(plain) > 3 and plain[-1] == "i":
        plain = plain[:-1] + "y"
    return plain[:-1] if len(plain) > 3 and plain[-1] == "e" else plain


COMPARED = 1_000_000
"""Pairs of sentences of two texts that are compared at most, in some seconds; where there are more, a fact
counts as lost."""

_STRUCK = re.compile(r"~~(?=\S)")  # said, and meant not to hold


@lru_cache(maxsize=8192)
def is_negation(word: str) -> bool:
    """Whether a word says no."""
    plain = word.casefold().replace("’", "'")
    return plain in NEGATIONS or plain.endswith("n't")


@lru_cache(maxsize=8192)
def missing_facts(source: str, target: str) -> tuple[str, ...]:
    """Names the facts of one text that another does not hold, each as a phrase for a person.

    Args:
        source: the text that would go.
        target: the text that would stand for it.

    Returns:
        Empty where nothing is lost. In doubt a fact counts as lost: "merged" must be true.
    """
    missing = [f"the number {number}" for number in sorted(numbers(source) - numbers(target))]
    plain = " ".join(target.split())
    missing += [f"the {what} {text}" for what, text in _exact(source) if not _holds(plain, text)]
    known = {stem(word) for word in _WORD.findall(target)}
    missing += [f"the name {name}" for name in names(source) if stem(name) not in known]
    around = _swapped(source, target)
    struck = _STRUCK.search(source) and not _STRUCK.search(target)
    if _turned(source, target) or _DENIED in around or struck:
        missing.append("a negation")
    missing += [f"the order around “{word}”" for word in around if word != _DENIED]
    return tuple(missing)


def numbers(text: str) -> frozenset[str]:
    """Numbers with the unit that is written onto them; number words as digits."""
    words = (word.casefold() for word in _WORD.findall(text))
    found = {NUMBER_WORDS[word] for word in words if word in NUMBER_WORDS}
    return frozenset(found | {match.casefold() for match in _NUMBER.findall(text)})


@lru_cache(maxsize=65_536)
def names(text: str) -> tuple[str, ...]:
    """Capitalised words, in order, each once; the first word of a sentence unless it commonly opens one."""
    found: dict[str, None] = {}
    for sentence in sentences(_blanked(text)):
        for number, match in enumerate(_WORD.finditer(sentence)):
            word = match.group().replace("’", "'").removesuffix("'s")
            opener = number == 0 and word.casefold() in _OPENERS
            if word[0].isupper() and not opener and word != "I" and not is_negation(word):
                found[word] = None
    return tuple(found)


def sentences(text: str) -> tuple[str, ...]:
    """The sentences and lines of a text."""
    return tuple(part for part in _SENTENCE.split(text) if part.strip())


def _exact(text: str) -> list[tuple[str, str]]:
    """What has to stand in the other text letter by letter: (kind, text)."""
    found = [("URL", match.group()) for match in _URL.finditer(text)]
    found += [("link", f"[[{match.group(1).strip()}") for match in LINK.finditer(text)]
    found += [("name", " ".join(match.group(2).split())) for match in CODE.finditer(text)]
    plain = _blanked(text)
    found += [("path", _whole(plain, *match.span())) for match in _PATH.finditer(plain)]
    rest = _PATH.sub(lambda match: " " * len(match.group()), plain)
    found += [("name", _whole(plain, *match.span())) for match in _IDENTIFIER.finditer(rest)]
    return found


def _whole(text: str, start: int, end: int) -> str:
    """A path or name with what is written onto it, so that it is found where it stands: `e2e/`, `P0-4b`."""
    least, most = start - _WRITTEN, end + _WRITTEN
    while text[start].isalnum() and max(least, 0) < start and _PART.match(text[start - 1]):
        start -= 1
    if text[end - 1].isalnum() and _ONTO.match(text, end):
        while end < min(most, len(text)) and _PART.match(text[end]):
            end += 1
        while text[end - 1] == ".":
            end -= 1
    return text[start:end]


def _holds(plain: str, text: str) -> bool:
    at = plain.find(text)
    while at >= 0:
        longer = text[:1].isalnum() and _PART.match(plain[at - 1 : at])
        if not (longer or (text[-1:].isalnum() and _ONTO.match(plain, at + len(text)))):
            return True
        at = plain.find(text, at + 1)
    return False


def _blanked(text: str) -> str:
    """The text with URLs, code and links taken out, since they are compared as they stand."""
    for pattern in (_URL, CODE, LINK):
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return text


def _turned(source: str, target: str) -> bool:
    """Whether some sentence is negated in one text and not in the other."""
    there, mine = _sides(target), _sides(source)
    if len(there) * len(mine) > COMPARED:
        return source != target
    for here, wanted in mine:
        scored = [(len(here & words), negated) for words, negated in there]
        best = max((score for score, _ in scored), default=0)
        if 2 * best < len(here) or not best:
            if wanted and not any(negated for _, negated in there):
                return True
        elif not any(negated == wanted for score, negated in scored if score == best):
            return True
    return False


def _swapped(source: str, target: str) -> tuple[str, ...]:
    """The words around which two texts say the same things the other way round; a negation is `_DENIED`.

    "By Ana, not by Ben" has every word of "by Ben, not by Ana". What stands on one side alone counts, and
    something must go each way: "in tests, never mock" is "never mock in tests".
    """
    mine, there = _contrasts(source), _contrasts(target)
    found: dict[str, None] = {}
    for pivot in (one for one in mine if one in there):
        (first, second), (left, right) = mine[pivot], there[pivot]
        if (first - second) & (right - left) and (second - first) & (left - right):
            found[_AROUND.get(pivot, _DENIED)] = None
    return tuple(found)


_DENIED = "not"
_AROUND_WORDS = "not before after instead rather than over vor nach statt als"
_AROUND = {stem(word): word for word in _AROUND_WORDS.split()} | {stem("nicht"): _DENIED}


@lru_cache(maxsize=65_536)
def _contrasts(text: str) -> dict[str, tuple[set[str], set[str]]]:
    """What stands before and behind each word that sets one thing against another, in all sentences.

    Under an empty name what no negation is about, and what stands in a clause with one.
    """
    found: dict[str, tuple[set[str], set[str]]] = {}
    for sentence in sentences(text):
        tokens = [stem(word) for word in _TOKEN.findall(sentence)]
        ends = dict(zip(tokens, range(len(tokens)), strict=True))
        for word in (one for one in ends if one in _AROUND):
            first, second = found.setdefault(word, (set(), set()))
            first |= {*tokens[: ends[word]]} - _COMMON
            second |= {*tokens[tokens.index(word) + 1 :]} - _COMMON
        for clause in clauses(sentence):
            denied = any(map(is_negation, _WORD.findall(clause)))
            found.setdefault("", (set(), set()))[denied].update(_stems(clause) - _COMMON)
    return found


@lru_cache(maxsize=65_536)
def _sides(text: str) -> tuple[tuple[frozenset[str], bool], ...]:
    """Of each sentence the stems of its words, and whether it says no."""
    return tuple(
        (_stems(part), any(is_negation(word) for word in _WORD.findall(part))) for part in sentences(text)
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in _WORD.findall(text) if not is_negation(word))


_DATE = re.compile(r" \((\d{4}-\d{2}-\d{2})\)")
_LONG_WORD = re.compile(r"[^\W\d_]{2,}(?:['’][^\W\d_]+)?")

# Words that stand in any sentence, whatever it is about.
_COMMON_WORDS = """
    a about after again all also always an and any are as at be because been before behind being but
    by can could did do does doing done each else even ever every for from had has have he her here
    his how if in into is it its just keep like made make may more most much must need new now of off on
    once one only or other our out over own put same see set she should so some still such than that
    the their them then there these they this those through to too under until up us use used using
    very was we were what when where which while who why will with within would yet you your
"""
_COMMON = frozenset(map(stem, _COMMON_WORDS.split()))

_NUMBER_STEMS = frozenset(map(stem, NUMBER_WORDS))

# Words that stand in any sentence, and turn what it says all the same.
_TURNING_WORDS = """
    after again all any before down every less may more most must off once only out over should some under
    until up
    alle bis erst immer manchmal mehr muss nach nur oder seit soll vor weniger
"""
TURNING = frozenset(_TURNING_WORDS.split())

KIN = 3
"""One in so many words that say what a claim is about must stand in what takes its place."""

NEW = 2
"""One in so many of them, in a claim that took no other's place, must have stood somewhere before."""


def added(new: str, sources: Iterable[str]) -> tuple[str, ...]:
    """Names the facts of a claim that none of its sources has, each as a phrase for a person.

    Args:
        new: the claim, its dates by `without_dates` taken out.
        sources: claims that it was made of, and those that stood around it.
    """
    return missing_facts(new, "\n\n".join(sources))


def misplaced_facts(new: str, sources: Iterable[str], taught: Iterable[str] = ()) -> tuple[str, ...]:
    """Names the numbers and names of a text that its sources say of something else.

    "Staging runs on 9090, production on 8080" has every fact of "staging runs on 8080, production on 9090".
    Each is sought in the clauses that are most like the one in which it stands, itself left out.

    Args:
        taught: clauses that the new text says again; what they hold is in its place.

    Returns:
        A phrase each for a person; what stands in no source at all is not told.
    """
    there = [(_stems(part), numbers(part)) for source in sources for part in clauses(source)]
    if len(there) * len(clauses(new)) > COMPARED:
        return ("more than can be compared",)
    known = frozenset().union(*(words for words, _ in there))
    counted = frozenset().union(*(found for _, found in there))
    said = "\n\n".join(taught)
    placed, right = _stems(said), numbers(said)
    found: dict[str, None] = {}
    for part in clauses(new):
        words = _stems(part)
        for number in sorted((numbers(part) & counted) - right):
            if not any(number in held for held in _likest(words - _NUMBER_STEMS, there, 1)):
                found[f"the number {number}"] = None
        for name in names(part):
            if stem(name) in known - placed and not any(
                stem(name) in held for held in _likest(words - {stem(name)}, there, 0)
            ):
                found[f"the name {name}"] = None
    return tuple(found)


def clauses(text: str) -> tuple[str, ...]:
    """The sentences of a text, cut where another statement begins."""
    return tuple(part for sentence in sentences(text) for part in _CLAUSE.split(sentence) if part.strip())


def _likest(
    words: frozenset[str], there: Sequence[tuple[frozenset[str], frozenset[str]]], side: int
) -> list[frozenset[str]]:
    """The words, or the numbers, of the clauses that have most of some words; of all where none has any."""
    scored = [(len(words & clause[0]), clause[side]) for clause in there]
    best = max((score for score, _ in scored), default=0)
    return [held for score, held in scored if score == best]


def without_dates(text: str, days: Mapping[str, date] | None = None) -> str:
    """A claim without the dates that are written behind relative phrases.

    Args:
        days: relative phrase to the day it means, where that is known: another date stays.
    """
    parts: list[str] = []
    dates: list[tuple[int, str]] = []
    at = length = 0
    for match in _DATE.finditer(text):
        parts.append(text[at : match.start()])
        length += len(parts[-1])
        dates.append((length, match[1]))
        at = match.end()
    if not dates:
        return text
    plain = "".join([*parts, text[at:]])
    phrases = {phrase.end: phrase.text for phrase in relative_dates(plain)}
    kept: list[str] = []
    at = 0
    for end, day in dates:
        phrase = phrases.get(end)
        meant = (days or {}).get(phrase) if phrase is not None else None
        kept.append(plain[at:end])
        if phrase is None or (meant is not None and meant.isoformat() != day):
            kept.append(f" ({day})")
        at = end
    return "".join([*kept, plain[at:]])


def holds(whole: str, part: str) -> bool:
    """Whether a text says what another says: it lacks no fact and none of the words of it."""
    return about(part) <= about(whole) and not missing_facts(part, whole)


def akin(source: str, target: str) -> bool:
    """Whether a text can stand for another: some of the words that say what that is about are in it.

    A claim without numbers and names lacks no fact in any other claim; it is not said there all the same.
    """
    words, there = about(source), about(target)
    return source == target or not words or KIN * len(words & there) >= len(words)


def unheard(new: str, sources: Iterable[str]) -> bool:
    """Whether most of what a claim is about stands in none of these texts."""
    words = about(new)
    known = frozenset().union(*map(about, sources))
    return NEW * len(words & known) < len(words)


@lru_cache(maxsize=8192)
def about(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about: no negations, nor what stands in any text."""
    return frozenset(map(stem, words_of(text))) - _COMMON


def words_of(text: str) -> list[str]:
    """The words of a text that are longer than a letter and no negation."""
    return [word for word in _LONG_WORD.findall(text) if not is_negation(word)]
