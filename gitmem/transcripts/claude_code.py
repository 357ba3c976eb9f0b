"""Reads Claude Code's recorded sessions: `<config>/projects/<slug>/<session>.jsonl`.

The file is streamed; of each record only its place in the tree and what was said are kept. The format
is internal to the client and changes: unknown record types are passed over, bad lines are counted.

A subagent's recording lies beside it, `<session>/subagents/agent-<id>.jsonl`. All its records are a
sidechain's, and what looks like a person's prompt is the main agent's. A person speaks in it only where
they refuse a tool call or answer a question.

What was *said* is what extraction reads: everything in file order except what a person rewound. What stands
before a compaction was said all the same, and is said only once: the summary that replaces it is not the
person's. A rewind takes back a prompt and all that followed from it, so its memories would be false ones.

A record off its tree's chain, from the last leaf to the root (`uuid`, `parentUuid`), is not necessarily
rewound: parallel tool calls hang their results beside the chain, and a refusal with a reason can be among
them. A record is rewound when the way up from it meets a prompt that is off the chain before it meets the
chain; a compaction whose own past was rewound goes with it (`logicalParentUuid`, followed for nothing
else). So a *stretch*, a prompt with all that follows up to the next prompts, counts or goes as a whole, and
a tree of stretches is small.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.transcripts import speech
from gitmem.transcripts.claude_home import claude_config_dir, sessions_of
from gitmem.transcripts.model import Message, Session, Source, ToolCall
from gitmem.transcripts.reader import (
    NONE,
    ClientReader,
    Reply,
    Utterances,
    read_on,
    result_text,
    time_of,
    tool_call,
)


class Link(NamedTuple):
    """What the tree needs of one record.

    Attributes:
        uuid: the record's id.
        parent: its `parentUuid`; empty for a root.
        logical: a compaction boundary's `logicalParentUuid`; empty otherwise.
        leaf: a user or assistant record, neither sidechain nor meta: the conversation can end here.
        prompt: a person's own prompt, where a rewind can begin.
    """

    uuid: str
    parent: str = ""
    logical: str = ""
    leaf: bool = False
    prompt: bool = False


@dataclass(slots=True)
class _Stretch:
    """Records that count or go together.

    Attributes:
        parent: stretch that it follows from; NONE for a root.
        logical: stretch that a compaction at its head continues; NONE otherwise.
        last: number of its last leaf in file order; NONE where it has none.
        prompt: begins with a person's prompt.
    """

    parent: int = NONE
    logical: int = NONE
    last: int = NONE
    prompt: bool = False


class Tree:
    """A transcript's records as they come, in file order, and which of them were rewound.

    `_places` holds the stretch of each record, `_children` and `_successors` the stretches that wait for a
    record which is named and not there (yet).
    """

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._places: dict[str, int] = {}
        self._children: dict[str, list[int]] = {}
        self._successors: dict[str, list[int]] = {}

    def add(self, link: Link) -> int:
        """Takes one more record.

        Returns:
            The number of its stretch; NONE where a record with its uuid is there already.
        """
        if link.uuid in self._places:
            return NONE
        number = self._places.get(link.parent, NONE) if link.parent else NONE
        if link.prompt or number == NONE:
            above, number = number, len(self._stretches)
            stretch = _Stretch(above, prompt=link.prompt)
            self._stretches.append(stretch)
            if above == NONE and link.parent not in ("", link.uuid):
                self._children.setdefault(link.parent, []).append(number)
            if above == NONE and link.logical:
                stretch.logical = self._places.get(link.logical, NONE)
                if stretch.logical == NONE:
                    self._successors.setdefault(link.logical, []).append(number)
        if link.leaf:
            self._stretches[number].last = len(self._places)
        self._places[link.uuid] = number
        for child in self._children.pop(link.uuid, ()):
            self._stretches[child].parent = number
        for successor in self._successors.pop(link.uuid, ()):
            self._stretches[successor].logical = number
        return number

    def rewound(self) -> frozenset[int]:
        """Numbers of the stretches that a person took back."""
        roots = self._roots()
        ends: dict[int, int] = {}
        for number, root in enumerate(roots):
            if self._stretches[number].last > (self._stretches[ends[root]].last if root in ends else NONE):
                ends[root] = number
        chain = {number for end in ends.values() for number in self._way(end)}
        gone = {number for number in range(len(roots)) if self._is_off(number, chain)}
        fallen: dict[int, bool] = {}
        for root in set(roots):
            self._fall(root, roots, gone, fallen)
        return frozenset(gone | {number for number, root in enumerate(roots) if fallen.get(root)})

    def _way(self, number: int) -> dict[int, None]:
        """From a stretch up to its root; a cycle of parents is left where it closes."""
        way: dict[int, None] = {}
        while number != NONE and number not in way:
            way[number] = None
            number = self._stretches[number].parent
        return way

    def _roots(self) -> list[int]:
        """The root of each stretch; of a cycle, the stretch at which it closes."""
        roots = [NONE] * len(self._stretches)
        for number in range(len(roots)):
            way: dict[int, None] = {}
            above, last = number, number
            while above != NONE and above not in way and roots[above] == NONE:
                way[above] = None
                above, last = self._stretches[above].parent, above
            root = roots[above] if above != NONE and above not in way else last
            for one in way:
                roots[one] = root
        return roots

    def _is_off(self, number: int, chain: set[int]) -> bool:
        seen: set[int] = set()
        while number != NONE and number not in chain and number not in seen:
            if self._stretches[number].prompt:
                return True
            seen.add(number)
            number = self._stretches[number].parent
        return False

    def _fall(self, root: int, roots: list[int], gone: set[int], fallen: dict[int, bool]) -> None:
        """Whole trees that continue a rewound one, and the trees that continue those."""
        way: list[int] = []
        verdict = False
        while root not in fallen and root not in way:
            way.append(root)
            stretch = self._stretches[root]
            past = stretch.logical if stretch.parent == NONE else NONE
            if past == NONE:
                break
            if past in gone:
                verdict = True
                break
            root = roots[past]
        verdict = verdict or fallen.get(root, False)
        fallen.update(dict.fromkeys(way, verdict))


NAME = "claude-code"
SUBAGENTS = "subagents"
"""Folder of a session's subagents, beside its recording."""
DEEPEST = 5
"""Parts of a recording's path in which that folder is looked for: 2.1.330 keeps some folders below it."""
_QUESTION = "AskUserQuestion"
# Records that say nothing and can be most of a file. Between an object's opening brace and its first inner
# one, and between its last inner one and its closing brace, every key is the object's own.
_SCALAR = rb'(?:"[A-Za-z]+":(?:"[^"\\]*"|true|false|null|\d+),)*'
_PROGRESS = re.compile(
    rb'\{"parentUuid":(?:null|"([^"\\]+)"),"isSidechain":false,' + _SCALAR + rb'"type":"progress",'
)
_PROGRESS_ID = re.compile(rb'"uuid":"([^"\\]+)"(?:,"[A-Za-z]+":"[^"\\]*")*\}\n\Z')
_HEAD = 1_000
_SNAPSHOT = b'{"type":"file-history-snapshot",'


