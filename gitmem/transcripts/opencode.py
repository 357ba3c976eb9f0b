"""Reads OpenCode's sessions: rows of `<data home>/opencode/opencode.db`, as 1.18 writes them.

Nothing is a file of its own there, so a session's path is a place: the database's path and the session's
id. Where a reading ended is the creation of a message, not a byte: rows are in the order of their time and
of the counter in their ids. The client writes a message first and its parts up to seconds later: one
without parts, or of an agent at work, is left for the next reading, unless another follows it, as after a
kill. The database is opened for reading only, each row and each session is bounded, and what a person took
back (`session.revert`) is not read.

A prompt's parts are what was typed, files that it names, and texts that the client adds (`synthetic`).
Tools are given the names that Claude Code has for them. What is pasted is recorded as if it were typed.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.core.errors import RepositoryError
from gitmem.transcripts import codex, speech
from gitmem.transcripts.model import Message, Session, SessionFile, Source, ToolCall
from gitmem.transcripts.reader import ClientReader, belongs, result_text, tool_call

if TYPE_CHECKING:
    import sqlite3

NAME = "opencode"
FILE = "opencode.db"
ROWS = 20_000
"""Messages of one session that are read at once, and sessions that are looked at."""
ROW_BYTES = 4 * 1024 * 1024
"""Bytes of one row; a longer one is passed over."""
SESSION_BYTES = 256 * 1024 * 1024
"""Bytes of rows that are read of one session at once."""
PART_BYTES = 4_096
"""What a part counts for in the size of a session: to weigh it takes reading it."""
_WAIT = 2.0
"""Seconds that the client may hold the database."""
_MILLISECONDS = 1_000
_COUNTS = 4_096
"""Ids in one millisecond: the client counts them in twelve bits."""
_ID = re.compile(r"[a-z]+_[0-9a-f]{9}([0-9a-f]{3})")
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,100}")
_TABLES = ("session", "message", "part")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_FEEDBACK = "with the following feedback: "
_ASKED = "question"
_TOOLS = {
    "bash": "Bash",
    "edit": "Edit",
    "multiedit": "MultiEdit",
    "read": "Read",
    "todowrite": "TodoWrite",
    "write": "Write",
}
_ARGUMENTS = {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}


class _Row(NamedTuple):
    """One message: its id, its place in the order of all, and what is recorded of it."""

    id: str
    place: int
    data: Mapping[str, Any]

    def is_done(self, parts: Sequence[Mapping[str, Any]]) -> bool:
        """Whether nothing is added to it any more."""
        time = self.data.get("time")
        if self.data.get("role") == "assistant":
            return isinstance(time, dict) and "completed" in time
        return bool(parts)


def is_recording(path: Path) -> bool:
    """Whether a path is the place of a session in the client's database."""
    return path.parent.name == FILE and bool(path.name)


def position(path: Path) -> int:
    """Where a reading of all that there is of a session would end; 0 where there is nothing.

    Raises:
        RepositoryError: the database cannot be read.
    """
    asked = "SELECT id, time_created FROM message WHERE session_id = ? ORDER BY time_created DESC, id DESC"
    with _opened(path.parent) as base:
        reverted = _reverted(base, path.name)
        last = 0
        for id, created in base.execute(asked, (path.name,)):
            last = last or _place(id, created)
            if not reverted:
                return last
            if id == reverted:
                reverted, last = "", 0
        return last


