"""Whose edit a changed memory file is: that of the session, or subagent, whose tool calls made it.

Two sessions may write at once, and subagents go on in the background after a turn has ended: each file is
looked up by itself, in all recordings that were written to since it changed.
"""

from __future__ import annotations

import mmap
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gitmem.core.errors import GitmemError
from gitmem.core.merge import kind
from gitmem.core.names import hot_path
from gitmem.core.text import decode
from gitmem.core.trailers import Provenance
from gitmem.ledger.save_plan import Part
from gitmem.transcripts.model import EDITORS, strings_in

if TYPE_CHECKING:
    from gitmem.flows.context import Edges
    from gitmem.ledger.workspace import LiveDirectory, Workspace
    from gitmem.transcripts.model import Session, ToolCall

ALWAYS = 4
"""Recordings, those written to last, that are looked at whatever their time: clocks are set back."""
MOST = 24
"""Recordings that are looked at for one save."""
SLACK = 2.0
"""Seconds by which a file may seem newer than the recording of the call that wrote it."""

CALLS = frozenset({*EDITORS, "Bash", "memory"})
_PIECE = 4
"""Characters of a line by which a call is known to have written it, where it wrote as many."""


class _Call(NamedTuple):
    """One tool call that may have written memory, and where it stands."""

    time: float
    message: str
    session: str
    cwd: str
    call: ToolCall


