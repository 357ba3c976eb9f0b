"""Reads Gemini CLI's recorded sessions: `<home>/tmp/<project>/chats/session-*.jsonl`, as 0.61 writes them.

A file is a log of the client's list of messages: a header, messages (one that is written again with more
in it replaces the earlier one), `{"$rewindTo": id}`, which takes back that message and what follows, and
`{"$set": {"messages": […]}}`, which replaces the list after a compaction, a resumption or an interrupt.
What such a list brings in new was never said: a summary, copies of kept messages under other ids, the
client's context. What it drops was said all the same, unless it was rewound. A reason by which a hook makes
the agent go on looks like a prompt where the client does not show another beside it.

Older clients wrote a session as one JSON document, `session-*.json`, anew each time. It is read whole, and
hands out again what was handed out before; a message keeps its id.

Prompts, calls, resumptions and compactions are as the client was seen to record them; rewinds, interrupts,
answers, words to a working agent and the older documents follow its published sources.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.transcripts.bookmark import Bookmark
from gitmem.transcripts.chain import NONE, key
from gitmem.transcripts.client import Client
from gitmem.transcripts.gemini_places import (
    NAME,
    gemini_home,
    is_header,
    is_message,
    sessions_of,
    working_directory,
)
from gitmem.transcripts.gemini_records import Utterance, call_of, prose, spoken_in, string, texts_of, typed
from gitmem.transcripts.lines import document, opened
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.reading import read_on, time_of
from gitmem.transcripts.reply import Reply
from gitmem.transcripts.said import Said

RULES = f"{NAME} 1"
"""Name and version of what a bookmark holds: to be raised with every change of who counts as speaking."""


def read_session(
    path: Path, start: int = 0, *, bookmarks: Path | None = None, keep: bool = True, most: int = 0
) -> Session:
    """Reads a recorded session, or what was added to it; see `read_on`. A subagent's says nothing.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    if path.suffix == ".json":
        return _read_document(path, start)
    return read_on(
        path,
        start,
        lambda start: _Reading(path.stem, start),
        lambda mark: _Reading.resume(path.stem, mark),
        RULES,
        bookmarks=bookmarks,
        keep=keep,
        most=most,
    )


def _read_document(path: Path, start: int) -> Session:
    with opened(path) as file:
        size = file.seek(0, 2)
    reading = _Reading(path.stem, 0)
    reading.add(0, document(path))
    # What was read to its end holds nothing new, and only then.
    reading.end = size
    session = reading.session(path)
    return session if start != size else Session(session.id, NAME, path, session.cwd, (), size)


class _Entry(NamedTuple):
    """One message of the client's list.

    Attributes:
        text: key of what it holds.
        stretch: number of what was said with it; NONE where nothing was.
        person: a person said it.
    """

    text: int
    stretch: int = NONE
    person: bool = False


class _Last(NamedTuple):
    """The agent's last message, which may be written again with the calls it made.

    Attributes:
        id: key of its id.
        written: how often.
        calls: keys of the ids of its calls.
        reply: None where it was handed out before.
    """

    id: int = 0
    written: int = 0
    calls: frozenset[int] = frozenset()
    reply: Reply | None = None


