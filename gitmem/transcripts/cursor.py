"""How far each session was read, and which messages were already handled, in small files of one folder.

What is here can be deleted at no loss of memory. Forking a session copies its messages with their uuids
into a new file, so what was handled is kept across sessions. One writer at a time is the caller's duty.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

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


def answered(name: str) -> str:
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
