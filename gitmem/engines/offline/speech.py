"""What people said in a session, sentence by sentence, with the cues that it bears."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gitmem.engines.offline import prose, signals, wording
from gitmem.engines.offline.requests import request
from gitmem.transcripts.model import Message

SHORTEST = 3
"""Words of a sentence that says something by itself, at least."""

QUESTION_CHARS = 160
"""Characters of a question that is kept beside its answer, at most."""

OPENING = 12
"""Messages after which a session is no longer about what it began with; its opening is told till then."""

OPENING_WORDS = 6
"""Words of a sentence that tells what a session is about, at least."""

OPENING_CHARS = 220
_QUESTION_NEAR = 600
_QUESTION = re.compile(r"(?:^|(?<=[.!?:\n]))\s*([^.!?\n]*(?:\.\w[^.!?\n]*)*\?)[\"'*_`)\s]*(?=\s|$)")
_QUOTES = re.compile(r"you (?:also |just )?(?:wrote|said|mentioned)\b", re.I)


@dataclass(frozen=True)
class Spoken:
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
        passages: the person's own words, see `prose.passages`.
        circumstances: names of cues that the whole message bears.
        agent: what the agent said before.
        opening: what the session began with; empty for its first message and long after it.
    """

    message: Message
    question: str
    passages: tuple[tuple[Spoken, ...], ...]
    circumstances: frozenset[str]
    agent: str = field(default="", repr=False)
    opening: str = ""

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
        passages = tuple(
            tuple(Spoken(text, signals.cues(text)) for text in passage)
            for passage in prose.passages(message.text)
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
        found.append(Heard(message, question, passages, around, before, told))
        if place == 0:
            opening = opened(message)
    return tuple(found)


def opened(message: Message) -> str:
    """Says what a session is about that a message opens, as far as its first longer sentences do."""
    told = ""
    sentences = [one for passage in prose.passages(message.text) for one in passage]
    if not sentences or request(sentences[0]):
        return told
    for one in sentences:
        text = wording.without_opening(one)
        if len(text.split()) >= OPENING_WORDS and len(told) + len(text) < OPENING_CHARS:
            told = f"{told} {text}".strip()
    return told


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
