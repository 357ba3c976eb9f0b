"""Reads Codex CLI's recorded sessions: `<home>/sessions/YYYY/MM/DD/rollout-*.jsonl`.

Lines are `{timestamp, type, payload}`. What a person typed is recorded twice, as a `response_item` for the
model and as an `event_msg`; the former also holds much that the client puts in (environment, AGENTS.md,
skills, hooks), so where events are recorded they alone tell that a person spoke. Tools are given the names
that Claude Code has for them (`Bash`, `Write`, `Edit`), a patch one call a file, so that nobody else needs
to know whose call it was. A recording names its git commit at the beginning only.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from os import scandir
from pathlib import Path
from typing import Any, Literal

from gitmem.core.errors import GitmemError
from gitmem.transcripts import speech
from gitmem.transcripts.model import Message, Session, SessionFile, Source, ToolCall
from gitmem.transcripts.reader import (
    ClientReader,
    Reply,
    Utterances,
    belongs,
    key,
    read_lines,
    read_on,
    result_text,
    time_of,
    tool_call,
)

ASKED = "request_user_input"
"""The tool by which the agent asks the person."""

# Text that the client puts into a person's message, by the tags its sources give it.
_PUT_IN = r"(?:[a-z]+(?:_[a-z]+)+|skill|[a-z]+ instructions|INSTRUCTIONS)"
_HEADING = r"# AGENTS\.md instructions[^\n]*\s*"
_BLOCK = re.compile(rf"\s*(?:{_HEADING})?<(?P<tag>{_PUT_IN})(?:\s[^<>]*)?>.*?</(?P=tag)>", re.DOTALL)
_OPENED = re.compile(rf"\s*(?:<{_PUT_IN}(?:\s[^<>]*)?>|{_HEADING})")
_REQUEST = "## My request for Codex:"
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_MOVED = re.compile(r"^\*\*\* Move to: (.+)$", re.MULTILINE)
_SHELLS = frozenset({"shell", "exec_command", "shell_command", "container.exec", "local_shell"})
_NOTE = "user_note: "
_EXIT = re.compile(r"(?:Exit code|Process exited with code):? (\d+)")


def string(value: object) -> str:
    """A recorded string without private spans; empty where it is none."""
    return speech.clean(value) if isinstance(value, str) else ""


def texts_of(payload: Mapping[str, Any]) -> list[str]:
    """The texts of a message's content, as recorded."""
    content = payload.get("content")
    blocks = content if isinstance(content, list) else [{"text": content}]
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def typed(text: str) -> str:
    """What a person typed of a text: without blocks that the client or an editor put before it."""
    while block := _BLOCK.match(text):
        text = text[block.end() :]
    if _OPENED.match(text):
        return ""
    before, found, request = text.partition(_REQUEST)
    return request if found and before.lstrip().startswith("# Context from my IDE") else text


def is_subagent(meta: Mapping[str, Any]) -> bool:
    """Whether a `session_meta` is that of a session which another agent began."""
    source = meta.get("source")
    return isinstance(source, dict) or meta.get("thread_source") in ("subagent", "memory_consolidation")


