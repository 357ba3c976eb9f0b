"""What people said in a session, sentence by sentence, with the cues that it bears."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gitmem.engines.offline import prose, signals, wording
from gitmem.engines.offline.requests import refuses, request, undoes
from gitmem.transcripts.model import Message

SHORTEST = 3
"""Words of a sentence that says something by itself, at least."""

QUESTION_CHARS = 160
"""Characters of a question that is kept beside its answer, at most."""

STEPS = frozenset({"question", "asks", "task", "lets", "i did"})
"""Cues of what is asked for now, or was done."""

OPENING = 12
"""Messages after which a session is no longer about what it began with; its opening is told till then."""

OPENING_WORDS = 6
"""Words of a sentence that tells what a session is about, at least."""

OPENING_CHARS = 220
_QUESTION_NEAR = 600
_QUESTION = re.compile(r"(?:^|(?<=[.!?:\n]))\s*([^.!?\n]*(?:\.\w[^.!?\n]*)*\?)[\"'*_`)\s]*(?=\s|$)")
_QUOTES = re.compile(r"you (?:also |just )?(?:wrote|said|mentioned)\b", re.I)


@dataclass(frozen=True)
class SpokenSentence:
    """One sentence of a person, with the names of its cues."""

    text: str
    cues: frozenset[str]

    @property
    def odds(self) -> float:
        """Log odds that it lasts, taken by itself."""
        return signals.odds(self.cues)

    @property
    def tells(self) -> bool:
        """Whether it says something by itself, and asks nothing."""
        return (
            "question" not in self.cues
            and len(self.text.split()) >= SHORTEST
            and not self.text.endswith(":")
            and not _QUOTES.match(self.text)
        )


@dataclass(frozen=True)
class Heard:
    """One message of a person.

    Attributes:
        question: what the agent asked just before; empty where it asked nothing.
        passages: the person's own words, see `prose.passages`; without what they keep out of memory.
        places: of each passage its paragraph, and whether it is an item of a list.
        undoes: it takes back what was said in the message before.
        circumstances: names of cues that the whole message bears.
        agent: what the agent said before.
        opening: what the session began with; empty for its first message and long after it.
    """

    message: Message
    question: str
    passages: tuple[tuple[SpokenSentence, ...], ...]
    circumstances: frozenset[str]
    agent: str = field(default="", repr=False)
    opening: str = ""
    places: tuple[prose.ProsePassage, ...] = field(default=(), repr=False)
    undoes: bool = False

    @property
    def cues(self) -> frozenset[str]:
        """All of them, of whichever sentence."""
        return self.circumstances.union(*(one.cues for passage in self.passages for one in passage))


def read(messages: Sequence[Message], first: int = 0, opening: str = "") -> tuple[Heard, ...]:
    """Reads the words of people and what they bear.

    Args:
        messages: a conversation, oldest first.
        first: how many messages of people went before.
        opening: what the session began with, where these do not.
    """
    found: list[Heard] = []
    for place, (message, before) in enumerate(_with_agent(messages), first):
        question = _last_question(before)
        written = prose.placed(message.text)
        places = _kept(written)
        passages = tuple(
            tuple(SpokenSentence(text, signals.cues(text)) for text in passage.sentences)
            for passage in places
        )
        spoken = [one for passage in passages for one in passage]
        words = sum(len(one.text.split()) for one in spoken)
        around = signals.circumstances(
            message.source,
            len(spoken),
            words,
            answers=bool(question),
            place=place,
            pasted=bool(message.pasted) or len(message.text.split()) > 2 * words,
        )
        told = opening if place < OPENING else ""
        back = bool(written) and undoes(written[0].sentences[0])
        found.append(Heard(message, question, passages, around, before, told, places, back))
        if place == 0:
            opening = opened(message)
    return tuple(found)


def opened(message: Message) -> str:
    """Says what a session is about that a message opens, as far as its first longer sentences do."""
    told = ""
    sentences = [one for passage in _kept(prose.placed(message.text)) for one in passage.sentences]
    if not sentences or request(sentences[0]):
        return told
    for one in sentences:
        text = wording.without_opening(one)
        if len(text.split()) >= OPENING_WORDS and len(told) + len(text) < OPENING_CHARS:
            told = f"{told} {text}".strip()
    return told


def _kept(written: tuple[prose.ProsePassage, ...]) -> tuple[prose.ProsePassage, ...]:
    """What a person wrote, less what they ask not to be remembered: that is neither learned nor quoted."""
    found: list[prose.ProsePassage] = []
    gone = -1
    below = False
    for passage in written:
        sentences: list[str] = []
        for text in passage.sentences:
            refused = refuses(text)
            if refused:
                gone = passage.paragraph
                below = below or text.endswith((":", "："))
            if refused == "all":
                sentences = []
                found = [one for one in found if one.paragraph != gone]
            if not below and passage.paragraph != gone:
                sentences.append(text)
        if sentences:
            found.append(replace(passage, sentences=tuple(sentences)))
    return tuple(found)


def announced(heard: Heard, at: int, number: int) -> bool:
    """Whether a line before a sentence announces words that may be another's: "From Slack:".

    A list ends with its items; what is asked to be remembered is announced by the person.
    """
    found = in_list = False
    for place, passage in enumerate(heard.passages[: at + 1]):
        if found and in_list and not heard.places[place].item:
            found = False
        last = number if place == at else len(passage)
        for one in passage[:last]:
            if one.text.endswith((":", "：")) and request(one.text) is None:
                found, in_list = True, heard.places[place + 1 : place + 2] != ()
                in_list = in_list and heard.places[place + 1].item
    return found


def end_below(heard: Heard, at: int) -> int:
    """Number of the first passage that is no longer below a request: after its list, or of the task."""
    for place in range(at + 1, len(heard.passages)):
        here, before = heard.places[place], heard.places[place - 1]
        to_do = place > at + 1 and heard.passages[place][0].cues & STEPS
        if here.paragraph != before.paragraph and not here.item and (before.item or to_do):
            return place
    return len(heard.passages)


def below(heard: Heard, at: int, number: int, end: int) -> str:
    """What stands below a request: the rest of its passage, those up to an end, or what was pasted."""
    rest = [one.text for one in heard.passages[at][number + 1 :]]
    more = [" ".join(one.text for one in passage) for passage in heard.passages[at + 1 : end]]
    parts = ([" ".join(map(wording.statement, rest))] if rest else []) + [f"- {text}" for text in more]
    if len(more) == 1 and not rest:
        parts = [wording.statement(more[0])]
    pasted = [text.strip() for text in heard.message.pasted if text.strip()]
    return "\n".join(parts) or "\n\n".join(pasted)


def _with_agent(messages: Sequence[Message]) -> Iterator[tuple[Message, str]]:
    """Messages of people, each with what the agent said just before it."""
    before = ""
    for message in messages:
        if message.role == "agent":
            before = message.text or before
        elif message.source != "reply":
            yield message, message.context if message.source == "answer" else before
            before = ""


def _last_question(text: str) -> str:
    asked = _QUESTION.findall(text[-_QUESTION_NEAR:])
    plain = " ".join(asked[-1].split()).strip("*_ ") if asked else ""
    return plain if len(plain) <= QUESTION_CHARS else ""
