"""Who said what in which order, as far as it tells a prompt that was sent again from a new one."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from gitmem.transcripts.chain import NONE, key
from gitmem.transcripts.model import Message

REMOVED, REPLY, INTERRUPT, PERSON = range(4)


@dataclass(slots=True)
class _Event:
    """One thing in file order.

    Attributes:
        kind: `REMOVED`, `REPLY`, `INTERRUPT` or `PERSON`.
        stretch: where it hangs in the tree; NONE where it hangs nowhere.
        text: key that is the same for a prompt sent again; 0 for agents and interrupts.
        message: makes the message; None for what was handed out before.
    """

    kind: int
    stretch: int = NONE
    text: int = 0
    message: Callable[[], Message | None] | None = None


class Said:
    """The utterances of a session, those that were handed out before as little more than a mark."""

    def __init__(self) -> None:
        self._events: list[_Event] = []

    def person(self, text: str, message: Message | None, stretch: int = NONE) -> int:
        """Notes what a person said.

        Args:
            text: the same for what counts as the same when it is sent again.
            message: None where it was handed out before.

        Returns:
            A number to take it back by.
        """
        made = None if message is None else lambda: message
        self._events.append(_Event(PERSON, stretch, key(text), made))
        return len(self._events) - 1

    def reply(self, message: Callable[[], Message | None] | None, stretch: int = NONE) -> None:
        """Notes that the agent did something; None where it was handed out before."""
        last = self._events[-1] if self._events else None
        if message is None and last and (last.kind, last.stretch) == (REPLY, stretch) and not last.message:
            return
        self._events.append(_Event(REPLY, stretch, message=message))

    def interrupt(self, stretch: int = NONE) -> None:
        """Notes that the person stopped the agent."""
        self._events.append(_Event(INTERRUPT, stretch))

    def take_back(self, number: int) -> None:
        """Unsays something."""
        self._events[number] = _Event(REMOVED)

    def messages(self, gone: Collection[int]) -> Iterator[Message]:
        """Yields what is to be handed out.

        What was sent again after an interrupt, or before the agent did anything, was said once.

        Args:
            gone: stretches that were rewound.
        """
        last, interrupted, replied = 0, False, False
        for event in self._events:
            if event.kind == REMOVED or event.stretch in gone:
                continue
            if event.kind == INTERRUPT:
                interrupted = True
            elif event.kind == REPLY:
                replied = True
            elif event.text == last and (interrupted or not replied):
                continue
            else:
                last, interrupted, replied = event.text, False, False
            if event.message and (message := event.message()):
                yield message

    def dump(self) -> tuple[list[array[int]], dict[int, int]]:
        """Everything needed to go on, and what becomes of the numbers that `person` gave."""
        kinds, stretches, texts = array("B"), array("q"), array("Q")
        numbers: dict[int, int] = {}
        for number, event in enumerate(self._events):
            if event.kind == REMOVED:
                continue
            if event.kind == REPLY and kinds and (kinds[-1], stretches[-1]) == (REPLY, event.stretch):
                continue
            numbers[number] = len(kinds)
            kinds.append(event.kind)
            stretches.append(event.stretch)
            texts.append(event.text)
        return [kinds, stretches, texts], numbers

    @classmethod
    def load(cls, arrays: list[array[int]]) -> Said:
        """What `dump` told of.

        Raises:
            ValueError: the arrays do not belong together.
        """
        said = cls()
        said._events = [_Event(*row) for row in zip(*arrays, strict=True)]
        return said