def given_to(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments of a call; a tool with free input gets it as `input`."""
    if isinstance(action := payload.get("action"), dict):
        return action
    if isinstance(free := payload.get("input"), str):
        return {"input": free}
    try:
        value = json.loads(payload.get("arguments") or "{}")
    except (ValueError, TypeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def calls_of(called: str, name: str, given: Mapping[str, Any]) -> Iterator[ToolCall]:
    """The calls that a recorded call stands for, named as Claude Code names them."""
    command = given.get("command", given.get("cmd"))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        command = words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    patch = given.get("input", given.get("patch", command))
    if isinstance(patch, str) and _PATCH in patch and (name == "apply_patch" or name in _SHELLS):
        moved = [("Update", path) for path in _MOVED.findall(patch)]
        for number, (kind, path) in enumerate([*_PATCHED.findall(patch), *moved], 1):
            tool = "Write" if kind == "Add" else "Edit"
            own = called if number == 1 else f"{called}.{number}"
            yield tool_call(own, tool, {"file_path": path.strip(), "patch": patch})
    elif name in _SHELLS and isinstance(command, str):
        yield tool_call(called, "Bash", {"command": command})
    else:
        yield tool_call(called, name, given)


def output(value: object) -> tuple[str, bool]:
    """Text of a call's output, and whether it tells of an error."""
    success: object = True
    if isinstance(value, dict):
        success, value = value.get("success", True), value.get("content", value.get("output"))
    if isinstance(value, list):
        value = "\n".join(texts_of({"content": value}))
    text = value if isinstance(value, str) else ""
    code: object = found[1] if (found := _EXIT.match(text)) else "0"
    if text.startswith('{"output"'):
        try:
            inner = json.loads(text)
            text, code = str(inner["output"]), inner["metadata"]["exit_code"]
        except (ValueError, TypeError, KeyError, RecursionError):
            pass
    return text, success is False or str(code) != "0"


def questions(given: Mapping[str, Any]) -> dict[str, str]:
    """The questions of a call that asks the person, by their ids."""
    asked = given.get("questions")
    found = [one for one in asked if isinstance(one, dict)] if isinstance(asked, list) else []
    return {string(one.get("id")): string(one.get("question")) for one in found}


def answers(text: str) -> Iterator[tuple[str, str]]:
    """Yields (id of the question, answer) of what a person answered."""
    try:
        given = json.loads(text).get("answers")
    except (ValueError, AttributeError, RecursionError):
        return
    for question, one in given.items() if isinstance(given, dict) else ():
        chosen = one.get("answers") if isinstance(one, dict) else one
        words = [chosen] if isinstance(chosen, str) else chosen if isinstance(chosen, list) else []
        parts = [word.removeprefix(_NOTE) for word in words if isinstance(word, str)]
        if answer := ", ".join(filter(None, (part.strip() for part in speech.clean_blocks(parts)))):
            yield str(question), answer


NAME = "codex"
_HEAD = 5
_TYPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")


@dataclass
class _Head:
    """What the recording says of itself."""

    id: str
    cwd: str = ""
    branch: str = ""
    commit: str = ""
    subagent: bool = False
    seen: bool = False


class _Reading:
    """One reading.

    A fork copies its parent's records without ids of their own, so a message is known by all that was said
    before it. A subagent's session says nothing: no person speaks in it.

    `_turns` holds, for each turn that was not rolled back, its number and what the next message's id was
    derived from before it. `_told` is who tells that a person spoke: `events`, `items` in recordings
    without events, and empty until either has been seen; until then prompts are held.
    """

    def __init__(self, name: str, start: int) -> None:
        self.end = start
        self._start = start
        self._head = _Head(name)
        self._skipped = 0
        self._said = Utterances()
        self._chain = 0
        self._turn = 0
        self._turns: list[tuple[int, int]] = []
        self._gone: set[int] = set()
        self._told: Literal["", "events", "items"] = ""
        self._held: list[tuple[int, str, object]] = []
        self._names: dict[str, tuple[str, dict[str, str]]] = {}
        self._reply: Reply | None = None
        self._calls: dict[str, tuple[Reply, list[int]]] = {}

    @property
    def settled(self) -> bool:
        """Whether it is known of every prompt if a person said it."""
        return not self._held

    def skim(self, _: bytes, /) -> dict[str, Any] | None:
        """Parses every line."""
        return None

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        payload = record.get("payload") if record is not None else None
        if record is None:
            self._skipped += offset >= self._start
        if record is None or not isinstance(payload, dict):
            return
        kind, stamp = record.get("type"), record.get("timestamp")
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "event_msg":
            self._told, self._held = "events", []
            self._event(offset, stamp, payload)
        elif kind == "response_item":
            self._item(offset, stamp, payload)

    def session(self, path: Path) -> Session:
        messages = () if self._head.subagent else tuple(self._said.messages(self._gone))
        # A prompt at the end, of which it is not known yet whether a person said it, is for the next time.
        end = max(self._held[0][0], self._start) if self._held else self.end
        return Session(self._head.id, NAME, path, self._head.cwd, messages, end, self._skipped)

    def _meta(self, payload: dict[str, Any]) -> None:
        head = self._head
        name = string(payload.get("id"))
        if head.seen and name != head.id:
            # A fork copies the records of its parent, and this one with them.
            return
        git = payload.get("git")
        git = git if isinstance(git, dict) else {}
        head.seen, head.id = True, name or head.id
        head.cwd = head.cwd or string(payload.get("cwd"))
        head.branch, head.commit = string(git.get("branch")), string(git.get("commit_hash"))
        head.subagent = is_subagent(payload)

    def _event(self, offset: int, stamp: object, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "user_message" and payload.get("kind", "plain") == "plain":
            self._prompt(offset, stamp, [string(payload.get("message"))])
        elif kind == "item_completed":
            # As 0.169 records it; where both forms stand, the same is said twice in a row.
            item = payload.get("item")
            if isinstance(item, dict) and item.get("type") == "UserMessage":
                self._prompt(offset, stamp, texts_of(item))
        elif kind == "turn_aborted":
            self._said.interrupt(self._turn)
        elif kind == "thread_rolled_back":
            count = payload.get("num_turns")
            for _ in range(min(count, len(self._turns)) if isinstance(count, int) and count > 0 else 0):
                number, self._chain = self._turns.pop()
                self._gone.add(number)
            self._turn, self._reply = self._turns[-1][0] if self._turns else 0, None

    def _item(self, offset: int, stamp: object, payload: dict[str, Any]) -> None:
        kind, role = payload.get("type"), payload.get("role")
        if kind == "message" and role == "user":
            if self._told == "items":
                self._prompt(offset, stamp, texts_of(payload))
            elif not self._told:
                self._held.append((offset, string(stamp), texts_of(payload)))
            return
        if (kind == "message" and role != "assistant") or kind in ("reasoning", "ghost_snapshot", "other"):
            return
        if not self._told:
            self._told = "items"
            held, self._held = self._held, []
            for where, when, texts in held:
                self._prompt(where, when, texts)
        if kind == "message":
            self._reply = None
            self._speak(offset, stamp, texts_of(payload))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            self._call(offset, stamp, payload)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            self._result(offset, stamp, payload)

    def _prompt(self, offset: int, stamp: object, texts: object) -> None:
        blocks = (
            [{"type": "text", "text": typed(text)} for text in texts] if isinstance(texts, list) else []
        )
        if text := speech.prompt_text(blocks):
            self._turns.append((len(self._turns) + len(self._gone) + 1, self._chain))
            self._turn, self._reply = self._turns[-1][0], None
            self._person(offset, stamp, text, "prompt", "")

    def _person(self, offset: int, stamp: object, text: str, source: Source, context: str) -> None:
        head = self._head
        uuid = self._derive("person", text)
        time = time_of(stamp)
        message = Message(uuid, "person", text, time, source, (), head.branch, context, head.commit)
        same = text if source == "prompt" else uuid
        self._said.person(same, message if offset >= self._start else None, self._turn)

    def _speak(self, offset: int, stamp: object, texts: Sequence[str], called: str = "") -> Reply | None:
        uuid = self._derive("agent", called, *texts)
        if offset < self._start:
            self._said.reply(None, self._turn)
            return None
        if self._reply is None:
            head = self._head
            self._reply = Reply(uuid, stamp, head.branch, head.commit)
            self._said.reply(self._reply.message, self._turn)
        self._reply.texts += texts
        return self._reply

    def _call(self, offset: int, stamp: object, payload: dict[str, Any]) -> None:
        called = string(payload.get("call_id")) or string(payload.get("id"))
        name, given = string(payload.get("name")) or "local_shell", given_to(payload)
        self._names[called] = (name, questions(given) if name == ASKED else {})
        reply = self._speak(offset, stamp, (), called)
        if reply is not None:
            made = list(calls_of(called, name, given))
            self._calls[called] = (reply, list(range(len(reply.tools), len(reply.tools) + len(made))))
            reply.tools += made

    def _result(self, offset: int, stamp: object, payload: dict[str, Any]) -> None:
        called = string(payload.get("call_id"))
        text, is_error = output(payload.get("output"))
        if called in self._calls:
            reply, places = self._calls.pop(called)
            for place in places:
                found = replace(reply.tools[place], result=result_text(text), is_error=is_error)
                reply.tools[place] = found
        name, asked = self._names.pop(called, ("", {}))
        for question, answer in answers(text) if name == ASKED else ():
            self._reply = None
            self._person(offset, stamp, answer, "answer", asked.get(question, ""))

    def _derive(self, role: str, *texts: str) -> str:
        self._chain = key("\0".join((f"{self._chain:x}", role, *texts)))
        return f"c-{self._chain:016x}"


def codex_home(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$CODEX_HOME`, else `~/.codex`."""
    given = environ.get("CODEX_HOME", "")
    return Path(given) if given else home / ".codex"


def sessions_of(folder: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were started in a repository; subagents' do not count.

    Args:
        folder: the client's folder.
        worktrees: real paths of all work trees.

    Returns:
        Oldest change first, then by path.
    """
    found = []
    for file in _recordings(folder / "sessions", 3):
        head = _first(file.path)
        cwd = head.get("cwd")
        if isinstance(cwd, str) and not is_subagent(head) and belongs(cwd, worktrees):
            found.append(replace(file, id=string(head.get("id")) or file.id))
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def _recordings(folder: Path, depth: int) -> Iterator[SessionFile]:
    """Recordings in a folder and in the year, month and day folders below; links are not followed."""
    try:
        with scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = folder / entry.name
        if depth and entry.is_dir(follow_symlinks=False):
            yield from _recordings(path, depth - 1)
        elif entry.name.startswith("rollout-") and entry.name.endswith(".jsonl"):
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield SessionFile(path, path.stem, status.st_mtime_ns, status.st_size, NAME)


def _first(path: Path) -> Mapping[str, Any]:
    """What the recording says of itself; empty where it says nothing."""
    try:
        for line in islice(read_lines(path), _HEAD):
            payload = (line.record or {}).get("payload")
            if (line.record or {}).get("type") == "session_meta" and isinstance(payload, dict):
                return payload
    except GitmemError:
        return {}
    return {}


def _recognises(record: Mapping[str, Any]) -> bool:
    return record.get("type") in _TYPES and isinstance(record.get("payload"), dict)


read_session = partial(read_on, _Reading)
"""Reads a recorded session, or what was added to it."""

CLIENT = ClientReader(NAME, read_session, _recognises, codex_home, sessions_of)
