"""Reads Gemini CLI's recorded sessions: `<home>/tmp/<project>/chats/session-*.jsonl`, as 0.61 writes them.

A file is a log of the client's list of messages: a header, messages (one that is written again with more
in it replaces the earlier one), `{"$rewindTo": id}`, which takes back that message and what follows, and
`{"$set": {"messages": […]}}`, which replaces the list after a compaction, a resumption or an interrupt.
What such a list brings in new was never said: a summary, copies of kept messages under other ids, the
client's context. What it drops was said all the same, unless it was rewound. A reason by which a hook makes
the agent go on looks like a prompt where the client does not show another beside it.

Older clients wrote a session as one JSON document, `session-*.json`, anew each time. It is read whole, and
hands out again what was handed out before; a message keeps its id.

The client records as `user` much that no person said: its context, an editor's state, hooks' text, shell
commands' output, its own words to make the agent go on. A recording names its working directory by a hash
only (SHA-256 of the path), and a project's folder, named after the last part of the path, may have been
another's before. So a session counts where its hash is that of a known directory in the repository: a work
tree, or one that the client lists in `projects.json` or in a `.project_root` file.

Prompts, calls, resumptions and compactions are as the client was seen to record them; rewinds, interrupts,
answers, words to a working agent and the older documents follow its published sources.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from os import scandir
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.core.errors import GitmemError
from gitmem.transcripts import speech
from gitmem.transcripts.model import Message, Session, SessionFile, Source, ToolCall
from gitmem.transcripts.reader import (
    NONE,
    ClientReader,
    Reply,
    Utterances,
    belongs,
    document,
    key,
    opened,
    read_lines,
    read_on,
    result_text,
    time_of,
    tool_call,
)

_TOOLS = {"run_shell_command": "Bash", "write_file": "Write", "replace": "Edit"}
_SERVED = re.compile(r"mcp_([^_]+)_(.+)")
_ASKED = "ask_user"
_PLANNED = "exit_plan_mode"
_REJECTED = re.compile(
    r"Plan rejected\. User feedback: (.*?)\s*(?:\n\nThe plan is stored at: |\Z)", re.DOTALL
)
# As 0.61 words them; a plain "Please continue." tells nothing, whoever said it.
_PUT_IN = re.compile(
    r"\s*(?:<session_context>|<state_snapshot>|<scratchpad>|- \*\*Workspace Directories:\*\*"
    r"|This is the Gemini CLI\. We are setting up the context"
    r"|Here is (?:the user's editor context as a JSON|a summary of changes in the user's editor context)"
    r"|I ran the following shell command:\n```|System: Potential loop detected\."
    r"|(?:User has manually exited Plan Mode|Plan approved)\. Switching to |Please continue\.\s*\Z"
    r"|Background execution update:\n<background_output>)"
)
_HOOK = re.compile(r"<hook_context>.*?(?:</hook_context>|\Z)", re.DOTALL)
_STEERED = re.compile(r"\s*User (?:steering update|hints):\n<user_input>\n(.*)\n</user_input>\n", re.DOTALL)
_REFERENCED = "--- Content from referenced files ---"
_SLASH = re.compile(r"\s*/[\w:.-]+(?:\s+|\Z)")


class Utterance(NamedTuple):
    """What a person said."""

    text: str
    source: Source
    context: str = ""


def string(value: object) -> str:
    """A recorded string without private spans; empty where it is none."""
    return speech.clean(value) if isinstance(value, str) else ""


def texts_of(content: object) -> list[str]:
    """The texts of a content, as recorded: a string, a part or a list of both, without thoughts."""
    parts = content if isinstance(content, list) else [content]
    parts = [{"text": part} if isinstance(part, str) else part for part in parts]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and not part.get("thought")]
    return [text for text in texts if isinstance(text, str)]


def prose(content: object) -> str:
    """What an agent said."""
    return "\n".join(text for text in texts_of(content) if text.strip())


def typed(record: Mapping[str, Any]) -> Utterance | None:
    """What a person typed of a `user` record; None where it is the client's, or a tool's result."""
    content = record.get("content")
    texts = texts_of(content)
    for text in texts:
        if steered := _STEERED.match(text):
            return _said([steered[1]], "queued")
    parts = content if isinstance(content, list) else []
    if any(isinstance(part, dict) and "functionResponse" in part for part in parts):
        return None
    if any(_PUT_IN.match(text) for text in texts[:1]):
        return None
    shown = texts_of(record.get("displayContent")) or _without_files(texts)
    if shown:
        shown = [_SLASH.sub("", shown[0], count=1), *shown[1:]]
    return _said([_HOOK.sub("", text) for text in shown], "prompt")


def call_of(record: Mapping[str, Any]) -> ToolCall:
    """A call with its result, named as Claude Code names it."""
    name = string(record.get("name"))
    if served := _SERVED.fullmatch(name):
        name = f"mcp__{served[1]}__{served[2]}"
    call = tool_call(string(record.get("id")), _TOOLS.get(name, name), record.get("args"))
    text = _result(record)
    return ToolCall(
        call.id,
        call.name,
        call.input,
        None if text is None else result_text(text),
        record.get("status") in ("error", "cancelled"),
    )


def spoken_in(record: Mapping[str, Any]) -> Iterator[Utterance]:
    """Yields what a person said in a call: answers, and what is wrong with a plan."""
    text = _HOOK.sub("", _result(record) or "").strip()
    if record.get("name") == _PLANNED and (found := _REJECTED.match(text)):
        if said := _said([found[1]], "refusal", _PLANNED):
            yield said
    elif record.get("name") == _ASKED:
        given = record.get("args")
        asked = given.get("questions") if isinstance(given, dict) else None
        questions = asked if isinstance(asked, list) else []
        try:
            answers = json.loads(text).get("answers")
        except (ValueError, AttributeError, RecursionError):
            return
        for number, answer in answers.items() if isinstance(answers, dict) else ():
            place = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else -1
            question = questions[place] if 0 <= place < len(questions) else None
            context = string(question.get("question")) if isinstance(question, dict) else ""
            if isinstance(answer, str) and (said := _said([answer], "answer", context)):
                yield said


def _said(texts: list[str], source: Source, context: str = "") -> Utterance | None:
    text = speech.prompt_text([{"type": "text", "text": text} for text in texts])
    return Utterance(text, source, context) if text else None


def _without_files(texts: list[str]) -> list[str]:
    """What stands before the files that a prompt refers to."""
    kept = []
    for text in texts:
        before, found, _ = text.partition(_REFERENCED)
        kept.append(before)
        if found:
            break
    return kept


def _result(record: Mapping[str, Any]) -> str | None:
    """Text of a call's result; None where there is none."""
    parts = record.get("result")
    if isinstance(parts, str):
        return parts
    texts = []
    for part in parts if isinstance(parts, list) else ():
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        response = answer.get("response") if isinstance(answer, dict) else None
        if isinstance(response, dict):
            text = response.get("output", response.get("error"))
            texts += [text] if isinstance(text, str) else []
    return "\n".join(texts) if texts else None


