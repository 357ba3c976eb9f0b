"""What was said in a repository's sessions since the last dream, read when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property

from gitmem.core.errors import RepositoryError
from gitmem.flows.context import Edges
from gitmem.flows.extraction import left_out
from gitmem.flows.sessions import sessions_here
from gitmem.flows.switches import switched_off
from gitmem.ledger.workspace import Workspace
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts import discover
from gitmem.transcripts.cursor import PASSED_OVER, cursor_name
from gitmem.transcripts.model import Message, Session, SessionFile
from gitmem.transcripts.privacy import ignoring

MOST_SESSIONS = 50
"""The newest ones."""

MOST_CHARS = 200_000
"""Of one session, from its end: some 50,000 tokens, which nobody reads but by searching."""

PASTE_CHARS = 2_000
"""Of one message's pastes: what they are about, not all of a log."""

_ODD = re.compile(r"[^A-Za-z0-9._-]+")


class SaidSince(Mapping[str, str]):
    """Id of a session to what person and agent said in it since the last dream, a paragraph a message.

    Left out is what extraction leaves out: private spans, `gitmem.ignore`, pauses, and all of it where
    extraction is switched off. Tool calls and their results are no speech.

    Args:
        since: epoch seconds; 0 for never.
    """

    def __init__(self, workspace: Workspace, edges: Edges, since: float) -> None:
        self._workspace = workspace
        self._edges = edges
        self._since = since
        self._read: dict[str, str] = {}

    def __getitem__(self, id: str) -> str:
        if id not in self._read:
            self._read[id] = self._text(self._files[id])
        return self._read[id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    @cached_property
    def _files(self) -> dict[str, SessionFile]:
        """The recordings that changed since, oldest change first."""
        workspace, edges = self._workspace, self._edges
        if workspace.settings.get("extract") == "off" or switched_off(
            edges.environ, edges.config, workspace.layout.worktree
        ):
            return {}
        files = [
            file
            for file in sessions_here(workspace, edges)
            if file.mtime_ns > self._since * 1e9 and not self._passed_over(file)
        ]
        return {_ODD.sub("-", file.id)[:100]: file for file in files[-MOST_SESSIONS:]}

    def _passed_over(self, file: SessionFile) -> bool:
        """Whether the person did not want it read when they set gitmem up."""
        folder = cursors.folder(self._workspace.state)
        return cursors.load(folder, cursor_name(file.path)).last == PASSED_OVER

    def _text(self, file: SessionFile) -> str:
        try:
            session = discover.read(
                file.path, keep=False, ignore=ignoring(self._workspace.settings.all("ignore"))
            )
        except RepositoryError:
            return ""
        return said(session, left_out(self._workspace, session, self._edges.now, strict=True), self._since)


def said(session: Session, out: frozenset[str], since: float) -> str:
    """A session as text, `<time> <who>: <words>`, a blank line between two messages.

    Args:
        out: uuids of messages that nobody may see.
        since: epoch seconds; what was said before is left out, what was said nobody knows when is not.
    """
    text = "\n\n".join(
        _line(message)
        for message in session.messages
        if (message.text.strip() or message.pasted)
        and message.uuid not in out
        and (message.time is None or message.time.timestamp() >= since)
    )
    return text if len(text) <= MOST_CHARS else f"[cut: what was said before]\n\n{text[-MOST_CHARS:]}"


def _line(message: Message) -> str:
    when = f"{_minute(message.time)} " if message.time else ""
    return f"{when}{message.role}: {message.marked(PASTE_CHARS)}"


def _minute(time: datetime) -> str:
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")
