"""What a person keeps from being learned: `<private>` spans, and messages that match `gitmem.ignore`.

Where the two could be read in more than one way, more is hidden rather than less.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from gitmem.core.errors import UsageError
from gitmem.transcripts.model import Message, strings_in

PATTERN_LENGTH = 200
"""Characters of one `gitmem.ignore` pattern."""
WINDOW = 400
"""Characters that one match of a regular expression may cover. Two open repeats over a window of this
length try some ten million ways at worst, a tenth of a second."""
OPEN_REPEATS = 2
"""Open repeats (`*`, `+`, `{n,}`) in one regular expression."""
_OPEN = 32
"""Times; what may repeat more often counts as open."""

_TAG = re.compile(r"<\s*(/?)\s*private\b[^<>]*>", re.IGNORECASE)
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_REFUSED = {"GROUPREF", "GROUPREF_EXISTS", "ASSERT", "ASSERT_NOT", "GROUPREF_IGNORE"}


def without_private(parts: Sequence[str]) -> list[str]:
    """Cuts `<private>` spans from the parts of one utterance.

    Spans nest and may go on from part to part; one without an end goes to the end of the last part, and a
    closing tag without an opening one hides what stands before it.

    Args:
        parts: blocks of one message, in order.

    Returns:
        As many parts.
    """
    depth = 0
    kept: list[str] = []
    for part in parts:
        pieces: list[str] = []
        at = 0
        for tag in _TAG.finditer(part):
            if tag[1]:
                if depth == 0:
                    pieces, kept = [], [""] * len(kept)
                depth = max(0, depth - 1)
            else:
                if depth == 0:
                    pieces.append(part[at : tag.start()])
                depth += 1
            at = tag.end()
        if depth == 0:
            pieces.append(part[at:])
        kept.append("".join(pieces))
    return kept


@dataclass(frozen=True)
class Ignore:
    """Compiled `gitmem.ignore` patterns.

    Attributes:
        words: substrings, case folded.
        expressions: regular expressions, each matched within `WINDOW` characters.
    """

    words: tuple[str, ...] = ()
    expressions: tuple[re.Pattern[str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.words or self.expressions)

    def matches(self, text: str) -> bool:
        """Whether a text is to be left out."""
        folded = text.casefold() if self.words else ""
        if any(word in folded for word in self.words):
            return True
        return any(one.search(window) for one in self.expressions for window in _windows(text))

    def hides(self, message: Message) -> bool:
        """Whether a message is to be left out wholly: by what was said or what its calls hold."""
        return bool(self) and any(self.matches(text) for text in _texts(message))


NOTHING = Ignore()


def withheld(message: Message) -> Message:
    """What is left of a message that nobody may see: its place among the others."""
    return Message(message.uuid, message.role, "", message.time, "withheld")


def withhold(
    messages: Iterable[Message], out: Container[str], ignore: Ignore = NOTHING
) -> tuple[Message, ...]:
    """The messages, without the words of those that nobody may see.

    Args:
        out: their uuids.
        ignore: says of which others the same holds.
    """
    return tuple(withheld(one) if one.uuid in out or ignore.hides(one) else one for one in messages)


def compile_ignore(patterns: Iterable[str]) -> Ignore:
    """Compiles patterns: each a substring, or `/a regular expression/`; case is ignored by both.

    Raises:
        UsageError: a pattern is too long, is no regular expression, or could take forever to match. A
            pattern that cannot be honoured must not be passed over: it is there to keep something private.
    """
    words: list[str] = []
    expressions: list[re.Pattern[str]] = []
    for given in patterns:
        pattern = given.strip()
        if not pattern:
            continue
        if len(pattern) > PATTERN_LENGTH:
            raise _refused(pattern, f"is longer than {PATTERN_LENGTH} characters")
        if len(pattern) > 2 and pattern[0] == pattern[-1] == "/":
            expressions.append(_compiled(pattern))
        else:
            words.append(pattern.casefold())
    return Ignore(tuple(words), tuple(expressions))


def _compiled(pattern: str) -> re.Pattern[str]:
    body = pattern[1:-1]
    try:
        tree = _parser.parse(body, re.IGNORECASE)
        compiled = re.compile(body, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as problem:
        raise _refused(pattern, f"is no regular expression: {problem}") from problem
    if compiled.search(""):
        raise _refused(pattern, "matches every message")
    if _open_repeats(pattern, tree, inside=False) > OPEN_REPEATS:
        raise _refused(pattern, f"has more than {OPEN_REPEATS} open repeats such as `.*`")
    return compiled


def _open_repeats(pattern: str, tree: Any, *, inside: bool) -> int:
    """Counts open repeats; refuses what makes matching exponential: repeats and choices inside them."""
    found = 0
    for code, value in tree:
        name = str(code)
        if name in _REFUSED:
            raise _refused(pattern, "looks around or back, which may take forever")
        if name in _REPEATS:
            _, high, body = value
            if inside and high > 1:
                raise _refused(pattern, "has a repeat inside a repeat, which may take forever")
            found += high > _OPEN
            found += _open_repeats(pattern, body, inside=inside or high > 1)
        elif name == "BRANCH":
            if inside:
                raise _refused(pattern, "has a choice inside a repeat, which may take forever")
            found += max((_open_repeats(pattern, one, inside=inside) for one in value[1]), default=0)
        elif name == "SUBPATTERN":
            found += _open_repeats(pattern, value[3], inside=inside)
        elif name == "ATOMIC_GROUP":
            found += _open_repeats(pattern, value, inside=inside)
    return found


def _windows(text: str) -> Iterator[str]:
    """Overlapping stretches, so that what is half a window long is found wherever it stands."""
    step = WINDOW // 2
    for at in range(0, max(len(text) - step, 1), step):
        yield text[at : at + WINDOW]


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    yield message.context
    yield from message.pasted
    for call in message.tools:
        yield from strings_in(call.input)
        yield call.result or ""


def _refused(pattern: str, reason: str) -> UsageError:
    return UsageError(
        f"gitmem.ignore: {pattern[:PATTERN_LENGTH]} {reason}", "Use a plain word, or a simpler one."
    )
