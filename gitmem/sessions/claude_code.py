"""Reads Claude Code's recorded sessions: `<config>/projects/<slug>/<session>.jsonl`.

The file is streamed; of each record only its place in the chain and what was said are kept. The format
is internal to the client and changes: unknown record types are passed over, bad lines are counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from gitmem.sessions import speech
from gitmem.sessions.chain import Link, rewound
from gitmem.sessions.lines import read_lines
from gitmem.sessions.session import Message, Session, Source, ToolCall

RESULT_LENGTH = 2_000
"""Characters of a tool result that are kept: enough to see what happened."""
INPUT_LENGTH = 102_400
"""Characters kept of each string in a tool's input: a memory file is never longer."""
_INPUT_DEPTH = 20
_QUESTION = "AskUserQuestion"


def read_session(path: Path, start: int = 0) -> Session:
    """Reads a recorded session, or what was added to it.

    The whole file is parsed each time, since only that tells what was rewound, dequeued or repeated, but
    only messages recorded at or after `start` are kept and returned. Reading on from `end` gives what a
    single reading would have given, except that a message handed out before cannot be taken back.

    Args:
        path: the transcript.
        start: byte offset to go on from, the `end` of an earlier reading; one beyond the end of the file
            (it was replaced) counts as 0.

    Returns:
        The session. `end` stops before a last line that is still being written.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    if start and path.exists() and start > path.lstat().st_size:
        start = 0
    reading = _Reading(path.stem, start)
    for line in read_lines(path):
        reading.add(line.start, line.record)
        reading.end = max(line.end, start)
    return reading.session(path)


@dataclass
class _Reply:
    """An agent's message while its lines still arrive."""

    uuid: str
    time: datetime | None
    branch: str
    texts: list[str] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)

    def message(self) -> Message | None:
        if not (self.texts or self.tools):
            return None
        text = "\n".join(self.texts)
        return Message(self.uuid, "agent", text, self.time, "reply", tuple(self.tools), self.branch)


