"""Reads on in a recorded session from where an earlier reading stopped, whichever client recorded it.

Most clients append JSON lines to a file. What a record means takes all before it to tell (it may be taken
back, repeated, or the answer to a question), so a file is always parsed from its beginning, some 10 ms of a
worker's time a megabyte, and nothing has to be kept. A dialect tells who spoke; what is the same for all of
them is here.

How far each session was read, and which messages were handled, is in small files of one folder, which can
be deleted at no loss of memory. Forking a session copies its messages with their uuids into a new file, so
what was handled is kept across sessions. One writer at a time is the caller's duty.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import re
import stat
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from string import ascii_letters, digits
from typing import Any, BinaryIO, NamedTuple, Protocol

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.transcripts import speech
from gitmem.transcripts.model import EDITORS, Message, Session, SessionFile, ToolCall
from gitmem.transcripts.speech import clean

_FORMAT = 1
_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_KEY = re.compile(r"[0-9a-f]{16}")
_HANDLED = "handled"
HANDLED_LIMIT = 50_000
"""Messages remembered as handled, 17 bytes each on disk: a year of heavy use; the oldest go first."""


PASSED_OVER = "passed-over"


@dataclass(frozen=True)
class Cursor:
    """How far one session was read.

    Attributes:
        session: the client's session id.
        offset: byte to go on from.
        last: uuid of the last message that was handled; empty at the beginning, and `PASSED_OVER` where the
            person does not want the session read.
    """

    session: str
    offset: int = 0
    last: str = ""


@dataclass(frozen=True)
class Handled:
    """Messages that were extracted from, of all sessions, oldest first.

    Attributes:
        keys: the first 16 hex digits of the SHA-256 of each message's uuid.
    """

    keys: tuple[str, ...] = ()
    _known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", frozenset(self.keys))

    def __contains__(self, uuid: object) -> bool:
        return isinstance(uuid, str) and _key(uuid) in self._known

    def plus(self, uuids: Iterable[str]) -> Handled:
        """Returns this with more messages; beyond `HANDLED_LIMIT` the oldest are forgotten."""
        more = [key for key in map(_key, uuids) if key not in self._known]
        return Handled(tuple(dict.fromkeys((*self.keys, *more)))[-HANDLED_LIMIT:])


_ANSWERED = " asked"


def answered_key(name: str) -> str:
    """Names what stands for a message, or a session, of which only what was plainly asked for was stored.

    Of what else is said there an engine is asked later: the message's own uuid is not among those that were
    handled, and the session's own cursor stays.
    """
    return f"{name}{_ANSWERED}"


def is_answered(name: str) -> bool:
    """Whether it is such a name."""
    return name.endswith(_ANSWERED)


def _quiet(_: str) -> None:
    """Reports to nobody."""


def cursor_name(path: Path) -> str:
    """Names a recording's cursor: clients name files for sessions, others are known by their place."""
    return path.stem if _CLIENT_ID.fullmatch(path.stem) else f"file:{path.resolve()}"


def folder(state: Path) -> Path:
    """Where it is kept how far each session was read, in the working state of a repository."""
    return state / "cursors"


def load(directory: Path, session_id: str, report: Callable[[str], None] = _quiet) -> Cursor:
    """Reads a session's cursor.

    Args:
        directory: where cursors are kept.
        session_id: as recorded; it need not be fit for a file name.
        report: is told of a damaged file, which counts as missing.

    Returns:
        The cursor; the beginning of the session where there is none.
    """
    path = _path(directory, session_id)
    fresh = Cursor(session_id)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return fresh
    except OSError as error:
        report(f"{path} cannot be read ({error.strerror}); the session is read from its beginning")
        return fresh
    cursor = _decode(raw, session_id)
    if cursor is None:
        report(f"{path} is damaged; the session is read from its beginning")
        return fresh
    return cursor


