"""What is sent, and where the provider may cache it.

The order is that of the provider's cache: tools, system, messages. Tools and system text are constants;
then come the project's instruction files, which rarely change, and the memories that existed when the
session began, then the session, which only grows; then what differs each time: what became of those
memories since, and the task. Four breakpoints are allowed, and a lookup goes back 20 blocks from each
(platform.claude.com/docs/en/build-with-claude/prompt-caching), so they stand

1. behind the system text: shared by all sessions;
2. behind the last message that was shown before: where the extraction before this one wrote the session. A
   lookup hits it exactly, however many messages came since, looked at or not, and else up to 19 earlier;
3. behind the last message: where the next extraction will look;
4. behind the last block of all: for the next turn of this extraction, seconds later, hence five minutes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gitmem.engines import prompts
from gitmem.engines.anthropic_api.history import render
from gitmem.engines.anthropic_api.settings import Lifetime
from gitmem.engines.engine import ExtractInput

Block = dict[str, Any]


def system(ttl: Lifetime, name: str) -> list[Block]:
    """Gives a system text, a constant, with its breakpoint."""
    return [_kept({"type": "text", "text": prompts.text(name)}, ttl)]


def record(given: ExtractInput, ttl: Lifetime) -> list[Block]:
    """Gives what stands before the task: the same for everything that is asked about one session.

    Raises:
        DetectorUnavailable: credentials cannot be looked for, so nothing may leave.
    """
    new = min(given.numbers, default=len(given.said) + 1) - 1
    shown = render(given.said[:new], given.said[new:], given.seen)
    head = [one for one in (prompts.rules(given.rules), prompts.known_before(given.known_before)) if one]
    blocks = [text(one) for one in (*head, *shown.blocks)]
    old = shown.old + len(head)
    if old:
        blocks[old - 1] = _kept(blocks[old - 1], ttl)
    if len(blocks) > old:
        blocks[-1] = _kept(blocks[-1], ttl)
    return blocks


def with_moving_breakpoint(messages: Sequence[Block]) -> list[Block]:
    """Returns the messages with a breakpoint on their last block."""
    *before, last = messages
    *content, end = last["content"]
    return [*before, {**last, "content": [*content, _kept(end, "5m")]}]


def with_two_breakpoints(messages: Sequence[Block]) -> list[Block]:
    """Returns the messages with breakpoints behind the last two that are the person's.

    A turn with many calls is longer than a lookup goes back, so the breakpoint of the turn before stays.
    """
    marked = list(messages)
    for number in [at for at, one in enumerate(marked) if one["role"] == "user"][-2:]:
        *content, end = marked[number]["content"]
        marked[number] = {**marked[number], "content": [*content, _kept(end, "5m")]}
    return marked


def text(said: str) -> Block:
    """Gives a block of text."""
    return {"type": "text", "text": said}


def _kept(block: Block, ttl: Lifetime) -> Block:
    return {**block, "cache_control": {"type": "ephemeral", "ttl": ttl}}