def read_session(
    path: Path,
    start: int = 0,
    *,
    most: int = 0,
) -> Session:
    """Reads a session, or what was added to it.

    Args:
        path: the database and the session's id, as `sessions_of` names it.
        start: the `end` of an earlier reading.
        most: bytes of rows to read at once; 0 for as many as there may be.

    Raises:
        RepositoryError: the database cannot be read.
    """
    most = min(most or SESSION_BYTES, SESSION_BYTES)
    messages: list[Message] = []
    end, skipped, size = start, 0, 0
    with _opened(path.parent) as base:
        (cwd,) = next(base.execute("SELECT directory FROM session WHERE id = ?", (path.name,)), ("",))
        rows = _messages(base, path.name, start)
        row = next(rows, None)
        while row is not None and size < most:
            following = next(rows, None)
            parts, missed, read = _parts(base, row.id)
            if following is None and not row.is_done(parts):
                break
            messages += _said(row, parts)
            end, skipped, size = row.place, skipped + missed + (not row.data), size + read
            row = following
    return Session(path.name, NAME, path, speech.clean(str(cwd)), tuple(messages), end, skipped)


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$XDG_DATA_HOME/opencode`, else `~/.local/share/opencode`."""
    given = Path(environ.get("XDG_DATA_HOME", ""))
    return (given if given.is_absolute() else home / ".local/share") / "opencode"


def sessions_of(folder: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were begun in a repository; those of its subagents do not count.

    Args:
        folder: the client's folder.
        worktrees: real paths of all work trees.

    Returns:
        Oldest change first, then by path; none where there is no database, or it cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return ()
    asked = (
        "SELECT id, directory, time_updated FROM session WHERE parent_id IS NULL ORDER BY time_updated DESC"
    )
    parts = "SELECT count(*) FROM part WHERE session_id = ?"
    found = []
    try:
        with _opened(path) as base:
            for id, cwd, changed in base.execute(f"{asked} LIMIT ?", (ROWS,)).fetchall():
                plain = isinstance(id, str) and _PLAIN.fullmatch(id) and isinstance(changed, int)
                if plain and isinstance(cwd, str) and belongs(cwd, worktrees):
                    size = next(base.execute(parts, (id,)))[0] * PART_BYTES
                    found.append(SessionFile(path / id, id, changed * 1_000_000, size, NAME))
    except RepositoryError:
        return ()
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Opens the database for reading only; a link or a device is refused, as is what is no table.

    Raises:
        RepositoryError: it cannot be read.
    """
    # Most have no such database, and loading it costs as much as half of a hook.
    import sqlite3

    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise RepositoryError(f"cannot read {path}: not a regular file", "give a recorded session")
        with closing(
            sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_WAIT)
        ) as base:
            base.execute("PRAGMA query_only = ON")
            base.execute("PRAGMA trusted_schema = OFF")
            base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, SESSION_BYTES)
            asked = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN (?, ?, ?)"
            if next(base.execute(asked, _TABLES))[0] != len(_TABLES):
                raise RepositoryError(f"cannot read {path}: no sessions in it", "give a recorded session")
            yield base
    except (OSError, sqlite3.Error) as error:
        raise RepositoryError(f"cannot read {path}: {error}", "give a recorded session") from error


def _messages(base: sqlite3.Connection, session: str, start: int) -> Iterator[_Row]:
    """Messages after a place, in their order; not what the person took back."""
    reverted = _reverted(base, session)
    asked = (
        "SELECT id, time_created, CASE WHEN length(data) <= ? THEN data END FROM message"
        " WHERE session_id = ? AND time_created >= ? ORDER BY time_created, id LIMIT ?"
    )
    for id, created, data in base.execute(asked, (ROW_BYTES, session, start // _COUNTS, ROWS)):
        if id == reverted:
            return
        if (place := _place(id, created)) > start:
            yield _Row(id, place, _object(data))


def _reverted(base: sqlite3.Connection, session: str) -> str:
    """The message from which on the person took back what was said; empty where they did not."""
    found = next(base.execute("SELECT revert FROM session WHERE id = ?", (session,)), ("",))
    return str(_object(found[0]).get("messageID") or "")


def _place(id: object, created: object) -> int:
    """Where a message stands in the order of all; 0 where that makes no sense."""
    if not isinstance(id, str) or not isinstance(created, int):
        return 0
    counted = _ID.match(id)
    return created * _COUNTS + (int(counted[1], 16) if counted else 0)


def _parts(base: sqlite3.Connection, message: str) -> tuple[list[dict[str, Any]], int, int]:
    """The parts of a message in their order, how many are too long or none, and the bytes of the rest."""
    found, missed, size = [], 0, 0
    asked = "SELECT CASE WHEN length(data) <= ? THEN data END FROM part WHERE message_id = ? ORDER BY id"
    for (data,) in base.execute(f"{asked} LIMIT ?", (ROW_BYTES, message, ROWS)):
        if size < SESSION_BYTES and (part := _object(data)):
            found.append(part)
            size += len(data)
        else:
            missed += 1
    return found, missed, size


def _said(row: _Row, parts: Sequence[Mapping[str, Any]]) -> Iterator[Message]:
    """What was said in a message, and by a person in the calls of an agent's."""
    typed = [part for part in parts if part.get("type") == "text" and not part.get("synthetic")]
    texts = [
        part["text"] for part in typed if not part.get("ignored") and isinstance(part.get("text"), str)
    ]
    created = (
        (row.data.get("time") or {}).get("created") if isinstance(row.data.get("time"), dict) else None
    )
    time = _time(created)
    if row.data.get("role") == "user":
        # `opencode run` puts quotes around a prompt with blanks in it.
        blocks = [
            re.sub(r"\\(.)", r"\1", q[1]) if (q := _QUOTED.fullmatch(text)) else text for text in texts
        ]
        if text := speech.prompt_text([{"type": "text", "text": block} for block in blocks]):
            yield Message(row.id, "person", text, time, "prompt")
        return
    if row.data.get("role") != "assistant" or row.data.get("summary"):
        return
    calls = [part for part in parts if part.get("type") == "tool" and isinstance(part.get("state"), dict)]
    tools = tuple(call for part in calls for call in _calls(part))
    text = "\n".join(filter(None, (block.strip() for block in speech.clean_blocks(texts))))
    if text or tools:
        yield Message(row.id, "agent", text, time, "reply", tools)
    spoken = [said for part in calls for said in _answers(part)]
    for number, (said, source, context) in enumerate(spoken, 1):
        yield Message(f"{row.id}.{number + 1}", "person", said, time, source, context=context)


def _calls(part: Mapping[str, Any]) -> Iterator[ToolCall]:
    """A call with its result, named as Claude Code names it; a patch is one call a file."""
    state, name = part["state"], speech.clean(str(part.get("tool") or ""))
    given = state.get("input") if isinstance(state.get("input"), dict) else {}
    failed = state.get("status") == "error"
    result = state.get("error" if failed else "output")
    text = result_text(result) if isinstance(result, str) else None
    id = speech.clean(str(part.get("callID") or ""))
    if isinstance(patch := given.get("patchText"), str):
        made = codex.calls_of(id, "apply_patch", {"patch": patch})
    else:
        renamed = {_ARGUMENTS.get(key, key): value for key, value in given.items()}
        made = iter([tool_call(id, _TOOLS.get(name, name), renamed)])
    for call in made:
        yield replace(call, result=text, is_error=failed)


def _answers(part: Mapping[str, Any]) -> Iterator[tuple[str, Source, str]]:
    """What a person said in a call: answers, and why they refused it."""
    state = part["state"]
    error = state.get("error")
    if state.get("status") == "error" and isinstance(error, str) and error.startswith("The user rejected"):
        reason = speech.clean(error.partition(_FEEDBACK)[2]).strip()
        if reason:
            name = str(part.get("tool"))
            yield reason, "refusal", speech.clean(_TOOLS.get(name, name))
    if part.get("tool") != _ASKED or not isinstance(state.get("metadata"), dict):
        return
    given = state.get("input")
    questions = given.get("questions") if isinstance(given, dict) else None
    answers = state["metadata"].get("answers")
    for number, chosen in enumerate(answers if isinstance(answers, list) else ()):
        words = [word for word in chosen if isinstance(word, str)] if isinstance(chosen, list) else []
        asked = questions[number] if isinstance(questions, list) and number < len(questions) else None
        context = asked.get("question") if isinstance(asked, dict) else None
        if said := speech.clean(", ".join(words)).strip():
            yield said, "answer", speech.clean(context) if isinstance(context, str) else ""


def _object(data: object) -> dict[str, Any]:
    try:
        value = json.loads(data) if isinstance(data, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _time(created: object) -> datetime | None:
    try:
        return datetime.fromtimestamp(created / _MILLISECONDS, UTC) if isinstance(created, int) else None
    except (ValueError, OverflowError, OSError):
        return None


CLIENT = ClientReader(NAME, read_session, lambda _: False, data_folder, sessions_of)