def save(directory: Path, cursor: Cursor) -> None:
    """Writes a session's cursor, whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    text = json.dumps({"format": _FORMAT, **asdict(cursor)}, ensure_ascii=True)
    _replace(_path(directory, cursor.session), f"{text}\n")


def load_handled(directory: Path, report: Callable[[str], None] = _quiet) -> Handled:
    """Reads which messages were handled; damaged lines are left out and reported."""
    path = directory / _HANDLED
    try:
        lines = path.read_bytes().decode("ascii", "replace").splitlines()
    except FileNotFoundError:
        return Handled()
    except OSError as error:
        report(f"{path} cannot be read ({error.strerror}); messages may be looked at again")
        return Handled()
    keys = [line for line in lines if _KEY.fullmatch(line)]
    if len(keys) < len(lines):
        report(
            f"{path} is damaged in {len(lines) - len(keys)} lines; those messages may be looked at again"
        )
    return Handled(tuple(dict.fromkeys(keys))[-HANDLED_LIMIT:])


def save_handled(directory: Path, handled: Handled) -> None:
    """Writes which messages were handled, whole or not at all.

    Raises:
        OSError: the folder cannot be written.
    """
    _replace(directory / _HANDLED, "".join(f"{key}\n" for key in handled.keys))


def _key(uuid: str) -> str:
    return hashlib.sha256(uuid.encode("utf-8", "replace")).hexdigest()[:16]


def _path(directory: Path, session_id: str) -> Path:
    # Lower case, since two ids that differ in case only would meet on some file systems.
    plain = _PLAIN_ID.fullmatch(session_id) and session_id == session_id.lower()
    name = session_id if plain else f"x-{hashlib.sha256(session_id.encode('utf-8', 'replace')).hexdigest()}"
    return directory / f"{name}.json"


def _decode(raw: bytes, session_id: str) -> Cursor | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or value.get("format") != _FORMAT or value.get("session") != session_id:
        return None
    offset, last = value.get("offset"), value.get("last")
    if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0 or not isinstance(last, str):
        return None
    return Cursor(session_id, offset, last)


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=".", suffix=".new", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="ascii", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


NONE = -1
"""No stretch."""
_HEAD = 500
"""Lines in which a session's working directory is looked for; it is in the first prompt."""
LONGEST_LINE = 64 * 1024 * 1024
"""Bytes; a longer line is skipped unread. Images in real records reach a few MB."""
BUFFER = 256 * 1024
"""Bytes: results of tools are lines of many KB, which would take several reads each."""
_DECODER = json.JSONDecoder()


class RecordLine(NamedTuple):
    """One complete line.

    Attributes:
        start: byte offset of its first byte.
        end: byte offset after its newline.
        record: the JSON object, empty for a blank line; None where the line is not one.
    """

    start: int
    end: int
    record: dict[str, Any] | None


def key(uuid: str) -> int:
    """64 bits that stand for a record's id or a text; never 0."""
    return int.from_bytes(hashlib.blake2b(uuid.encode("utf-8", "replace"), digest_size=8).digest()) or 1


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Opens a recorded session.

    Args:
        path: a regular file. A symlink or a device is refused: transcripts are not trusted.

    Raises:
        RepositoryError: the file cannot be read.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or error
        raise RepositoryError(f"cannot read {path}: {reason}", "give a regular file") from error
    with os.fdopen(handle, "rb", BUFFER) as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise RepositoryError(f"cannot read {path}: not a regular file", "give a recorded session")
        yield file


def read_lines(path: Path) -> Iterator[RecordLine]:
    """Streams the lines of a file from its beginning; see `lines_of`.

    Raises:
        RepositoryError: the file cannot be read.
    """
    with opened(path) as file:
        yield from lines_of(file)


def document(path: Path) -> dict[str, Any] | None:
    """Reads a JSON object that is all of a file; None where it is none, or longer than `LONGEST_LINE`.

    Raises:
        RepositoryError: the file cannot be read.
    """
    with opened(path) as file:
        raw = file.read(LONGEST_LINE + 1)
    return _parse(raw) if len(raw) <= LONGEST_LINE else None


