"""What a statement does to an earlier one, of its session or of memory: repeat, complete, replace it.

Extraction corrects memory where it reads a session; it is off, or late, or was not sure. So a dream holds
what was said since the last one against memory, too. What it finds is a question in any case: a sentence
may mean another place, or the moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from gitmem.core.account import reference
from gitmem.core.change import TYPES, Change, Edited, MemoryType
from gitmem.core.memory import Memory, parse, reword, with_description, without
from gitmem.core.names import agent_folder
from gitmem.core.trailers import ASKING, Fate
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import prose, wording
from gitmem.engines.offline.equivalence import movable, quote
from gitmem.engines.offline.likeness import NEAR, Gist, gist, near, same, words
from gitmem.engines.offline.requests import Reversal, is_passing, reversals
from gitmem.engines.offline.work import ConsolidationWork

_AGAIN = re.compile(
    r"^(?:and |but |so )*(?:as |like )?(?:i(?:'ve| have)?(?: already)? (?:said|told you|mentioned)"
    r"(?: before)?|again|once more)[,:]?(?: that)? ",
    re.I,
)
_WORD = re.compile(r"[^\W_]+(?:['.:/-][^\W_]+)*|[+#]+")
_LIGHT_WORDS = "a an the please just really that here is are was were be been ok"
_LIGHT = frozenset(_LIGHT_WORDS.split())
_CUES = frozenset(words("actually sorry correction rather instead meant"))
_EQUATES = frozenset(("is", "are", "be", "at", "to", "than"))
_REASONED = ("**why", "**how to apply", "why:", "how to apply:")

OLD_WORDS = 4
"""Words that name what is given up, at most: of more, most must be in the memory, of these each."""

SUBJECT = 0.5
"""Share of a claim's words that a correction without the old word must hold to be about it."""


@dataclass(frozen=True)
class Stated:
    """A statement found earlier in the session.

    Attributes:
        text: the statement, without reason and use.
        asked: it was plainly asked to be remembered.
    """

    text: str
    gist: Gist
    asked: bool


@dataclass(frozen=True)
class Earlier:
    """Which earlier statement a new one bears on, by place, and how."""

    at: int
    how: Literal["repeats", "completes", "corrects"]


def earlier(new: Stated, found: Sequence[Stated], *, corrects: bool) -> Earlier | None:
    """Finds the one earlier statement that a new one says again, completes or corrects.

    What was asked to be remembered is dropped only where the very same words were said before: likeness
    takes "number 4 is Ann's" for "number 5 is Ben's". A correction needs its cue, and one subject alone
    that it can be about.

    Args:
        found: statements of this session so far, in order.
        corrects: the new one carries a cue (`takes_back`).
    """
    tokens = _tokens(new.text)
    for at, old in enumerate(found):
        if tokens == _tokens(old.text):
            return Earlier(at, "repeats")
    for at, old in enumerate(found):
        if new.text.startswith(old.text) and not old.asked:
            return Earlier(at, "completes")
        if not (new.asked or old.asked) and _likely_the_same(new.gist, old.gist):
            return Earlier(at, "completes" if same(old.gist, new.gist) else "repeats")
    if corrects:
        subjects = [at for at, old in enumerate(found) if _same_subject(new.gist, old.gist)]
        if len(subjects) == 1:
            return Earlier(subjects[0], "corrects")
    return None


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[str, ...]:
    """All that could tell two statements apart: words and numbers in order, without articles."""
    plain = _AGAIN.sub("", text.replace("’", "'"))
    return tuple(w for w in (found.lower() for found in _WORD.findall(plain)) if w not in _LIGHT)


def _likely_the_same(new: Gist, old: Gist) -> bool:
    if not near(new, old) or new.numbers != old.numbers:
        return False
    contained = new.words <= old.words or old.words <= new.words
    # A long statement that has all the words of a short one says something else besides.
    alike = len(new.words & old.words) >= NEAR * len(new.words | old.words)
    return contained and alike and (same(new, old) or same(old, new))


def _same_subject(new: Gist, old: Gist) -> bool:
    """One thing is said otherwise: a number, a yes or no, or a name; where more differs, it is another."""
    if new.words - _CUES == old.words - _CUES:
        return True
    if new.numbers != old.numbers or new.negative != old.negative:
        return False
    return near(new, old)


def says(known: Gist, old: str, new: str) -> bool:
    """Says whether a text says what is given up, and not yet what holds in its place.

    Args:
        known: the text.
        old: words that name what is given up.
        new: the new statement; empty where nothing takes its place.
    """
    named = gist(old)
    sought = named.words | named.numbers
    there = known.words | known.numbers
    if not sought:
        return False
    needed = len(sought) if len(sought) <= OLD_WORDS else 0.7 * len(sought)
    if len(sought & there) < needed:
        return False
    fresh = gist(new)
    brings = (fresh.words | fresh.numbers | fresh.names) - sought
    # "Use bun, not pnpm" gives up what says pnpm; a memory that says "bun, not pnpm" has it already.
    return not brings or not (brings <= there | known.names or (known.negative and brings & there))