NAME = "gemini"
_HEAD = 50
"""Records in which a message is looked for: a resumption leaves files that hold none."""
_ROOT_SIZE = 16 * 1024


def gemini_home(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$GEMINI_CLI_HOME/.gemini`, else `~/.gemini`."""
    given = environ.get("GEMINI_CLI_HOME", "")
    return (Path(given) if given else home) / ".gemini"


def sessions_of(folder: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were started in a repository; subagents' do not count.

    Args:
        folder: the client's folder.
        worktrees: real paths of all work trees.

    Returns:
        Oldest change first, then by path.
    """
    known = [*map(str, worktrees), *_registered(folder)]
    found = []
    for project in _entries(folder / "tmp", stat.S_ISDIR):
        roots = _by_hash([*known, *_root_of(project)])
        recordings = {path.name: path for path in _entries(project / "chats", stat.S_ISREG)}
        for name, path in recordings.items():
            # A document that is resumed goes on as a log beside it.
            if not name.startswith("session-") or f"{name}l" in recordings:
                continue
            head = _first(path)
            if head.get("kind") == "subagent" or not belongs(
                roots.get(string(head.get("projectHash")), ""), worktrees
            ):
                continue
            with suppress(OSError):
                status = path.lstat()
                found.append(
                    SessionFile(path, string(head["sessionId"]), status.st_mtime_ns, status.st_size, NAME)
                )
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def working_directory(path: Path, project: str) -> str:
    """Tells where a session began, by the hash in its header; empty where that is of no known directory.

    Args:
        path: the recording, in its place.
        project: `projectHash`.
    """
    folder = path.parent.parent
    return _by_hash([*_root_of(folder), *_registered(folder.parent.parent)]).get(project, "")


def is_message(record: object) -> bool:
    """Whether a record is a message."""
    named = isinstance(record, dict) and "$rewindTo" not in record and record.get("id")
    return bool(named) and isinstance(named, str)


def is_header(record: Mapping[str, Any]) -> bool:
    """Whether a record, or a document, says whose recording this is."""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _entries(folder: Path, wanted: Callable[[int], bool]) -> Iterator[Path]:
    """What is of a kind in a folder that is no link, sorted; links are not followed."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return
        with scandir(folder) as found:
            names = [one.name for one in found if wanted(one.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return
    yield from (folder / name for name in sorted(names))


def _first(path: Path) -> Mapping[str, Any]:
    """A recording's header; empty where there is none, or nothing was said after it."""
    try:
        if path.suffix == ".json":
            whole = document(path)
            return whole if whole and is_header(whole) else {}
        if path.suffix != ".jsonl":
            return {}
        head: Mapping[str, Any] = {}
        for line in islice(read_lines(path), _HEAD):
            record = line.record or {}
            if is_header(record):
                head = record
            elif is_message(record):
                return head
    except GitmemError:
        return {}
    return {}


def _root_of(project: Path) -> list[str]:
    """The directory that a project's folder stands for."""
    try:
        with opened(project / ".project_root") as file:
            return [file.read(_ROOT_SIZE).decode("utf-8", "replace").strip()]
    except GitmemError:
        return []


def _registered(folder: Path) -> list[str]:
    """The directories in which the client was started."""
    try:
        projects = (document(folder / "projects.json") or {}).get("projects")
    except GitmemError:
        return []
    return [*projects] if isinstance(projects, dict) else []


def _by_hash(paths: Sequence[str]) -> dict[str, str]:
    return {hashlib.sha256(path.encode("utf-8", "replace")).hexdigest(): path for path in paths}


def read_session(path: Path, start: int = 0, *, most: int = 0) -> Session:
    """Reads a recorded session, or what was added to it; see `read_on`. A subagent's says nothing.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    if path.suffix == ".json":
        return _read_document(path, start)
    return read_on(_Reading, path, start, most=most)


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
        self._said = Utterances()
        self._known: dict[int, _Entry] = {}
        self._order: list[int] = []
        self._stretches = 0
        self._gone: set[int] = set()
        self._prompt = (0, 0)
        self._last = _Last()

    @property
    def settled(self) -> bool:
        return True

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


CLIENT = ClientReader(NAME, read_session, is_header, gemini_home, sessions_of)
