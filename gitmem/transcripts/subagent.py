"""Reads a subagent's recording, `<session>/subagents/agent-<id>.jsonl` beside Claude Code's own.

All its records are a sidechain's, and what looks like a person's prompt is the main agent's. A person
speaks in it only where they refuse a tool call or answer a question.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from gitmem.transcripts.bookmark import Bookmark
from gitmem.transcripts.claude_code import RULES, _Reading
from gitmem.transcripts.model import Session
from gitmem.transcripts.reading import read_on

SPOKEN = frozenset({"refusal", "answer", "reply"})


def read_subagent(
    path: Path, start: int = 0, *, bookmarks: Path | None = None, keep: bool = True
) -> Session:
    """Reads a subagent's recording, or what was added to it; see `reading.read_on`.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """

    def resume(mark: Bookmark) -> _Sidechain | None:
        inner = _Reading.resume(path.stem, mark)
        return _Sidechain(inner) if inner is not None else None

    return read_on(
        path,
        start,
        lambda start: _Sidechain(_Reading(path.stem, start)),
        resume,
        f"{RULES} subagent",
        bookmarks=bookmarks,
        keep=keep,
    )


class _Sidechain:
    """The client's reading of records that are a conversation of their own here."""

    def __init__(self, inner: _Reading) -> None:
        self._inner = inner

    @property
    def end(self) -> int:
        return self._inner.end

    @end.setter
    def end(self, value: int) -> None:
        self._inner.end = value

    @property
    def settled(self) -> bool:
        return self._inner.settled

    def skim(self, raw: bytes, /) -> dict[str, Any] | None:
        return self._inner.skim(raw)

    def add(self, offset: int, record: dict[str, Any] | None) -> None:
        self._inner.add(offset, {**record, "isSidechain": False} if record is not None else None)

    def session(self, path: Path) -> Session:
        read = self._inner.session(path)
        return replace(read, messages=tuple(one for one in read.messages if one.source in SPOKEN))

    def mark(self, edges: str) -> Bookmark:
        return replace(self._inner.mark(edges), reader=f"{RULES} subagent")