def given_up(
    given: ExtractInput, way: Reversal, new: str, text: str, *, surely: bool = False
) -> Change | None:
    """The update or deletion of the memory that says what a person gives up.

    Args:
        given: what memory holds.
        way: what is given up.
        new: the new statement; empty where nothing takes its place.
        text: the same with its dates made clear.
        surely: no person looks at it first: it has to be plain which claim is meant, and no one else's.

    Returns:
        an edit of the memory that is meant; None where there is none, or it could be several.
    """
    found = sorted(_meant(given, way, new), key=lambda one: (-one[0], one[1:]))
    if surely and any(path.startswith("project/") for _, path, _ in found):
        return None
    if surely and way.plainly:
        found = found if len(found) == 1 else []
    elif surely:
        found = [one for one in found if way.old and agrees(_claim(given, *one[1:]), way.old, new)]
    if not found:
        return None
    if not way.plainly and len(found) > 1 and found[0][0] == found[1][0] and found[0][1] != found[1][1]:
        return None
    _, path, number = found[0]
    data = given.memory[path]
    _, agent, file = path.split("/", 2)
    memory = parse(file, data)
    after = with_statement(memory, number, text)
    kind: MemoryType = next((one for one in TYPES if one == memory.type), "project")
    base = Change(
        "delete", memory.name, memory.description, kind, "", "", 0.0, False, agent=agent, file=file
    )
    if after is None:
        return base
    body = wording.statement(text) if text else memory.parsed.claims[number].text
    return Change(
        "update",
        memory.name,
        after.description,
        kind,
        body,
        "",
        0.0,
        False,
        agent=agent,
        file=file,
        edited=Edited(data, after.render()),
    )


def differs_in_value(new: str, known: str) -> bool:
    """Whether two statements are the same but for one number or name, and both say what something is.

    "The port is 7001" is about what "the port is 7000" is about; "step 2 needs root" is not about step 1.
    """
    ours, theirs = (_WORD.findall(text.replace("’", "'")) for text in (new, known))
    if len(ours) != len(theirs):
        return False
    pairs = enumerate(zip(ours, theirs, strict=True))
    apart = [at for at, (our, their) in pairs if our.lower() != their.lower()]
    if len(apart) != 1 or not apart[0]:
        return False
    (at,) = apart
    told = all(word[0].isdigit() or word[0].isupper() for word in (ours[at], theirs[at]))
    return told and ours[at - 1].lower() in _EQUATES


def agrees(known: Gist, old: str, new: str) -> bool:
    """Whether a text and a new statement differ in what is given up alone: then both are about one thing.

    "Staging is on port 8080, not 80" says nothing of a production that listens on port 80.
    """
    given, said, fresh = (one.words | one.numbers for one in (gist(old), known, gist(new)))
    return said - given <= fresh and len(fresh - said) <= len(given)


def _claim(given: ExtractInput, path: str, number: int) -> Gist:
    said = _statements(path.split("/", 2)[2], given.memory[path])
    return next(known for at, known, _ in said if at == number)


def _meant(given: ExtractInput, way: Reversal, new: str) -> Iterator[tuple[float, str, int]]:
    """Claims that a reversal may be about: how well it fits, whose memory, which claim of the body."""
    fresh = gist(new)
    about = fresh.words | gist(way.old).words
    for path, data in given.memory.items():
        _, agent, file = path.split("/", 2)
        if agent != given.agent or file.startswith(("archive/", "logs/")):
            continue
        for number, known, whole in _statements(file, data):
            shared = len(about & whole.words) / max(1, len(whole.words))
            if way.old:
                if says(known, way.old, new) or (number == 0 and says(whole, way.old, new)):
                    yield 1 + shared, path, number
            elif _contradicts(fresh, known):
                yield shared, path, number


@lru_cache(maxsize=2048)
def _statements(file: str, data: bytes) -> tuple[tuple[int, Gist, Gist], ...]:
    """The claims of a memory's body that state something: place, what it says, the same with its title."""
    memory = parse(file, data)
    return tuple(
        (number, gist(claim.text), gist(f"{memory.description} {claim.text}"))
        for number, claim in enumerate(memory.parsed.claims)
        if not claim.text.lower().startswith(_REASONED) and not claim.text.startswith("#")
    )


def _contradicts(new: Gist, known: Gist) -> bool:
    """Whether a correction that names nothing old is about a claim, and says it otherwise."""
    shared = new.words & known.words
    if len(shared) < 2 or len(shared) < SUBJECT * len(known.words):
        return False
    return not same(new, known)


def with_statement(memory: Memory, number: int, text: str) -> Memory | None:
    """The memory with a new statement for one claim of its body and the reasons behind that.

    Args:
        number: which claim, by position.
        text: the statement; empty where nothing takes its place.

    Returns:
        None where nothing is left, or other claims would change by it.
    """
    claims = memory.parsed.claims
    behind = number + 1
    while behind < len(claims) and claims[behind].text.lower().startswith(_REASONED):
        behind += 1
    reasons = range(number + 1, behind)
    if not text:
        if len(claims) == behind - number:
            return None
        return without(memory, range(number, behind))
    marker = re.match(r"\s*(?:[-*+]|\d+[.)])\s+", claims[number].text) if claims[number].item else None
    made = reword(memory, {number: f"{marker.group() if marker else ''}{wording.statement(text)}"})
    made = without(made, reasons) if made is not None and reasons else made
    if made is None:
        return None
    heads = number == 0 or len(claims) == 1
    return (with_description(made, wording.description(text)) or made) if heads else made