def lines_of(
    file: BinaryIO, skim: Callable[[bytes], dict[str, Any] | None] | None = None
) -> Iterator[RecordLine]:
    """Streams the lines of an open file from its beginning.

    A last line without its newline is taken only if it is a whole JSON object, and left for a later
    reading otherwise.

    Args:
        skim: makes what is needed of a line without parsing it; None for a line that has to be parsed.
    """
    file.seek(0)
    place = 0
    while raw := file.readline(LONGEST_LINE):
        start, place = place, place + len(raw)
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            place, whole = _pass_over(file, place)
            if whole:
                yield RecordLine(start, place, None)
            continue
        record = (skim(raw) if skim else None) or _parse(raw)
        if record is None and raw.isspace():
            record = {}
        if record is not None or raw.endswith(b"\n"):
            yield RecordLine(start, place, record)


def _pass_over(file: BinaryIO, place: int) -> tuple[int, bool]:
    """Skips the rest of an overlong line: where it ends, and whether with a newline."""
    while rest := file.readline(LONGEST_LINE):
        place += len(rest)
        if rest.endswith(b"\n"):
            return place, True
    return place, False


def _parse(raw: bytes) -> dict[str, Any] | None:
    try:
        text = raw.decode("utf-8", "surrogatepass")
        # What nearly every line is: an object at its beginning, and a line feed. The usual way looks for
        # blanks around it first.
        value, end = _DECODER.raw_decode(text) if text.startswith("{") else (None, 0)
        if text[end:] not in ("\n", ""):
            value = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class FileReading(Protocol):
    """A client's reader at work on one file.

    Attributes:
        end: byte offset after the last line that was added.
        settled: what was added can be handed out; it is never false for long.
    """

    end: int

    @property
    def settled(self) -> bool: ...

    def skim(self, raw: bytes, /) -> dict[str, Any] | None:
        """Makes what is needed of a line without parsing it; None for a line that has to be parsed."""

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        """Takes the record that begins at a byte offset; None for a line that holds none."""

    def session(self, path: Path) -> Session:
        """What was said after the reading's start."""


def read_on(
    begin: Callable[[str, int], FileReading], path: Path, start: int = 0, *, most: int = 0
) -> Session:
    """Reads a session, or what was added to it.

    Reading on from `end` gives what a single reading would have given, except that what was handed out
    before cannot be taken back: neither a prompt that is rewound since, nor the first half of a reply.
    What was recorded before `start` is not returned.

    Args:
        begin: makes a reading of the recording of a name, which hands out from an offset on.
        path: the transcript.
        start: byte offset to go on from, the `end` of an earlier reading; 0 is taken instead where the file
            is shorter.
        most: bytes to read at once; the rest is for the next reading. 0 for all.

    Returns:
        The session. `end` stops before a last line that is still being written.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    with opened(path) as file, _without_collector():
        if start > file.seek(0, 2):
            start = 0
        reading = begin(path.stem, start)
        for line in lines_of(file, reading.skim):
            reading.add(line.start, line.record)
            reading.end = max(line.end, start)
            if most and reading.end - start >= most and reading.settled:
                break
        return reading.session(path)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Parsed records hold no cycles, and looking for some takes a fifth of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def time_of(stamp: object) -> datetime | None:
    """A recorded time; None where it makes no sense or names no zone."""
    try:
        time = datetime.fromisoformat(stamp) if isinstance(stamp, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


RESULT_LENGTH = 2_000
"""Characters kept of a tool result, and of each string given to a tool that writes no file."""
INPUT_LENGTH = 102_400
"""Characters kept of each string given to a tool that can write one: a memory is never longer."""

_WRITERS = frozenset({*EDITORS, "Bash", "memory", "shell", "apply_patch"})
_DEPTH = 20
# A span that is cut goes to its end, so nothing private is left of a text that is cut first.
_LOOKED_AT = 16
_IN_SECRETS = f"{ascii_letters}{digits}_.~+/=-"


def tool_call(id: str, name: str, given: object) -> ToolCall:
    """Makes a call, its input without private spans and cut."""
    length = INPUT_LENGTH if name in _WRITERS else RESULT_LENGTH
    return ToolCall(id, name, _cut(given, length, _DEPTH) if isinstance(given, dict) else {})


def result_text(text: str) -> str:
    """A tool's result without private spans, cut."""
    return _cut(text, RESULT_LENGTH, 1)  # type: ignore[no-any-return]


