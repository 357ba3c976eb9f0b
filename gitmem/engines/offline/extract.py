"""From messages to proposed changes: score what was said, compare it with what is known.

Three things come of a session. What was plainly asked for (`requests`) is a change at once. What gives up
something that memory holds becomes an update of that memory, so that it never stands beside its opposite.
Of all the rest the few likeliest are suggested; the others are there as `candidates`, for whoever decides
better than a formula.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gitmem.core.change import Change, ChangeOrigin, Header, MemoryType
from gitmem.core.dates import annotate, relative_dates, unclear
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import corrections, prose, requests, signals, wording
from gitmem.engines.offline.likeness import Gist, gist, near, same, says_all, stated_in
from gitmem.engines.offline.requests import RememberRequest, Reversal
from gitmem.engines.offline.speech import (
    SHORTEST,
    STEPS,
    Heard,
    SpokenSentence,
    announced,
    below,
    end_below,
    opened,
    read,
)
from gitmem.transcripts.model import Message

SUGGESTED = 0.33
"""Probability from which something may be suggested."""

TELLING = -1.2
"""Log odds by itself (`signals.odds`) of a sentence that tells something. In a passage with nothing of the
task in it, that makes a candidate, whatever the formula says of the message: of written sentences that were
held out .64 of these are right, and they hold .85 of what is to be found there."""

PLAINER = -0.4
"""Log odds by itself from which one such sentence is suggested where the likelier leave room (.70, .64)."""

WIDE = 0.1
"""Probability from which something is a candidate: 11 of a labelled session of 24 messages, with 85 of 100
of what is plainly to be kept in them, where each session is told by the others."""

MOST = 3
"""Suggestions of one extraction, and of this many messages of a person one at most (but one at least)."""
MESSAGES_A_SUGGESTION = 8

ASKED_CONFIDENCE = 0.95
"""What was plainly asked is as sure as a rule can be of prose."""

RUN_CHARS = 400
"""Characters of neighbouring sentences that are kept together, at most."""

BELOW_CHARS = 4_000
"""Characters of what stands below "remember the following:", or was pasted there; more is no fact."""

SHORT_ANSWER = 12
"""Words of an answer that is not understood without its question, at most."""

_IMPERATIVE = re.compile(
    r"^(?:please |always |never |don't |do not |not )*(?:use|prefer|keep|put|write|ask|run|avoid|stop"
    r"|make|call|name|follow"
    r"|add|show|tell|commit|push|test|let|leave|skip|explain|check|start|treat|always|never|don't|do|not"
    r"|no)\b"
)
_PERSON = re.compile(
    r"^(?:i'm|i am|i've|i(?:'d| would| always| usually| really| personally| generally)* (?:prefer|like"
    r"|love|hate|dislike|work|know|speak"
    r"|rather|review|care|don't like|live|use|come|maintain|own)|my|personally)\b"
)

_POINTS = re.compile(r"^(?:it|they|this|these|those) ", re.I)
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)*(?![\w])")
_VALUE = re.compile(
    r"(?:(?:actually|sorry|no|nope|wait|correction|i meant?|make that)[,:. ]+)*(\d+(?:\.\d+)*)[ .!]*", re.I
)
"""A correction that is nothing but another number: "Sorry, 9090."."""

_RULE = re.compile(r"^(?:we|nobody|everyone|everybody|people)\b(?: \w+)? (?:never|always|no longer)\b")
_TELLS_HOW = frozenset({"corrects", "likes", "forbids"})
_REPLIES = frozenset({"corrects", "agrees", "starts pointing", "negation", "contrast"})
_PUTS_RIGHT = frozenset({"forbids", "contrast", "must not"})
_OF_THE_TASK = STEPS | {"agrees", "broken"}


@dataclass(frozen=True)
class SaidCandidate:
    """Something that a person said and that may last.

    Attributes:
        message: uuid of the message.
        text: one sentence, readable alone.
        score: probability that it lasts, 0 to 1.
        asked: they plainly asked that it be remembered.
        change: the memory that it would make, compared with what is known.
    """

    message: str
    text: str
    score: float
    asked: bool
    change: Change = field(repr=False)


@dataclass(frozen=True)
class Find:
    """Words worth keeping, before they are compared with what is known.

    Attributes:
        message: the last one that says it.
        said: the statement; more than a sentence where they belong together.
        line: the sentence that says most; it names and describes the memory.
        label: what a reviewer reads.
        score: probability that it lasts.
        why: the reason that they gave; may be empty.
        sentence: the words as they were typed.
        parts: other sentences of the message that are in it.
        first: uuid of the first message that says it; empty for `message`.
        odds: log odds of `line` by itself.
        occasion: what it was said in reply to, where it is not understood without.
        stated: it is put as a statement, not as a question, and says something by itself.
        plain: so it is, in a passage that has nothing of the task at hand in it.
    """

    message: Message
    said: str
    line: str
    type: MemoryType
    label: str
    score: float
    why: str = ""
    asked: bool = False
    sentence: str = ""
    parts: tuple[str, ...] = ()
    first: str = ""
    occasion: str = ""
    stated: bool = True
    plain: bool = False
    odds: float = 0.0

    @property
    def likely(self) -> float:
        """Probability that it lasts, by the whole message or, of a plain statement, by itself."""
        return max(self.score, 1 / (1 + math.exp(-self.odds))) if self.plain else self.score


def extract(given: ExtractInput) -> tuple[Change, ...]:
    """Proposes memories from what people said.

    Args:
        given: messages, what is known, and the instruction files.

    Returns:
        what was asked for, in order; updates of what was given up; then suggestions, best first.
        Deterministic; nothing but what was plainly asked for is marked as such.
    """
    return _Session(given).changes()


def candidates(given: ExtractInput) -> tuple[SaidCandidate, ...]:
    """Gives all that may last, best first: wide, for whoever decides better than a formula.

    What memory or an instruction file says already is left out.
    """
    return _Session(given).candidates()


class _Session:
    """One look at the new messages of a session."""

    def __init__(self, given: ExtractInput) -> None:
        self._given = given
        new = {message.uuid for message in given.messages if message.role == "person"}
        self._every = _around(given)
        self._heard = [one for one in self._every if one.message.uuid in new]
        self._stated: list[corrections.Stated] = []
        self._finds: list[Find] = []
        self._reversed: list[tuple[Find, Change]] = []
        for heard in self._heard:
            self._hear(heard)

    def changes(self) -> tuple[Change, ...]:
        """What to do about it."""
        taken = {header.name for header in self._given.manifest}
        asked = [find for find in self._finds if find.asked]
        found = [self._change(find, taken) for find in asked]
        found += [change for _, change in self._reversed]
        return (*found, *self._suggested(taken))

    def candidates(self) -> tuple[SaidCandidate, ...]:
        """All that may last, best first."""
        taken = {header.name for header in self._given.manifest}
        pairs = [(find, self._change(find, taken)) for find in self._finds] + self._reversed
        found = [
            SaidCandidate(find.message.uuid, wording.statement(find.line), find.likely, find.asked, change)
            for find, change in pairs
            if change.op != "noop"
        ]
        return tuple(sorted(found, key=lambda one: -one.score))

    def _suggested(self, taken: set[str]) -> list[Change]:
        """The likeliest, one a message, as many as there is room for; and those of them that are known."""
        room = min(MOST - self._given.suggested, 1 + len(self._heard) // MESSAGES_A_SUGGESTION)
        open_to = [find for find in self._finds if find.stated and not find.asked]
        likely = sorted((one for one in open_to if one.score >= SUGGESTED), key=lambda one: -one.score)
        plain = sorted(
            (one for one in open_to if one.plain and one.odds >= PLAINER), key=lambda one: -one.odds
        )
        found: list[Change] = []
        heard: set[str] = set()
        for finds, most in ((likely, MOST), (plain, 1)):
            left = min(room - len(heard), most)
            for find in finds:
                if left <= 0:
                    break
                if find.message.uuid in heard:
                    continue
                change = self._change(find, taken)
                found.append(change)
                if change.op != "noop":
                    heard.add(find.message.uuid)
                    left -= 1
        return found

    def _hear(self, heard: Heard) -> None:
        if heard.undoes:
            self._undo(heard)
        used: set[str] = set()
        others = any(prose.from_others(one.text) for passage in heard.passages for one in passage)
        for at, passage in enumerate(heard.passages):
            for number, one in enumerate(passage):
                if one.text in used:
                    continue
                own = not (others or announced(heard, at, number))
                wish = requests.request(one.text) if own else None
                find = self._asked(heard, at, number, wish) if wish else None
                lasting = own and heard.places[at].paragraph == 0 and not any(map(_passes, passage))
                if self._gives_up(heard, one, find, plainly=lasting):
                    used.add(one.text)
                elif find is not None:
                    used.update((one.text, *find.parts))
                    before = passage[number - 1].text if number else ""
                    self._state(find, corrects=requests.takes_back(one.text, before))
        for find in _likely(heard, used):
            self._state(find, corrects=requests.takes_back(find.sentence))

    def _undo(self, heard: Heard) -> None:
        """Drops what the message before asked for, or suggests."""
        place = next(n for n, other in enumerate(self._every) if other.message.uuid == heard.message.uuid)
        before = self._every[place - 1].message.uuid if place else ""
        for at in reversed(range(len(self._finds))):
            if self._finds[at].message.uuid == before:
                del self._stated[at], self._finds[at]
        self._reversed = [pair for pair in self._reversed if pair[0].message.uuid != before]

    def _gives_up(self, heard: Heard, one: SpokenSentence, find: Find | None, *, plainly: bool) -> bool:
        """Whether a sentence gives up what memory, or an earlier statement of the session, says.

        Args:
            plainly: the words are the person's own and hold beyond the moment: they may take memory away.
        """
        for way in requests.reversals(one.text):
            way = way if plainly else replace(way, plainly=False)
            new = "" if way.start < 0 else wording.without_opening(one.text[way.start :])
            if find is not None and new:
                new = find.said
            asked = way.plainly or find is not None
            score = ASKED_CONFIDENCE if asked else max(SUGGESTED, _score(heard, (one,)))
            made = Find(
                heard.message,
                new or one.text,
                new or one.text,
                _type(new or one.text, one.cues),
                "takes back what was said before" if way.start < 0 else "says otherwise than before",
                score,
                asked=asked,
                sentence=one.text,
            )
            if not way.old and find is None and self._put_right(made):
                return True
            stood = self._taken_back(way, new) if way.old else []
            text = _dated(new, heard.message)
            change = None
            if plainly or not asked:
                change = corrections.given_up(self._given, way, new, text, surely=asked)
            if change is not None:
                self._reversed.append((made, self._as_said(change, made)))
                return True
            doubtful = corrections.given_up(self._given, way, new, text) if asked and way.old else None
            if doubtful is not None:
                # What was asked for is stored as it is; whether it replaces this is for the person to say.
                unsure = replace(made, asked=False, score=SUGGESTED)
                self._reversed.append((unsure, self._as_said(doubtful, unsure)))
                return way.plainly
            if stood and new:
                asked = asked or any(one.asked for one in stood)
                first = stood[0].first or stood[0].message.uuid
                score = ASKED_CONFIDENCE if asked else score
                self._state(replace(made, asked=asked, score=score, first=first), corrects=True)
            if stood:
                return True
        return False

    def _put_right(self, made: Find) -> bool:
        """Whether a correction without the old word is about what was asked for in this session."""
        asked = [at for at, one in enumerate(self._stated) if one.asked]
        value = _VALUE.fullmatch(made.said.strip())
        if value and asked and len(_NUMBER.findall(self._finds[asked[-1]].said)) == 1:
            old = self._finds[asked[-1]]
            said, line = (_NUMBER.sub(value[1], text) for text in (old.said, old.line))
            made = replace(old, said=said, line=line, message=made.message, sentence=made.sentence)
        new = corrections.Stated(wording.statement(made.said), gist(made.said), made.asked)
        before = corrections.earlier(new, self._stated, corrects=True)
        if before is None or before.how != "corrects" or before.at not in asked:
            return False
        self._state(made, corrects=True)
        return True

    def _as_said(self, change: Change, find: Find) -> Change:
        return replace(
            change,
            reason=find.label,
            confidence=round(find.score, 2),
            asked=find.asked,
            origin=_origin(self._given, find.message),
        )

    def _taken_back(self, way: Reversal, new: str) -> list[Find]:
        """Drops what this session said of what is given up, and gives it; what was asked only surely."""
        found = [
            at
            for at, one in enumerate(self._stated)
            if corrections.says(one.gist, way.old, new)
            and (way.plainly or not one.asked or corrections.agrees(one.gist, way.old, new))
        ]
        stood = [self._finds[at] for at in found]
        for at in reversed(found):
            del self._stated[at], self._finds[at]
        return stood

    def _state(self, find: Find, *, corrects: bool) -> None:
        """Takes a statement in: beside those of before, or with the one that it repeats or corrects."""
        new = corrections.Stated(wording.statement(find.said), gist(find.said), find.asked)
        if stated_in(new.gist, self._given.rules, wholly=find.asked):
            return
        before = corrections.earlier(new, self._stated, corrects=corrects)
        if before is None:
            self._stated.append(new)
            self._finds.append(find)
            return
        old = self._finds[before.at]
        replaces = before.how != "repeats"
        asked = old.asked or find.asked
        if replaces:
            self._stated[before.at] = replace(new, asked=asked)
        score = ASKED_CONFIDENCE if asked else signals.likelier(max(old.score, find.score))
        self._finds[before.at] = replace(
            find if replaces else old,
            asked=asked,
            score=score,
            odds=max(old.odds, find.odds) + signals.REPEATED,
            first=old.first or old.message.uuid,
            message=find.message,
            # What it was said in reply to may be what it corrects.
            occasion="" if before.how == "corrects" else old.occasion,
        )

    def _asked(self, heard: Heard, at: int, number: int, wish: RememberRequest) -> Find | None:
        """What is to be remembered; None where there is nothing to be found."""
        passage = heard.passages[at]
        one = passage[number]
        if wish.standing and (at or number) and _of_the_task(heard):
            return None
        said = _cut(one.text, wish) if wish.end else ""
        if number and _POINTS.match(said) and passage[number - 1].cues & {"task", "asks"}:
            # "Write a haiku. Remember that it must have 17 syllables."
            return None
        why = first = ""
        parts: tuple[str, ...] = ()
        if wish.where == "below":
            end = end_below(heard, at)
            more = below(heard, at, number, end)
            said = f"{wording.statement(said)}\n\n{more}" if said and more else said or more
            parts = tuple(other.text for passage in heard.passages[at:end] for other in passage)
        if wish.where == "before" or not said:
            said, first = self._before(heard, at, number)
        if not said or len(said) > BELOW_CHARS:
            return None
        if wish.where == "here":
            if wish.start == 0 and number and len(said.split()) < SHORT_ANSWER // 2:
                said = f"{wording.statement(passage[number - 1].text)} {said}"
            said, why = wording.split_why(said)
            following = passage[number + 1].text if number + 1 < len(passage) else ""
            if not why and following and wording.gives_reason(following):
                why, parts = following, (following,)
        line = next((text for text in said.split("\n") if text.strip()), said)
        kind = _type(line, signals.cues(line), to_do=wish.to_do or wish.standing)
        return Find(
            heard.message,
            said,
            line,
            kind,
            "plainly asked to remember",
            ASKED_CONFIDENCE,
            why=why,
            asked=True,
            sentence=one.text,
            parts=parts,
            first=first,
        )

    def _before(self, heard: Heard, at: int, number: int) -> tuple[str, str]:
        """What was said before a sentence that points back, and the message that said it."""
        ahead = [one.text for one in heard.passages[at][:number]]
        if not ahead and at:
            ahead = [one.text for one in heard.passages[at - 1]]
        told = [wording.without_opening(text) for text in ahead if not text.rstrip().endswith("?")]
        if told and sum(len(text.split()) for text in told) >= 3:
            return " ".join(map(wording.statement, told)), ""
        place = next(n for n, other in enumerate(self._every) if other.message.uuid == heard.message.uuid)
        if place:
            earlier = self._every[place - 1]
            best = next(iter(_likely(earlier, set())), None)
            if best is not None and best.stated and not _of_the_task(earlier):
                return best.said, earlier.message.uuid
        return _agents(heard.agent), ""

    def _change(self, find: Find, taken: set[str]) -> Change:
        said, why, line = (_dated(text, find.message) for text in (find.said, find.why, find.line))
        time = find.message.time
        open_date = bool(unclear(said, time) if time is not None else relative_dates(said))
        reason = f"{find.label}: {wording.description(find.line)}"
        if open_date and find.asked:
            reason += " (the date it speaks of is unclear)"
        if find.occasion:
            # In the same claim: what is rejected or forgotten of it must not bury others of the session.
            said = wording.statement(said) + _dated(find.occasion, find.message)
        change = Change(
            op="add",
            name=wording.slug(find.line, frozenset(taken)),
            description=wording.description(line),
            type=find.type,
            body=wording.body(said, why, wording.how_clause(said) if find.type == "feedback" else ""),
            reason=reason,
            confidence=round(find.score, 2),
            asked=find.asked and not open_date,
            origin=_origin(self._given, find.message, find.first),
        )
        change = _against_manifest(change, gist(find.said), self._given.manifest)
        if change.op == "add":
            taken.add(change.name)
        return change


def _around(given: ExtractInput) -> tuple[Heard, ...]:
    """What people say in the new messages and in the last one before, with what they say it in reply to."""
    said = given.said
    people = [at for at, message in enumerate(said) if message.role == "person"]
    new = {message.uuid for message in given.messages}
    first = next((n for n, at in enumerate(people) if said[at].uuid in new), 0)
    if first < 2:
        return read(said)
    return read(said[people[first - 1] :], first - 1, opening=opened(said[people[0]]))


def _origin(given: ExtractInput, message: Message, first: str = "") -> ChangeOrigin:
    return ChangeOrigin(given.session, first or message.uuid, message.uuid, message.time)


def _dated(text: str, message: Message) -> str:
    return annotate(text, message.time) if text and message.time is not None else text


def _score(heard: Heard, said: Sequence[SpokenSentence]) -> float:
    cues = heard.circumstances.union(*(one.cues for one in said))
    return signals.probability(cues, max(one.odds for one in said))


def _likely(heard: Heard, used: set[str]) -> list[Find]:
    """What of a message may last, best first: of each passage its likeliest sentences, with neighbours."""
    found: list[Find] = []
    for passage in heard.passages:
        left = [at for at, one in enumerate(passage) if one.text not in used]
        first = True
        while left:
            best = max(left, key=lambda at: (passage[at].tells, passage[at].odds))
            answers = heard.question and "question" not in passage[best].cues
            if not passage[best].tells and not answers:
                # The agent answers a question anyway; what it asks about is no statement.
                break
            if not first and not (passage[best].tells and passage[best].odds >= TELLING):
                break
            run = _run(passage, best, left)
            found.append(_find(heard, passage, best, run))
            left = [at for at in left if at not in run]
            first = False
    found.sort(key=lambda one: (-one.stated, -one.odds))
    if found:
        # The message as a whole says more than its parts: its best passage stands for it.
        every = [one for passage in heard.passages for one in passage if one.text not in used]
        found[0] = replace(found[0], score=max(found[0].score, _score(heard, every)))
    return [find for find in found if find.score >= WIDE or find.plain]


def _find(heard: Heard, passage: Sequence[SpokenSentence], best: int, run: range) -> Find:
    one = passage[best]
    line = wording.without_opening(one.text)
    said = why = ""
    following = passage[best + 1].text if best + 1 in run else ""
    if len(run) == 1:
        said, why = wording.split_why(line)
    elif run == range(best, best + 2) and wording.gives_reason(following):
        said, why = line, following
    if not said:
        said = wording.without_opening(" ".join(wording.statement(passage[at].text) for at in run))
    words = sum(len(other.text.split()) for passage in heard.passages for other in passage)
    # "You keep …", "for the last time": who says so has said it before, whatever the formula makes of it.
    stated = one.tells and (one.odds >= TELLING or "marked" in one.cues)
    score = _score(heard, [passage[at] for at in run])
    if heard.question and words <= SHORT_ANSWER and heard.message.source != "refusal":
        if not _OF_THE_TASK & set().union(*(other.cues for other in passage)):
            # What was asked for is worth knowing, if the words do not say so: the formula sees them alone.
            score = max(score, WIDE)
        line = f"{heard.question} {wording.statement(said)}"
        said = f"Asked “{heard.question}”: {said}"
    if stated and "corrects" in one.cues and _PUTS_RIGHT & one.cues and "task" not in one.cues:
        # A correction is what an agent should hear once only, whether the formula finds it likely or not.
        score = max(score, WIDE)
    label = next((signals.LABELS[cue] for cue in signals.LABELS if cue in one.cues), "may last")
    return Find(
        heard.message,
        said,
        line,
        _type(line, one.cues),
        label,
        score,
        why=why,
        sentence=one.text,
        stated=stated,
        plain=stated and not STEPS & frozenset().union(*(other.cues for other in passage)),
        occasion="" if why else _occasion(heard, asks=said.startswith("Asked “")),
        odds=one.odds,
    )


def _occasion(heard: Heard, *, asks: bool) -> str:
    """What words were said in reply to, where they are not understood without it.

    Args:
        asks: the question stands beside them already.
    """
    first = heard.passages[0][0]
    parts = []
    if first.cues & _REPLIES and heard.question and not asks:
        parts.append(f"in reply to “{heard.question}”")
    if heard.opening:
        parts.append(f"in a session that began with “{heard.opening}”")
    return f" (Said {', '.join(parts)})" if parts else ""


def _of_the_task(heard: Heard) -> bool:
    first = next((one for passage in heard.passages for one in passage), None)
    return first is None or bool(first.cues & {"task", "asks", "asks for"})


def _run(passage: Sequence[SpokenSentence], best: int, left: Sequence[int]) -> range:
    """The sentences around one that belong to it: no questions or steps of the task, and of one type."""
    first = last = best
    length = len(passage[best].text)
    kind = _type(wording.without_opening(passage[best].text), passage[best].cues)
    for step in (1, -1):
        at = best + step
        while at in left:
            one = passage[at]
            length += len(one.text) + 1
            apart = {"question", "task", "lets"} | (
                {"agrees"} if len(one.text.split()) < SHORTEST else set()
            )
            other = one.odds >= TELLING and _type(wording.without_opening(one.text), one.cues) != kind
            if length > RUN_CHARS or other or one.cues & apart:
                break
            first, last = min(first, at), max(last, at)
            at += step
    return range(first, last + 1)


def _cut(text: str, wish: RememberRequest) -> str:
    """The statement of a request, as one says it by itself."""
    said = text[wish.start : wish.end].strip().rstrip("?,;:–—-( ")
    said = wording.without_opening(said) if wish.start == 0 else said
    return f"don't {said}" if wish.negated else said


def _passes(one: SpokenSentence) -> bool:
    return requests.is_passing(one.text)


def _agents(text: str) -> str:
    """The sentences of an agent's words that say most, where a person asks that these be remembered."""
    best: tuple[float, str] = (0.0, "")
    for passage in prose.passages(text):
        told = [one for one in passage if not one.endswith(("?", ":"))]
        said = ""
        for one in told:
            if len(said) + len(one) > RUN_CHARS:
                break
            said = f"{said} {wording.statement(one)}".strip()
        score = max((signals.odds(signals.cues(one)) for one in told), default=0.0)
        if len(said.split()) >= 4 and (not best[1] or score > best[0]):
            best = (score, said)
    return best[1]


