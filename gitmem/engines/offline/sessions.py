"""What a person said in a session since the last dream against what memory says: asked about, quoted.

Extraction corrects memory where it reads a session; it is off, or late, or was not sure. What a dream finds
is a question in any case: a sentence may mean another place, or the moment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gitmem.core.account import reference
from gitmem.core.memory import Memory
from gitmem.core.merge import agent_folder
from gitmem.core.trailers import ASKING, Fate
from gitmem.engines.offline import prose, wording
from gitmem.engines.offline.corrections import replaced, says
from gitmem.engines.offline.likeness import gist
from gitmem.engines.offline.requests import passing, reversals
from gitmem.engines.offline.revision import described
from gitmem.engines.offline.similar import movable, quoted
from gitmem.engines.offline.work import Work

MOST = 5
"""Questions of one dream about what sessions said."""

SHOWN = 200
"""Characters of a sentence that are quoted."""

_PERSON = re.compile(r"(?:^|\n\n)(?:(?P<when>\d{4}-\d\d-\d\d)T\S+ )?person: ", re.ASCII)
_NEXT = re.compile(r"\n\n(?:\d{4}-\d\d-\d\dT\S+ )?(?:person|agent): ", re.ASCII)


def corrections(sessions: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """What people took back, the last first: day in words, sentence, what goes, what is said instead."""
    for id in reversed(list(sessions)):
        for day, words in reversed(list(_heard(sessions[id]))):
            for one in _given_up(words):
                yield f"On {day} " if day else "", *one


def ask_about_sessions(work: Work, sessions: Mapping[str, str]) -> None:
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
            places = min((having.get(word, []) for word in _words(old)), key=len, default=[])
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
            if passing(sentence) or prose.from_others(sentence):
                continue
            for way in reversals(sentence):
                if way.old and way.start >= 0:
                    yield sentence, way.old, wording.without_opening(sentence[way.start :])


def _ask(work: Work, places: Sequence[tuple[Memory, int]], way: tuple[str, str], why: str) -> bool:
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
    changed = replaced(memory, at, new)
    # What the memory is about is said by its description still, unless that says the old thing itself.
    if changed is not None and not says(gist(memory.description), old, new):
        changed = described(changed, memory.description)
    if changed is None or not work.stands_alone(source, ""):
        return False
    fates = _fates(memory, changed, why)
    if not fates or work.is_settled(agent_folder(memory.path), fates):
        return False
    subject = f"{ASKING}{memory.name} is out of date: {quoted(claim, 24)}"
    hint = "Accept: it says that now. Reject: it stays. Edit the dream to say it otherwise."
    reason = f"{why}\n{memory.name} says: {quoted(claim)}\n{hint}"
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