_Utterance = tuple[speech.Spoken, Source, str]
"""What was said, how, and what it replies to."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A queued prompt that no record has taken up yet: its text, its number in what was said."""

    text: str
    number: int
    handed_out: bool


class RecordingReading:
    """One reading of a recording, as far as it goes: what `read_on` asks for."""

    settled = True

    def __init__(self, name: str, start: int) -> None:
        self.end = start
        self._start = start
        self._id = name
        self._cwd = ""
        self._skipped = 0
        self._tree = Tree()
        self._said = Utterances()
        self._waiting: list[_Waiting] = []
        self._names: dict[str, str] = {}
        self._replies: dict[str, Reply] = {}
        self._calls: dict[str, tuple[Reply, int]] = {}

    def skim(self, raw: bytes, /) -> dict[str, Any] | None:
        """What counts of a record that says nothing; None for one that has to be parsed."""
        if raw.startswith(_SNAPSHOT) and raw.endswith(b"}\n"):
            return {"type": "file-history-snapshot"}
        if not self._cwd or b'"type":"progress"' not in raw[:_HEAD]:
            return None
        begins, ends = _PROGRESS.match(raw), _PROGRESS_ID.search(raw, max(0, len(raw) - _HEAD))
        if not begins or not ends:
            return None
        parent = (begins[1] or b"").decode("utf-8", "replace")
        return {"type": "progress", "uuid": ends[1].decode("utf-8", "replace"), "parentUuid": parent}

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        if record is None:
            self._skipped += offset >= self._start
            return
        kind = record.get("type")
        if kind == "queue-operation":
            self._queue(offset, record)
            return
        uuid = _string(record, "uuid")
        if not uuid or record.get("isSidechain"):
            return
        if kind == "progress" and self._cwd:
            self._tree.add(Link(uuid, _string(record, "parentUuid")))
            return
        if record.get("sessionId") != self._id:
            self._id = _string(record, "sessionId") or self._id
        self._cwd = self._cwd or _string(record, "cwd")
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        prompt = speech.NOTHING
        speaks = kind == "user" and isinstance(message, dict) and any(speech.texts(content))
        if speaks and not _injected(record):
            prompt = speech.spoken(content)
        talks = kind in ("user", "assistant") and not record.get("isMeta") and not record.get("teamName")
        stretch = self._tree.add(
            Link(
                uuid,
                _string(record, "parentUuid"),
                _string(record, "logicalParentUuid"),
                talks,
                prompt is not speech.NOTHING,
            )
        )
        if stretch == NONE:
            return
        if kind == "user" and isinstance(message, dict):
            self._user(offset, stretch, uuid, record, content, prompt)
        elif kind == "assistant" and isinstance(message, dict):
            self._assistant(offset, stretch, uuid, record, message)
        elif kind == "attachment":
            self._attachment(offset, stretch, uuid, record)

    def session(self, path: Path) -> Session:
        messages = tuple(self._said.messages(self._tree.rewound()))
        return Session(self._id, NAME, path, self._cwd, messages, self.end, self._skipped)

    def _user(
        self,
        offset: int,
        stretch: int,
        uuid: str,
        record: dict[str, Any],
        content: object,
        prompt: speech.Spoken,
    ) -> None:
        said: list[_Utterance] = []
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_result":
                said += self._result(block, record)
        if prompt is not speech.NOTHING:
            said.append((prompt, "prompt", ""))
        elif any(text.startswith(speech.INTERRUPTED) for text in speech.texts(content)):
            self._said.interrupt(stretch)
        if said:
            self._say(offset, stretch, uuid, record, said)

    def _attachment(self, offset: int, stretch: int, uuid: str, record: dict[str, Any]) -> None:
        """A prompt that the agent took up in the middle of its work."""
        attachment = record.get("attachment")
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        by_person = attachment.get("commandMode", "prompt") == "prompt"
        if not by_person or _injected(record) or _injected(attachment):
            return
        said = speech.queued(attachment.get("prompt"))
        if said is not speech.NOTHING:
            self._say(offset, stretch, uuid, record, [(said, "queued", "")])

    def _say(
        self,
        offset: int,
        stretch: int,
        uuid: str,
        record: dict[str, Any],
        said: list[_Utterance],
    ) -> None:
        for number, (spoken, source, context) in enumerate(said, 1):
            handed_out = offset < self._start
            name = uuid if number == 1 else f"{uuid}.{number}"
            # Only a prompt can be sent again; the same answer to two questions is two answers.
            same = name
            if source in ("prompt", "queued"):
                same = spoken.whole
                handed_out |= self._take_up(same)
            time, branch = time_of(record.get("timestamp")), _string(record, "gitBranch")
            text, pasted = spoken
            message = Message(name, "person", text, time, source, (), branch, context, pasted=pasted)
            self._said.person(same, None if handed_out else message, stretch)

    def _take_up(self, text: str) -> bool:
        """Ends the wait of a queued prompt that is recorded now.

        Returns:
            Whether an earlier reading, which ended between the two, already handed it out.
        """
        found = next((waiting for waiting in self._waiting if waiting.text == text), None)
        if found is None:
            return False
        self._waiting.remove(found)
        self._said.take_back(found.number)
        return found.handed_out

    def _queue(self, offset: int, record: dict[str, Any]) -> None:
        operation, said = record.get("operation"), speech.queued(record.get("content"))
        text, pasted = said
        if operation == "enqueue" and said is not speech.NOTHING and not _injected(record):
            handed_out = offset < self._start
            stamp = _string(record, "timestamp")
            session = _string(record, "sessionId") or self._id
            digest = hashlib.sha256("\0".join((session, stamp, said.whole)).encode()).hexdigest()
            time = time_of(stamp)
            message = Message(f"q-{digest[:16]}", "person", text, time, "queued", pasted=pasted)
            number = self._said.person(said.whole, None if handed_out else message, NONE)
            self._waiting.append(_Waiting(said.whole, number, handed_out))
        elif operation == "popAll":
            # Taken back into the input line: what is sent in the end is recorded on its own.
            for waiting in [
                one for one in self._waiting if said is speech.NOTHING or one.text == said.whole
            ]:
                self._waiting.remove(waiting)
                self._said.take_back(waiting.number)

    def _assistant(
        self, offset: int, stretch: int, uuid: str, record: dict[str, Any], message: dict[str, Any]
    ) -> None:
        content = message.get("content")
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            return
        blocks = content if isinstance(content, list) else []
        uses = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
        for use in uses:
            if called := _string(use, "id"):
                self._names[called] = _string(use, "name")
        texts = speech.texts(content)
        if offset < self._start or not (texts or uses):
            self._said.reply(None, stretch)
            return
        name = _string(message, "id") or uuid
        reply = self._replies.get(name)
        if reply is None:
            reply = Reply(uuid, record.get("timestamp"), _string(record, "gitBranch"))
            self._replies[name] = reply
            self._said.reply(reply.message, stretch)
        else:
            self._said.reply(None, stretch)
        reply.texts += texts
        for use in uses:
            call = tool_call(_string(use, "id"), _string(use, "name"), use.get("input"))
            if call.id:
                self._calls[call.id] = (reply, len(reply.tools))
            reply.tools.append(call)

    def _result(self, block: dict[str, Any], record: dict[str, Any]) -> list[_Utterance]:
        """Attaches a result to its call and returns what a person said in it."""
        called = _string(block, "tool_use_id")
        text = "\n".join(speech.texts(block.get("content")))
        is_error = block.get("is_error") is True
        if called in self._calls:
            reply, index = self._calls.pop(called)
            call = reply.tools[index]
            reply.tools[index] = ToolCall(call.id, call.name, call.input, result_text(text), is_error)
        name = self._names.pop(called, "")
        if is_error and (reason := speech.refusal_reason(text)) is not speech.NOTHING:
            return [(reason, "refusal", name)]
        if name == _QUESTION and not is_error:
            return [(answer, "answer", q) for q, answer in speech.answers(record.get("toolUseResult"))]
        return []