MOST = 5
"""Questions of one dream about what sessions said."""

SHOWN = 200
"""Characters of a sentence that are quoted."""

_PERSON = re.compile(r"(?:^|\n\n)(?:(?P<when>\d{4}-\d\d-\d\d)T\S+ )?person: ", re.ASCII)
_NEXT = re.compile(r"\n\n(?:\d{4}-\d\d-\d\dT\S+ )?(?:person|agent): ", re.ASCII)


def corrections(sessions: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """What people took back, the last first: day in words, sentence, what goes, what is said instead."""
    for id in reversed(list(sessions)):
        for day, said in reversed(list(_heard(sessions[id]))):
            for one in _given_up(said):
                yield f"On {day} " if day else "", *one


def ask_about_sessions(work: ConsolidationWork, sessions: Mapping[str, str]) -> None:
    """Asks whether what a person said in the place of one claim stands for it.

    Args:
        sessions: id to what was said there, oldest first; the last that was said holds.
    """
    given_up = list(corrections(sessions))
    having: dict[str, list[tuple[Memory, int]]] = {}
    for memory in (memory for agent in work.agents() for memory in work.hot(agent) if given_up):
        for at, claim in enumerate(memory.parsed.claims):
            for word in _words(claim.text):
                having.setdefault(word, []).append((memory, at))
    asked = 0
    for day, sentence, old, new in given_up:
        if asked < MOST:
            places = min((having.get(word, []) for word in sorted(_words(old))), key=len, default=[])
            asked += _ask(work, places, (old, new), f"{day}a person said: {_quote(sentence)}")


def _words(text: str) -> frozenset[str]:
    known = gist(text)
    return frozenset(known.words | known.numbers)


def _quote(sentence: str) -> str:
    """A sentence on one line: what else a message holds is nobody's business who reviews memory."""
    line = " ".join(sentence.split())
    return f"“{line}”" if len(line) <= SHOWN else f"“{line[:SHOWN].rsplit(' ', 1)[0]} …”"


def _heard(session: str) -> Iterator[tuple[str, str]]:
    """The messages of the person: day, empty where nobody knows, and words."""
    for match in _PERSON.finditer(session):
        end = _NEXT.search(session, match.end())
        yield match["when"] or "", session[match.end() : end.start() if end else len(session)]


def _given_up(words: str) -> Iterator[tuple[str, str, str]]:
    """Of each sentence that takes something back: the sentence, what it gives up, what it says instead."""
    for passage in prose.passages(words):
        for sentence in passage:
            if is_passing(sentence) or prose.from_others(sentence):
                continue
            for way in reversals(sentence):
                if way.old and way.start >= 0:
                    yield sentence, way.old, wording.without_opening(sentence[way.start :])


def _ask(
    work: ConsolidationWork, places: Sequence[tuple[Memory, int]], way: tuple[str, str], why: str
) -> bool:
    """Asks about the one claim that says what is given up; of several nobody knows which is meant."""
    old, new = way
    found = [
        (memory, at)
        for memory, at in places
        if work.memories.get(memory.path) is memory
        and movable(memory.parsed.claims, at)
        and says(gist(memory.parsed.claims[at].text), old, new)
    ]
    if len(found) != 1:
        return False
    memory, at = found[0]
    claim = memory.parsed.claims[at]
    source = reference(memory.path, claim)
    changed = with_statement(memory, at, new)
    # What the memory is about is said by its description still, unless that says the old thing itself.
    if changed is not None and not says(gist(memory.description), old, new):
        changed = with_description(changed, memory.description)
    if changed is None or not work.stands_alone(source, ""):
        return False
    fates = _fates(memory, changed, why)
    if not fates or work.is_settled(agent_folder(memory.path), fates):
        return False
    subject = f"{ASKING}{memory.name} is out of date: {quote(claim, 24)}"
    hint = "Accept: it says that now. Reject: it stays. Edit the dream to say it otherwise."
    reason = f"{why}\n{memory.name} says: {quote(claim)}\n{hint}"
    return work.propose("question", {memory.path: changed}, fates, subject, reason)


def _fates(memory: Memory, changed: Memory, why: str) -> tuple[Fate, ...]:
    """What becomes of the claims that are gone: the one that came instead; nothing where there are more."""
    had, has = ({claim.key: claim for claim in one.claims} for one in (memory, changed))
    gone, come = ([key for key in one if key not in other] for one, other in ((had, has), (has, had)))
    body = {claim.key for claim in changed.parsed.claims}
    end = next((reference(changed.path, has[key]) for key in come if key in body), "")
    if not end or len(come) > 1 + (memory.description != changed.description):
        return ()
    return tuple(Fate("superseded", reference(memory.path, had[key]), end, why) for key in gone)
