"""The agent's own list of steps, as its last call left it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gitmem.engines.offline.noting.turns import Say, Turn
from gitmem.transcripts.model import todos_of

MOST = 30
_WIDTH = 200


def open_steps(turns: Sequence[Turn], say: Say) -> Iterator[str]:
    """Yields steps that are in hand, then those that are still to be done."""
    found = [todo for todo in todos_of(call for turn in turns for call in turn.calls) if not todo.done]
    found.sort(key=lambda todo: not todo.in_hand)
    for todo in found[:MOST]:
        yield f"- {'In hand' if todo.in_hand else 'To do'}: {say(todo.text, _WIDTH)}"
