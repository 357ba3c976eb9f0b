"""When a session's notes are taken: first after a good stretch of conversation, then at natural moments.

Tokens are counted here as a quarter of the characters that were said, given to tools and got back from them
(as far as the recording is read: results are cut, see `transcripts.reader`). No model is asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitmem.core.session_notes import CHARS_A_TOKEN
from gitmem.transcripts.model import Message, strings_in
from gitmem.values import dataclass

FIRST_TOKENS = 10_000
"""Tokens of conversation after which a session has notes for the first time."""

AGAIN_TOKENS = 5_000
"""Tokens since the last notes after which they are written on, if there is a moment for it."""

AGAIN_CALLS = 3
"""Tool calls since the last notes that make such a moment."""


@dataclass(frozen=True)
class Amount:
    """How much was said in a stretch of a session.

    Attributes:
        tokens: as they are counted here.
        calls: tool calls.
    """

    tokens: int = 0
    calls: int = 0


def amount(messages: Sequence[Message]) -> Amount:
    """How much was said in some messages."""
    chars = sum(len(text) for message in messages for text in _texts(message))
    return Amount(-(-chars // CHARS_A_TOKEN), sum(len(message.tools) for message in messages))


def not_due(messages: Sequence[Message], noted: int | None, *, pressing: bool = False) -> str:
    """Why a session's notes are not taken now; empty where they are.

    Args:
        messages: all that was said, oldest first.
        noted: how many of them, from the beginning, the notes tell of; None where there are no notes.
        pressing: the conversation is about to be compacted: notes that there are, or that are due by its
            length, are brought up to date however little is new.
    """
    fresh = messages[noted or 0 :]
    new = amount(fresh)
    if not new.tokens:
        return "nothing new was said"
    if noted is None:
        return "" if new.tokens >= FIRST_TOKENS else f"{new.tokens:,} of {FIRST_TOKENS:,} tokens"
    if pressing:
        return ""
    if new.tokens < AGAIN_TOKENS:
        return f"{new.tokens:,} of {AGAIN_TOKENS:,} tokens since the last notes"
    if new.calls < AGAIN_CALLS and not _at_rest(messages):
        return f"{new.calls} of {AGAIN_CALLS} tool calls since the last notes, and no pause"
    return ""


def _at_rest(messages: Sequence[Message]) -> bool:
    """Whether the last turn is one in which the agent answered and called no tool."""
    turn: list[Message] = []
    for message in reversed(messages):
        if message.role == "person" and message.source == "prompt":
            break
        turn.append(message)
    answers = [message for message in turn if message.role == "agent"]
    return any(message.text.strip() for message in answers) and not any(one.tools for one in answers)


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    yield from message.pasted
    for call in message.tools:
        yield from strings_in(call.input)
        yield call.result or ""
