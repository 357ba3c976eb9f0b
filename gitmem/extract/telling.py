"""What an engine that reads the session is told of it, so that its next request begins as this one did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitmem.core.change import Header
from gitmem.transcripts.model import Message


@dataclass(frozen=True)
class Told:
    """What such an engine is told besides what is new.

    Attributes:
        record: all that was said in the session up to the end of the new part, handled or not; what is not
            to be learned from is there without its words.
        known_before: the manifest as it was when the session began.
    """

    record: tuple[Message, ...] = ()
    known_before: tuple[Header, ...] = ()


NOTHING = Told()


@dataclass(frozen=True)
class Shown:
    """One extraction's part of the session; see `ExtractInput`."""

    messages: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    seen: int | None = None


def shown(record: Sequence[Message], new: Sequence[Message], *, agents_too: bool = False) -> Shown:
    """Says where in the record the new messages stand, and where the request before ended.

    Turns that are left out at the end of the part are left to the next request: so it goes on from where
    this one ends, however many turns without a request lie between.

    Args:
        record: the session up to the end of the new part.
        new: what is to be looked at; empty of what is withheld.
        agents_too: there is no person in the session: what the agent says counts.
    """
    places = {message.uuid: at for at, message in enumerate(record)}
    speaking = [at for at, message in enumerate(record) if message.role == "person" or agents_too]
    fresh = {places[m.uuid] for m in new if m.uuid in places and (m.role == "person" or agents_too)}
    if not fresh:
        return Shown(tuple(new))
    first, last = min(fresh), max(fresh)
    end = next((at for at in speaking if at > last), len(record))
    seen = first
    for at in reversed([at for at in speaking if at < first]):
        if not _passed(record[at]):
            break
        seen = at
    kept = tuple(message for message in new if first <= places.get(message.uuid, -1) < end)
    return Shown(kept, tuple(record[:end]), seen)


def _passed(message: Message) -> bool:
    empty = message.role == "person" and not (message.text.strip() or message.pasted)
    return empty or message.source == "withheld"