class Writers:
    """Who wrote what, for one save of any number of directories.

    Args:
        also: recordings that are looked at besides those of the repository's own sessions.
    """

    def __init__(self, workspace: Workspace, edges: Edges, also: Iterable[Path] = ()) -> None:
        self._workspace = workspace
        self._edges = edges
        self._also = tuple(also)
        self._read: dict[Path, tuple[_Call, ...]] = {}

    def parts(
        self, live: LiveDirectory, edits: Mapping[str, bytes | None], before: Mapping[str, bytes]
    ) -> tuple[Part, ...]:
        """Cuts the edits of one directory into what each writer made, the first to write first.

        Args:
            edits: path in the tree to new content.
            before: path to the content that it replaces, where there was any.

        Returns:
            What nobody's calls made is the person's, and last.
        """
        # A file that moves between the folder and the archive is two paths and one file.
        files: dict[str, dict[str, bytes | None]] = {}
        wanted = {kind(path) for path in edits} & {"memory", "log"} or {"index"}
        for path, data in edits.items():
            if kind(path) in wanted:
                files.setdefault(hot_path(path) or path, {})[path] = data
        places = {hot: live.path / hot.removeprefix(f"{live.agent}/") for hot in files}
        calls = self._calls(set(places.values()))
        made: dict[str, list[tuple[_Call, str]]] = {}
        for hot, place in places.items():
            old = b"\n".join(before.get(path, b"") for path in files[hot])
            new = next((data for data in files[hot].values() if data is not None), None)
            if (by := _writer(calls, place, old, new)) is not None:
                made.setdefault(by.session, []).append((by, hot))
        parts = []
        for session, found in sorted(made.items(), key=lambda one: max(call.time for call, _ in one[1])):
            told = sorted((call.time, call.message) for call, _ in found)
            messages = told[0][1], told[-1][1]
            told_by = Provenance("", "agent", session, messages, code_commit=self._code)
            parts.append(Part(frozenset(path for _, hot in found for path in files[hot]), told_by))
        left = frozenset(edits).difference(*(part.paths for part in parts))
        if not parts or any(path in left for group in files.values() for path in group):
            return (*parts, Part(left, Provenance(writer="human", code_commit=self._code)))
        return (*parts[:-1], Part(parts[-1].paths | left, parts[-1].provenance))

    @cached_property
    def _code(self) -> str:
        return self._workspace.code_head()

    @cached_property
    def _recordings(self) -> tuple[tuple[Path, float], ...]:
        """Recordings of sessions and of their subagents, and when each was written to; newest first."""
        from gitmem.flows.sessions import sessions_here
        from gitmem.transcripts.claude_code import SUBAGENTS

        sessions = sessions_here(self._workspace, self._edges)
        found = {file.path: file.mtime_ns / 1e9 for file in sessions}
        for file in sessions:
            if file.client == "claude-code":
                beside = file.path.with_suffix("") / SUBAGENTS
                found |= dict.fromkeys(beside.rglob("agent-*.jsonl"), 0.0)
        for path in [*self._also, *(path for path, time in found.items() if not time)]:
            with suppress(OSError):
                found[path] = path.lstat().st_mtime
        return tuple(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def _calls(self, places: Collection[Path]) -> list[_Call]:
        """Calls that may have written these files, the newest first."""
        changed = min((_changed(place) for place in places), default=0.0) - SLACK
        calls: list[_Call] = []
        for number, (path, time) in enumerate(self._recordings[:MOST]):
            if number >= ALWAYS and time < changed:
                break
            if path not in self._read and _names(path, places):
                self._read[path] = ()
                with suppress(GitmemError):
                    self._read[path] = tuple(_writing(_session(path), time))
            calls += self._read.get(path, ())
        return sorted(calls, key=lambda one: -one.time)


def _changed(place: Path) -> float:
    """When a file was changed last; where it is gone, its folder."""
    for path in (place, place.parent):
        with suppress(OSError):
            return path.lstat().st_mtime
    return 0.0


def _names(path: Path, places: Collection[Path]) -> bool:
    """Whether a recording holds the name of one of some files at all: most do not, and are not parsed."""
    names = [place.name.encode() for place in places]
    if path.suffix != ".jsonl" or not all(name.isascii() for name in names):
        return True
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return any(text.find(name) >= 0 for name in names)
    except (OSError, ValueError):
        return False


def _session(path: Path) -> Session:
    from gitmem.transcripts import discover
    from gitmem.transcripts.claude_code import is_subagents, read_subagent

    return read_subagent(path) if is_subagents(path) else discover.read(path)


def _writing(session: Session, time: float) -> Iterator[_Call]:
    """Calls of tools that can write a file; the time of one that has none is its recording's."""
    for message in session.messages:
        when = message.time.timestamp() if message.time else time
        for call in message.tools:
            if call.name in CALLS:
                yield _Call(when, message.uuid, session.id, session.cwd, call)


def _writer(calls: Iterable[_Call], place: Path, old: bytes, new: bytes | None) -> _Call | None:
    """The newest call that wrote this change to a file; None where nobody's did."""
    from gitmem.transcripts.writes import wrote  # most saves find nothing that was edited

    was, lines = _lines(old), _lines(new or b"")
    added = [line for line in lines if line not in was]
    gone = [line for line in was if line not in lines]
    made = (call for call in calls if wrote(call.call, place, call.cwd))
    return next((call for call in made if _is_in(call.call, added, gone, lines)), None)


def _lines(data: bytes) -> dict[str, None]:
    return dict.fromkeys(line for text in decode(data).splitlines() if (line := text.strip()))


def _is_in(call: ToolCall, added: Collection[str], gone: Collection[str], left: Collection[str]) -> bool:
    """Whether an editor's call wrote lines that came, or took out those that went; any shell's may have."""
    if call.name not in EDITORS or not (added or gone):
        return True
    from gitmem.transcripts.writes import given_by

    given = "\n".join(given_by(call))
    if not added:
        named = "\n".join(strings_in(call.input))
        rewrote = bool(left) and all(line in given for line in left)
        return not any(line in given for line in gone) and (rewrote or any(line in named for line in gone))
    # A patch has a sign before each line, and an edit may be a part of one.
    pieces = [piece for line in given.splitlines() if (piece := line.strip().lstrip("+ "))]
    pieces = [piece for piece in pieces if len(piece) >= _PIECE] or pieces
    return any(line in given or any(piece in line for piece in pieces) for line in added)