def _cut(value: Any, length: int, depth: int) -> Any:
    if isinstance(value, str):
        looked_at = value[: length * _LOOKED_AT]
        cut = clean(looked_at if "<" in looked_at else looked_at[:length])[:length]
        # The last word of what goes on may be half a secret, which nobody would know for one.
        return cut.rstrip(_IN_SECRETS) if len(value) > length == len(cut) else cut
    if isinstance(value, dict):
        return {clean(str(k)): _cut(v, length, depth - 1) for k, v in value.items()} if depth else {}
    if isinstance(value, list):
        return [_cut(v, length, depth - 1) for v in value] if depth else []
    return value


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


class Utterances:
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


@dataclass
class Reply:
    """What an agent said and did in one go.

    Attributes:
        stamp: the time as recorded.
    """

    uuid: str
    stamp: object
    branch: str
    commit: str = ""
    texts: list[str] = field(default_factory=list)
    tools: list[ToolCall] = field(default_factory=list)

    def message(self) -> Message | None:
        """The message; None where nothing was said or done."""
        text = "\n".join(filter(None, (block.strip() for block in speech.clean_blocks(self.texts))))
        if not (text or self.tools):
            return None
        time, tools = time_of(self.stamp), tuple(self.tools)
        return Message(self.uuid, "agent", text, time, "reply", tools, self.branch, commit=self.commit)


class Read(Protocol):
    """Reads a session, see `read_on`."""

    def __call__(self, path: Path, start: int = 0, *, most: int = 0) -> Session:
        """Reads from a byte offset on."""


@dataclass(frozen=True)
class ClientReader:
    """One client and its reader.

    Attributes:
        name: e.g. `codex`.
        read: reads one recording.
        recognises: whether a record, one of a file's first, is of this client.
        folder: names the client's own folder, from the environment and the home directory.
        sessions: finds under that folder the sessions begun in one of a repository's work trees (real
            paths), oldest change first.
    """

    name: str
    read: Read
    recognises: Callable[[Mapping[str, Any]], bool]
    folder: Callable[[Mapping[str, str], Path], Path]
    sessions: Callable[[Path, Sequence[Path]], tuple[SessionFile, ...]]


def first_cwd(path: Path) -> str:
    """Reads the working directory in which a session began; empty where none is recorded."""
    try:
        for line in islice(read_lines(path), _HEAD):
            cwd = (line.record or {}).get("cwd")
            if isinstance(cwd, str) and cwd:
                return cwd
    except GitmemError:
        return ""
    return ""


def belongs(cwd: str, worktrees: Sequence[Path]) -> bool:
    """Whether a recorded working directory lies in one of the worktrees, and in no repository nested there.

    Args:
        cwd: as recorded; it may no longer exist.
        worktrees: real paths.
    """
    if not cwd.startswith("/") or "\0" in cwd:
        return False
    # Compared as text: the client records real paths, and a recorded path is not to be trusted with a
    # look at the disk before it is known to lie in a worktree.
    place = Path(os.path.normpath(cwd))
    roots = [root for root in worktrees if place.is_relative_to(root)]
    if not roots:
        return False
    nearest = max(roots, key=lambda root: len(root.parts))
    below = [
        folder for folder in (place, *place.parents) if folder != nearest and nearest in folder.parents
    ]
    return not any(os.path.lexists(folder / ".git") for folder in below)
