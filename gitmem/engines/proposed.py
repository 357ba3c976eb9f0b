"""From a memory tree as a model left it to proposed changes. Neither the tree nor the answer is trusted.

Relative dates, memories that are nearly the same, secrets and tombstones are the flow's work: it looks at
the proposals of every engine alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from gitmem.core.change import TYPES, Change, Edited, MemoryType, Origin
from gitmem.core.claim import Claim
from gitmem.core.facts import lacking
from gitmem.core.limits import DESCRIPTION_CHARS, MEMORY_BYTES
from gitmem.core.memory import Memory, parse
from gitmem.core.names import is_agent_folder, is_archived, is_memory_file, kind, slugify
from gitmem.core.text import one_line
from gitmem.engines.answer import Note, notes
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline.likeness import gist, same, words
from gitmem.rules.paths import check_path
from gitmem.store.workspace import SCOPES
from gitmem.transcripts.model import Message

CHANGES = 50
"""Changes of one run, at most; a conversation teaches a handful."""

CERTAIN, UNCERTAIN = 0.7, 0.5
"""Confidence where the model names the messages, and where it does not."""

SHARED = 0.5
"""Share of a statement's words that the message which asked for it must hold, for it to count as asked."""

UNTYPED: MemoryType = "feedback"
"""Type of a new file that names none: of all types this one stays private, whatever is shared."""

_GIVEN_CHARS = 300
_UNEXPLAINED = "the model gave no reason"
_MARKUP = re.compile(r"^\W+|[*_`]+")


def proposed(
    given: ExtractInput, after: Mapping[str, bytes], answer: str, asked: frozenset[str]
) -> tuple[Change, ...]:
    """Turns what a model did to a copy of the memory into changes.

    A new file is an add, whose scope the flow decides; a changed one an update with the whole file before
    and after, and a body that holds the new claims; one that is gone a delete. Lines of the answer about
    what was left alone become noops. Files that are no memory of this agent are passed over.

    Args:
        given: what the engine was asked with; messages are numbered as in `given.said`.
        after: the tree, `<scope>/<agent>/<file>` to content.
        answer: the model's last words.
        asked: uuids of messages in which a person plainly asks that something be remembered.

    Returns:
        changes in the order of the messages that they stem from.
    """
    work = _Work(given, answer, asked)
    found = [*work.changes(after), *work.left_alone(after)]
    order = {message.uuid: at for at, message in enumerate(work.said)}
    found.sort(key=lambda change: (order.get(change.origin.first, len(order)), change.file or change.name))
    return tuple(found[:CHANGES])


@dataclass(frozen=True)
class _Source:
    """The messages that a change stems from; the new ones, where the model named none."""

    origin: Origin
    messages: tuple[Message, ...]
    reason: str
    named: bool


