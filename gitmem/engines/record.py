"""A session as a model reads it: one block a message, the same bytes in every later request.

A message's number is its place in the whole session, and its block depends on nothing but itself and how
many messages right before it are withheld, so that a growing session only ever gets longer and the
provider's cache holds (see `request`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from itertools import accumulate
from typing import Any

from gitmem.core.text import counted, one_line, printable
from gitmem.engines.prompts import clean
from gitmem.transcripts.model import Message, ToolCall
from gitmem.transcripts.privacy import without_private

KEPT_BYTES = 240_000
"""Of a session, about: some 80,000 tokens at three bytes each, as newer tokenizers make of English. With
system text, tools, memories and answers that stays under 100,000, where Haiku 5.5 costs five times more."""
STEP_BYTES = KEPT_BYTES // 2
"""What is left out at once where a session is longer. So its beginning moves once in some hundred messages,
not with each: when it does, all is written to the cache anew."""

_PERSON_CHARS, _PERSON_END = 12_000, 3_000
_AGENT_CHARS, _AGENT_END = 3_000, 1_000
_PASTES, _PASTE_CHARS = 4, 4_000
_CALLS = 12
_ARGUMENT_CHARS = 160
_RESULT_CHARS = 120
# Looked through for secrets before the cut, so that none is cut in two and missed.
_WINDOW = 8_192
_ARGUMENTS = (
    "file_path",
    "path",
    "notebook_path",
    "command",
    "pattern",
    "query",
    "url",
    "description",
    "subject",
)


@dataclass(frozen=True)
class Rendered:
    """What a model is shown of a session.

    Attributes:
        blocks: texts, oldest message first; before them a line on what is left out, where anything is.
        old: how many of `blocks` were shown before.
    """

    blocks: tuple[str, ...]
    old: int


def render(history: Sequence[Message], messages: Sequence[Message], seen: int | None = None) -> Rendered:
    """Renders a session's messages, credentials and private spans taken out.

    Args:
        history: what was said before what is new.
        messages: what was said from there on; none of it is left out.
        seen: how many of `history` were shown before; None for all.

    Returns:
        a block a message. Rendering more messages later gives the same blocks for these, until the session
        has grown by another `STEP_BYTES`.

    Raises:
        DetectorUnavailable: credentials cannot be looked for.
    """
    said = [*history, *messages]
    first = min(_beginning([_size(message) for message in said]), len(history))
    blocks = _blocks(said[first:], first + 1)
    note = (f"[1] to [{first}] are left out here.\n",) if first else ()
    before = said[first : len(history) if seen is None else seen]
    return Rendered((*note, *blocks), len(note) + sum(not _is_withheld(message) for message in before))


def _size(message: Message) -> int:
    """Bytes of a message, about."""
    most = _PERSON_CHARS if message.role == "person" else _AGENT_CHARS
    pasted = sum(60 + len(paste[:_PASTE_CHARS].encode()) for paste in message.pasted[:_PASTES])
    calls = _RESULT_CHARS * min(len(message.tools), _CALLS)
    return 60 + len(message.text[:most].encode()) + pasted + calls


def _beginning(sizes: Sequence[int]) -> int:
    """Index of the first message that is shown."""
    ends = list(accumulate(sizes))
    if not ends or ends[-1] <= KEPT_BYTES:
        return 0
    # Whole steps: which message a step ends in depends on what stands before it alone.
    steps = -((KEPT_BYTES - ends[-1]) // STEP_BYTES)
    return next(at for at, end in enumerate(ends) if end > steps * STEP_BYTES)


def _blocks(said: Sequence[Message], first: int) -> Iterator[str]:
    texts = [text for message in said for text in _texts(message)]
    cleaned = iter(clean(texts))
    passed = first
    for number, message in enumerate(said, first):
        block = _block(number, message, [next(cleaned) for _ in _texts(message)])
        if _is_withheld(message):
            continue
        # With the message behind it: a block of its own would be one more for a lookup to go back over.
        yield _withheld(passed, number - 1) + block
        passed = number + 1


def _is_withheld(message: Message) -> bool:
    return message.source == "withheld"


def _withheld(first: int, last: int) -> str:
    """The line that stands for messages which nobody may see; empty for none."""
    if last < first:
        return ""
    return f"[{first}] is withheld.\n" if first == last else f"[{first}] to [{last}] are withheld.\n"


def _texts(message: Message) -> list[str]:
    """What comes from outside: text, what it answers, pastes, argument and result of each call."""
    given = [message.text, message.context[:_WINDOW], *(paste[:_WINDOW] for paste in _pastes(message))]
    given += [text for call in message.tools[:_CALLS] for text in (_argument(call.input), _outcome(call))]
    # Readers have cut what is private; here nothing may leave if one did not.
    return [without_private([text])[0] for text in given]


def _pastes(message: Message) -> Sequence[str]:
    return message.pasted[:_PASTES]


def _argument(given: Mapping[str, Any]) -> str:
    for key in _ARGUMENTS:
        value = given.get(key)
        if isinstance(value, str) and value.strip():
            return value[:_WINDOW]
    return ""


def _outcome(call: ToolCall) -> str:
    return (call.result or "")[:_WINDOW]


def _block(number: int, message: Message, texts: Sequence[str]) -> str:
    text, context, *rest = texts
    pastes, calls = rest[: len(_pastes(message))], rest[len(_pastes(message)) :]
    when = f", {message.time.astimezone(UTC):%Y-%m-%d %H:%M}" if message.time is not None else ""
    lines = [f"[{number}] {_who(message, context)}{when}: {_body(text, message.role == 'person')}"]
    for paste, given in zip(pastes, message.pasted, strict=False):
        shown = printable(paste).strip()[:_PASTE_CHARS].replace("\n", "\n    | ")
        lines.append(f"    pasted by the person, not their words, {counted(len(given), 'character')}:")
        lines.append(f"    | {shown}")
    if len(message.pasted) > _PASTES:
        lines.append(f"    and {counted(len(message.pasted) - _PASTES, 'more paste')}")
    for call, argument, result in zip(message.tools, calls[::2], calls[1::2], strict=False):
        failed = " failed" if call.is_error else ""
        told = f": {one_line(result, _RESULT_CHARS)}" if result.strip() else ""
        name = " ".join(filter(None, (one_line(call.name, 60), one_line(argument, _ARGUMENT_CHARS))))
        lines.append(f"    - {name}{failed}{told}")
    if len(message.tools) > _CALLS:
        lines.append(f"    - and {counted(len(message.tools) - _CALLS, 'more call')}")
    return "\n".join(lines) + "\n"


def _who(message: Message, context: str) -> str:
    if message.role == "agent":
        return "agent"
    about = one_line(context, 300)
    if message.source == "answer":
        return f'person, asked "{about}"' if about else "person, answering"
    if message.source == "refusal":
        return f"person, refusing {about}" if about else "person, refusing"
    return "person"


def _body(text: str, person: bool) -> str:
    """The text with its further lines indented, so that none can look like the beginning of a message."""
    most, end = (_PERSON_CHARS, _PERSON_END) if person else (_AGENT_CHARS, _AGENT_END)
    shown = printable(text).strip()
    if len(shown) > most:
        left = counted(len(shown) - most, "character")
        shown = f"{shown[: most - end]}\n[… {left} left out …]\n{shown[-end:]}"
    return shown.replace("\n", "\n    ")