@dataclass(frozen=True, slots=True)
class _Item:
    """One thing in file order.

    Attributes:
        uuid: record it hangs on in the chain; empty where it hangs on none.
        said: digest that is the same for a prompt sent again; empty for agents and interrupts.
        content: the message, a reply still open, or None for what lies before `start`.
        interrupt: the person stopped the agent here.
    """

    uuid: str
    said: bytes = b""
    content: Message | _Reply | None = None
    interrupt: bool = False


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A queued prompt that no record has taken up yet, and its index in the items."""

    text: str
    index: int
    offset: int


class _Reading:
    def __init__(self, name: str, start: int) -> None:
        self.end = start
        self._start = start
        self._id = name
        self._cwd = ""
        self._skipped = 0
        self._links: dict[str, Link] = {}
        self._items: list[_Item | None] = []
        self._waiting: list[_Waiting] = []
        self._replies: dict[str, _Reply] = {}
        self._calls: dict[str, tuple[_Reply, int]] = {}
        self._names: dict[str, str] = {}

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
        self._id = _string(record, "sessionId") or self._id
        self._cwd = self._cwd or _string(record, "cwd")
        if uuid in self._links:
            return
        prompt = False
        message = record.get("message")
        if kind == "user" and isinstance(message, dict):
            prompt = self._user(offset, uuid, record, message.get("content"))
        elif kind == "assistant" and isinstance(message, dict):
            self._assistant(offset, uuid, record, message)
        elif kind == "attachment":
            self._attachment(offset, uuid, record)
        self._links[uuid] = Link(
            uuid,
            _string(record, "parentUuid"),
            _string(record, "logicalParentUuid"),
            kind in ("user", "assistant") and not record.get("isMeta"),
            prompt,
        )

    def session(self, path: Path) -> Session:
        gone = rewound(tuple(self._links.values()))
        messages: list[Message] = []
        last, interrupted, replied = b"", False, False
        for item in self._items:
            if item is None or item.uuid in gone:
                continue
            content = item.content.message() if isinstance(item.content, _Reply) else item.content
            if item.interrupt:
                interrupted = True
            elif not item.said:
                replied = True
            elif item.said == last and (interrupted or not replied):
                # Sent again after an interrupt: said once.
                continue
            else:
                last, interrupted, replied = item.said, False, False
            if content is not None:
                messages.append(content)
        return Session(self._id, "claude-code", path, self._cwd, tuple(messages), self.end, self._skipped)

    def _user(self, offset: int, uuid: str, record: dict[str, Any], content: object) -> bool:
        blocks = content if isinstance(content, list) else []
        said: list[tuple[str, Source, str]] = []
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                said += self._result(block, record)
        prompt = "" if speech.injected(record) else speech.prompt_text(content)
        if prompt:
            said.append((prompt, "prompt", ""))
        elif any(text.startswith(speech.INTERRUPTED) for text in speech.texts(content)):
            self._items.append(_Item(uuid, interrupt=True))
        self._say(offset, uuid, record, said)
        return bool(prompt)

    def _attachment(self, offset: int, uuid: str, record: dict[str, Any]) -> None:
        """A prompt that the agent took up in the middle of its work."""
        attachment = record.get("attachment")
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        by_person = attachment.get("commandMode", "prompt") == "prompt"
        if not by_person or speech.injected(record) or speech.injected(attachment):
            return
        if text := speech.queued_text(attachment.get("prompt")):
            self._say(offset, uuid, record, [(text, "queued", "")])

    def _say(
        self, offset: int, uuid: str, record: dict[str, Any], said: list[tuple[str, Source, str]]
    ) -> None:
        for number, (text, source, context) in enumerate(said, 1):
            handed_out = offset < self._start
            name = uuid if number == 1 else f"{uuid}.{number}"
            # Only a prompt can be sent again; the same answer to two questions is two answers.
            key = name
            if source in ("prompt", "queued"):
                key = text
                handed_out |= self._take_up(text)
            time, branch = _time(record.get("timestamp")), _string(record, "gitBranch")
            message = Message(name, "person", text, time, source, (), branch, context)
            self._items.append(_Item(uuid, _digest(key), None if handed_out else message))

    def _take_up(self, text: str) -> bool:
        """Ends the wait of a queued prompt that is recorded now.

        Returns:
            Whether an earlier reading, which ended between the two, already handed it out.
        """
        found = next((waiting for waiting in self._waiting if waiting.text == text), None)
        if found is None:
            return False
        self._waiting.remove(found)
        self._items[found.index] = None
        return found.offset < self._start

    def _queue(self, offset: int, record: dict[str, Any]) -> None:
        operation, text = record.get("operation"), speech.queued_text(record.get("content"))
        if operation == "enqueue" and text and not speech.injected(record):
            self._waiting.append(_Waiting(text, len(self._items), offset))
            stamp = _string(record, "timestamp")
            session = _string(record, "sessionId") or self._id
            key = hashlib.sha256("\0".join((session, stamp, text)).encode()).hexdigest()
            message = Message(f"q-{key[:16]}", "person", text, _time(stamp), "queued")
            self._items.append(_Item("", _digest(text), message if offset >= self._start else None))
        elif operation == "popAll":
            # Taken back into the input line: what is sent in the end is recorded on its own.
            for waiting in [w for w in self._waiting if text in ("", w.text)]:
                self._waiting.remove(waiting)
                self._items[waiting.index] = None

    def _assistant(self, offset: int, uuid: str, record: dict[str, Any], message: dict[str, Any]) -> None:
        content = message.get("content")
        if message.get("model") == "<synthetic>" or record.get("isApiErrorMessage"):
            return
        key = _string(message, "id") or uuid
        blocks = content if isinstance(content, list) else []
        if offset < self._start:
            self._names.update(_names(blocks))
            self._items.append(_Item(uuid))
            return
        reply = self._replies.get(key)
        if reply is None:
            reply = _Reply(uuid, _time(record.get("timestamp")), _string(record, "gitBranch"))
            self._replies[key] = reply
            self._items.append(_Item(uuid, content=reply))
        reply.texts += filter(None, (speech.clean(text).strip() for text in speech.texts(content)))
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_use":
                call = _call(block)
                if call.id:
                    self._calls[call.id] = (reply, len(reply.tools))
                    self._names[call.id] = call.name
                reply.tools.append(call)

    def _result(self, block: dict[str, Any], record: dict[str, Any]) -> list[tuple[str, Source, str]]:
        """Attaches a result to its call and returns what a person said in it."""
        called = _string(block, "tool_use_id")
        content = block.get("content")
        text = "\n".join(speech.texts(content))
        is_error = block.get("is_error") is True
        if called in self._calls:
            reply, index = self._calls.pop(called)
            result = speech.clean(text)[:RESULT_LENGTH]
            reply.tools[index] = replace(reply.tools[index], result=result, is_error=is_error)
        name = self._names.pop(called, "")
        if is_error and (reason := speech.refusal_reason(text)):
            return [(reason, "refusal", name)]
        if name == _QUESTION and not is_error:
            return [(answer, "answer", q) for q, answer in speech.answers(record.get("toolUseResult"))]
        return []


def _names(blocks: list[Any]) -> dict[str, str]:
    calls = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_use"]
    return {_string(call, "id"): _string(call, "name") for call in calls}


def _call(block: Mapping[str, Any]) -> ToolCall:
    given = block.get("input")
    cleaned = _cut(given, _INPUT_DEPTH) if isinstance(given, dict) else {}
    return ToolCall(_string(block, "id"), _string(block, "name"), cleaned)


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return speech.clean(value)[:INPUT_LENGTH]
    if isinstance(value, dict):
        return {speech.clean(k): _cut(v, depth - 1) for k, v in value.items()} if depth else {}
    if isinstance(value, list):
        return [_cut(v, depth - 1) for v in value] if depth else []
    return value


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:16]


def _string(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key)
    return speech.clean(value) if isinstance(value, str) else ""


def _time(stamp: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None