class _Work:
    def __init__(self, given: ExtractInput, answer: str, asked: frozenset[str]) -> None:
        self.given = given
        self.said = given.said
        self._asked = asked
        self._notes = notes(answer, len(self.said))

    def changes(self, after: Mapping[str, bytes]) -> Iterator[Change]:
        before = self.given.memory
        for key in sorted({*before, *after}):
            if before.get(key) == after.get(key) or not self._is_own(key, new=key not in before):
                continue
            source = self._source(key)
            file = key.split("/", 2)[2]
            change = (
                self._add(file, after[key], source)
                if key not in before
                else self._changed(file, before[key], after.get(key), source)
            )
            if change is not None:
                yield change

    def left_alone(self, after: Mapping[str, bytes]) -> Iterator[Change]:
        """Noops: lines that say so, and lines about a file that is as it was."""
        for note in self._notes:
            name = "nothing-new"
            if note.path != "noop":
                # Files are listed by folder, and some models name them without it.
                meant = [key for key in sorted(after) if note.path in (key, key.rpartition("/")[2])]
                if not meant or any(self.given.memory.get(key) != after[key] for key in meant):
                    continue
                name = parse(meant[0], after[meant[0]]).name
            yield self._change("noop", name, note.reason, UNTYPED, "", self._from([note]))

    def _is_own(self, key: str, *, new: bool) -> bool:
        scope, _, rest = key.partition("/")
        agent, _, file = rest.partition("/")
        if scope not in SCOPES or agent != self.given.agent or not is_agent_folder(agent):
            return False
        if check_path(key) is not None:
            return False
        return is_memory_file(file) or (not new and is_archived(file) and kind(file) == "memory")

    def _add(self, file: str, data: bytes, source: _Source) -> Change | None:
        memory = _read(file, data)
        if memory is None:
            return None
        claims = memory.parsed.claims
        first = _MARKUP.sub("", claims[0].key) if claims else ""
        description = one_line(
            memory.description or first, _GIVEN_CHARS if memory.description else DESCRIPTION_CHARS
        )
        body = memory.body.strip() or description
        if not body:
            return None
        name = slugify(memory.name)
        change = self._change("add", name, description, _type(memory) or UNTYPED, body, source)
        known = self._says_it(memory)
        if known:
            return replace(change, op="noop", asked=False, reason=f"known already ({known}): {description}")
        return change

    def _changed(self, file: str, data: bytes, new: bytes | None, source: _Source) -> Change | None:
        before = parse(file, data)
        type = _type(before) or UNTYPED
        after = None if new is None else _read(file, new)
        if new is not None and after is None:
            return None
        if after is None or (before.parsed.claims and not after.parsed.claims):
            description = one_line(before.description, _GIVEN_CHARS)
            change = self._change("delete", before.name, description, type, "", source)
            return replace(change, file=file)
        after = _with_front(before, after)
        if after.render() == data or len(after.render()) > MEMORY_BYTES:
            return None
        fresh = _fresh(before, after)
        body = "\n\n".join(claim.text for claim in fresh)
        description = one_line(after.description or before.description, _GIVEN_CHARS)
        change = self._change("update", before.name, description, type, body, source)
        gone = {claim.key for claim in before.parsed.claims} - {claim.key for claim in after.parsed.claims}
        # A request to remember one thing is no leave to take out others.
        is_asked = change.asked and len(gone) <= len(fresh)
        return replace(change, file=file, asked=is_asked, edited=Edited(data, after.render()))

    def _change(
        self, op: str, name: str, description: str, type: MemoryType, body: str, source: _Source
    ) -> Change:
        return Change(
            op=op,  # type: ignore[arg-type]
            name=one_line(name, _GIVEN_CHARS) or "unnamed",
            description=description,
            type=type,
            body=body,
            reason=source.reason,
            confidence=CERTAIN if source.named else UNCERTAIN,
            asked=op in ("add", "update") and self._is_asked(body, source),
            origin=source.origin,
            agent=self.given.agent,
        )

    def _is_asked(self, body: str, source: _Source) -> bool:
        """Whether all persons' messages that are named ask for something, and for what is said here."""
        persons = [message for message in source.messages if message.role == "person"]
        if not source.named or not persons or any(one.uuid not in self._asked for one in persons):
            return False
        statement = frozenset(words(body.split("\n\n", 1)[0]))
        heard = frozenset(word for message in persons for word in words(message.text))
        return bool(statement) and len(statement & heard) >= SHARED * len(statement)

    def _source(self, key: str) -> _Source:
        whole = [note for note in self._notes if note.path == key]
        return self._from(whole or [note for note in self._notes if note.path == key.rpartition("/")[2]])

    def _from(self, found: list[Note]) -> _Source:
        numbers = sorted({number for note in found for number in note.numbers})
        named = tuple(self.said[number - 1] for number in numbers)
        reason = next((note.reason for note in found if note.reason), _UNEXPLAINED)
        messages = named or self.given.messages
        if not messages:
            return _Source(Origin(self.given.session), (), reason, False)
        first, last = messages[0], messages[-1]
        return _Source(
            Origin(self.given.session, first.uuid, last.uuid, last.time), messages, reason, bool(named)
        )

    def _says_it(self, memory: Memory) -> str:
        """Name of a memory that holds every claim of a new one, in other words; empty where none does."""
        claims = memory.parsed.claims
        for name, known in self._known:
            if claims and all(any(_says(theirs, claim) for theirs in known) for claim in claims):
                return name
        return ""

    @cached_property
    def _known(self) -> tuple[tuple[str, tuple[Claim, ...]], ...]:
        own = (key for key in sorted(self.given.memory) if self._is_own(key, new=False))
        read = (parse(key.split("/", 2)[2], self.given.memory[key]) for key in own)
        return tuple((memory.name, memory.claims) for memory in read)


def _says(known: Claim, new: Claim) -> bool:
    """Whether a claim says all that another does: the same words, and no number, name or negation lost."""
    return same(gist(new.key), gist(known.key)) and not lacking(new.key, known.key)


def _read(file: str, data: bytes) -> Memory | None:
    """The memory, where it is UTF-8 text of a size that is kept, and not blank."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return parse(file, data) if text.strip() and "\0" not in text and len(data) <= MEMORY_BYTES else None


def _type(memory: Memory) -> MemoryType | None:
    named = memory.front.text("type").lower() if memory.front else ""
    return next((one for one in TYPES if one == named), None)


def _with_front(before: Memory, after: Memory) -> Memory:
    """The edited memory under its own name and type: who may see it is no model's to decide."""
    if before.front is None:
        return after
    front = after.front or before.front
    for key in ("name", "type"):
        known = before.front.field(key)
        if known is not None and known.value:
            there = front.field(key)
            front = front.with_value(key, known.value) if there else front.with_field(known)
    return replace(after, front=front)


def _fresh(before: Memory, after: Memory) -> tuple[Claim, ...]:
    there = {claim.key for claim in before.claims}
    return tuple({claim.key: claim for claim in after.parsed.claims if claim.key not in there}.values())