def _type(text: str, cues: frozenset[str], *, to_do: bool = False) -> MemoryType:
    """Of which type a statement is, by its form."""
    low = prose.mask_quotes(text)
    if _PERSON.match(low) or "about me" in cues:
        return "user"
    if "place" in cues and not _IMPERATIVE.match(low):
        return "reference"
    if to_do or _IMPERATIVE.match(low) or _RULE.match(low) or cues & _TELLS_HOW:
        return "feedback"
    if cues & {"for good", "must", "must not"} and not cues & {
        "our world",
        "planned",
        "figure",
        "we",
        "means",
    }:
        return "feedback"
    return "project"


def _header_gist(header: Header) -> Gist:
    return gist(f"{header.name.replace('-', ' ').replace('_', ' ')} {header.description}")


def _against_manifest(change: Change, new: Gist, manifest: tuple[Header, ...]) -> Change:
    """Turns an add into an update or a noop where a memory says nearly the same."""
    best: tuple[float, Header, Gist] | None = None
    for header in manifest:
        known = gist(header.description) if header.description else _header_gist(header)
        if near(new, known) or near(new, _header_gist(header)):
            score = len(new.words & known.words) / len(new.words | known.words)
            if best is None or score > best[0]:
                best = (score, header, _header_gist(header))
    if best is None:
        return change
    _, header, known = best
    found = replace(change, agent=header.agent, file=header.file, name=header.name)
    if says_all(new, known) if change.asked else same(new, known):
        return replace(found, op="noop", reason=f"known already ({header.name}): {change.description}")
    return replace(found, op="update", reason=f"says more or otherwise than {header.name}: {change.reason}")