class _Reading:
    """One reading.

    `_known` holds the messages by the keys of their ids, `_order` is the client's list of them now.
    `_prompt` holds keys of what the last prompt showed and of what it held.
    """

    def __init__(self, name: str, start: int) -> None:
        self.end = start
        self._start = start
        self._id, self._project, self._subagent = name, "", False
        self._skipped = 0
        self._said = Said()
        self._known: dict[int, _Entry] = {}
        self._order: list[int] = []
        self._stretches = 0
        self._gone: set[int] = set()
        self._prompt = (0, 0)
        self._last = _Last()

    @property
    def settled(self) -> bool:
        return True

    @classmethod
    def resume(cls, name: str, mark: Bookmark) -> _Reading | None:
        """A reading that goes on from a bookmark; None where it makes no sense."""
        reading = cls(name, mark.offset)
        try:
            values = mark.values
            reading._id, reading._project, reading._subagent = values["head"]
            reading._stretches, reading._gone = int(values["stretches"]), set(values["gone"])
            reading._prompt = (values["prompt"][0], values["prompt"][1])
            number, written, calls = values["last"]
            reading._last = _Last(number, written, frozenset(calls))
            reading._said, reading._order = Said.load(mark.arrays[:3]), mark.arrays[3].tolist()
            for number, text, stretch, person in zip(*mark.arrays[4:], strict=True):
                reading._known[number] = _Entry(text, stretch, bool(person))
        except (KeyError, ValueError, TypeError, IndexError):
            return None
        return reading

    def mark(self, edges: str) -> Bookmark:
        values = {
            "head": [self._id, self._project, self._subagent],
            "stretches": self._stretches,
            "gone": sorted(self._gone),
            "prompt": self._prompt,
            "last": [self._last.id, self._last.written, sorted(self._last.calls)],
        }
        entries = self._known.values()
        known = [
            array("Q", self._order),
            array("Q", self._known),
            array("Q", [one.text for one in entries]),
            array("q", [one.stretch for one in entries]),
            array("B", [one.person for one in entries]),
        ]
        return Bookmark(RULES, self.end, edges, values, self._said.dump()[0] + known)

    def skim(self, _: bytes, /) -> dict[str, Any] | None:
        """Parses every line."""
        return None

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        if record is None:
            self._skipped += offset >= self._start
        elif isinstance(target := record.get("$rewindTo"), str):
            self._rewind(key(target))
        elif is_message(record):
            self._message(offset, record)
        elif isinstance(changed := record.get("$set"), dict):
            if isinstance(changed.get("messages"), list):
                self._replace([one for one in changed["messages"] if is_message(one)])
        elif is_header(record):
            self._id = string(record["sessionId"]) or self._id
            self._project = string(record["projectHash"])
            self._subagent = record.get("kind") == "subagent"
            messages = record.get("messages")
            for one in filter(is_message, messages if isinstance(messages, list) else ()):
                self._message(offset, one)

    def session(self, path: Path) -> Session:
        messages = () if self._subagent else tuple(self._said.messages(self._gone))
        cwd = working_directory(path, self._project)
        return Session(self._id, NAME, path, cwd, messages, self.end, self._skipped)

    def _message(self, offset: int, record: dict[str, Any]) -> None:
        kind = record.get("type")
        if kind == "user":
            self._person(offset, record)
        elif kind == "gemini":
            self._agent(offset, record)

    def _person(self, offset: int, record: dict[str, Any]) -> None:
        number, held = key(record["id"]), key("\n".join(texts_of(record.get("content"))))
        if number in self._known:
            return
        self._order.append(number)
        said = typed(record)
        shown = key(said.text) if said else 0
        # The client goes on by itself under the words that the person saw last.
        again = bool(record.get("displayContent")) and shown == self._prompt[0] and held != self._prompt[1]
        if said is None or again:
            self._known[number] = _Entry(held)
            return
        self._prompt = (shown, held)
        self._known[number] = _Entry(held, self._next(), person=True)
        self._speak(offset, record["id"], record.get("timestamp"), said, self._stretches)

    def _agent(self, offset: int, record: dict[str, Any]) -> None:
        uuid, number = string(record["id"]), key(record["id"])
        text = prose(record.get("content"))
        known, again = self._known.get(number), True
        if known is not None and number != self._last.id:
            return
        if known is None:
            known, again = _Entry(key(text), self._next()), False
            self._known[number] = known
            self._order.append(number)
            self._last = _Last(number)
        last, stretch = self._last, known.stretch
        made = record.get("toolCalls")
        calls = [one for one in made if isinstance(one, dict)] if isinstance(made, list) else []
        new = [one for one in calls if key(string(one.get("id"))) not in last.calls]
        reply, written = last.reply, last.written + 1
        if reply is None and offset >= self._start and (new or not again):
            reply = Reply(uuid if written == 1 else f"{uuid}.{written}", record.get("timestamp"), "", "")
            self._said.reply(reply.message, stretch)
            reply.texts += [] if again else [text]
        elif not again:
            self._said.reply(None, stretch)
        if reply is not None:
            reply.tools += map(call_of, new)
        seen = last.calls | {key(string(one.get("id"))) for one in calls}
        self._last = _Last(number, written, seen, reply)
        for call in new:
            for count, said in enumerate(spoken_in(call), 1):
                own = f"{uuid}.{key(string(call.get('id'))):016x}.{count}"
                self._speak(offset, own, call.get("timestamp"), said, stretch)

    def _speak(self, offset: int, uuid: str, stamp: object, said: Utterance, stretch: int) -> None:
        uuid = string(uuid)
        message = Message(uuid, "person", said.text, time_of(stamp), said.source, context=said.context)
        same = said.text if said.source == "prompt" else uuid
        self._said.person(same, message if offset >= self._start else None, stretch)

    def _next(self) -> int:
        self._stretches += 1
        return self._stretches

    def _rewind(self, target: int) -> None:
        """Takes back a message and what follows; all of the list where it is not in it, as the client."""
        at = self._order.index(target) if target in self._order else 0
        self._gone.update(self._known.pop(number).stretch for number in self._order[at:])
        self._gone.discard(NONE)
        del self._order[at:]

    def _replace(self, messages: Sequence[Mapping[str, Any]]) -> None:
        given = {key(one["id"]): one for one in messages}
        before, self._order = self._order, list(given)
        used = {self._known[number].stretch for number in self._order if number in self._known}
        # A compaction gives what it keeps other ids.
        texts: dict[int, list[_Entry]] = {}
        for entry in self._known.values():
            if entry.stretch not in used and entry.stretch not in self._gone:
                texts.setdefault(entry.text, []).append(entry)
        for number, one in reversed(given.items()):
            if number in self._known:
                continue
            agent, content = one.get("type") == "gemini", one.get("content")
            text = key(prose(content) if agent else "\n".join(texts_of(content)))
            same = texts.get(text, [])
            while same and same[-1].stretch in used:
                same.pop()
            self._known[number] = same.pop() if same else _Entry(text)
            used.add(self._known[number].stretch)
        asked = next((e.stretch for e in map(self._known.__getitem__, reversed(before)) if e.person), NONE)
        if asked != NONE and asked not in used:
            # An interrupt takes the last prompt out of the list.
            self._said.interrupt(asked)


CLIENT = Client(NAME, read_session, is_header, gemini_home, sessions_of)