def _string(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str):
        return ""
    # Read for each record, and nearly always plain.
    return value if value.isascii() and "<" not in value else speech.clean(value)


def _recognises(record: Mapping[str, Any]) -> bool:
    return "payload" not in record and ("sessionId" in record or "uuid" in record or "leafUuid" in record)


read_session = partial(read_on, RecordingReading)
"""Reads a recorded session, or what was added to it."""

CLIENT = ClientReader(NAME, read_session, _recognises, claude_config_dir, sessions_of)


SPOKEN = frozenset({"refusal", "answer", "reply"})


def is_subagents(path: Path) -> bool:
    """Whether a path is that of a subagent's recording, in `subagents` or in a folder of a team there."""
    return path.name.startswith("agent-") and SUBAGENTS in path.parts[-DEEPEST:-1]


class _Sidechain(RecordingReading):
    """The client's reading of records that are a conversation of their own here."""

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        super().add(offset, {**record, "isSidechain": False} if record is not None else None)

    def session(self, path: Path) -> Session:
        read = super().session(path)
        return replace(read, messages=tuple(one for one in read.messages if one.source in SPOKEN))


read_subagent = partial(read_on, _Sidechain)
"""Reads a subagent's recording, or what was added to it."""


def _injected(record: Mapping[str, Any]) -> bool:
    """Whether a user or attachment record as a whole comes from the client, a hook, a skill or a tool."""
    origin = record.get("origin")
    return bool(
        record.get("isMeta")
        or record.get("isCompactSummary")
        or record.get("isVisibleInTranscriptOnly")
        or record.get("sourceToolUseID")
        or (isinstance(origin, dict) and origin.get("kind", "human") != "human")
    )
