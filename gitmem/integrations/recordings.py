"""Recordings to extract from: which hold something new, where that begins, and what was handled before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import parse as parse_trailers
from gitmem.integrations.edges import Edges
from gitmem.integrations.place import log
from gitmem.store.parked import parked
from gitmem.store.workspace import MAIN, ScopeName, Workspace
from gitmem.transcripts import clients
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts.discover import SessionFile
from gitmem.transcripts.model import Session
from gitmem.transcripts.private import ignoring
from gitmem.transcripts.subagent import read_subagent

MOST = 32 * 1024 * 1024
"""Bytes of a session that are read at once."""

MOST_FOR_MODEL = 1024 * 1024
"""The same where a model reads them: where the day's ceiling or a failure ends the work in the middle of a
long session, what was paid for until then is stored, and the next day goes on from there."""

_CLIENT_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True)
class Source:
    """One recording to extract from.

    Attributes:
        agent: whose session it is: folder name of the agent.
        scope: where a subagent's memory belongs; None for `main`.
        pressing: looked at now, however little was said in it.
        attended: the session goes on, and with its next prompt its agent can be told something.
    """

    path: Path
    agent: str = MAIN
    scope: ScopeName | None = None
    pressing: bool = False
    attended: bool = False


@dataclass(frozen=True)
class News:
    """A recording with something new, and where that begins."""

    start: int
    source: Source


def sessions_here(workspace: Workspace, edges: Edges) -> tuple[SessionFile, ...]:
    """Recordings of this repository by every client, of all its work trees, oldest change first."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    places = {**clients.folders(edges.environ, edges.home), "claude-code": edges.config}
    return clients.sessions_of(places, tops)


def news(workspace: Workspace, paths: Iterable[Path | Source]) -> list[News]:
    """Transcripts with something after their cursor, and where that begins."""
    found = []
    for given in paths:
        source = given if isinstance(given, Source) else Source(given, pressing=True)
        path = source.path
        start = _cursor(workspace, path)
        try:
            size = path.stat().st_size
        except OSError as error:
            reporter(workspace)(f"{path}: {error.strerror}")
            continue
        if size != start:
            found.append(News(start if start < size else 0, source))
    return found


def read(
    workspace: Workspace,
    found: Iterable[News],
    *,
    most: int = MOST,
    keep: bool = True,
    follow: bool = False,
) -> Iterator[tuple[News, Session]]:
    """Opens them one by one, and a long one part by part: a year's sessions would not fit in memory.

    The next part of a session is read once the cursor has reached it.

    Args:
        most: bytes of a part.
        keep: leave word for the next reading where this one ended.
        follow: read on without a cursor, as where nothing is written.
    """
    ignore = ignoring(workspace.settings.all("ignore"))
    folder = workspace.state / "bookmarks"
    for one in found:
        path, start = one.source.path, one.start
        while True:
            try:
                if one.source.agent == MAIN:
                    session = clients.read(
                        path, start, bookmarks=folder, keep=keep, most=most, ignore=ignore
                    )
                else:
                    whole = read_subagent(path, start, bookmarks=folder, keep=keep)
                    said = tuple(message for message in whole.messages if not ignore.hides(message))
                    session = replace(whole, messages=said)
            except RepositoryError as error:
                reporter(workspace)(f"{path}: {error}")
                break
            yield News(start, one.source), session
            if session.end - start < most or not (follow or _cursor(workspace, path) == session.end):
                break
            start = session.end


def whole(workspace: Workspace, path: Path) -> Session:
    """All of a session of `main`, without what is to be ignored: to be shown."""
    return clients.read(path, keep=False, ignore=ignoring(workspace.settings.all("ignore")))


def label(session: Session) -> str:
    """What a session is called for a person."""
    # A subagent's recording has the id of the session that it belongs to.
    part = "a subagent of " if session.path.parent.name == "subagents" else ""
    return f"{part}session {session.id}"


def handled(workspace: Workspace) -> cursors.Handled:
    """Messages that were extracted from; where that record is gone, as the memory's own history tells it.

    The working state may be deleted at any time, and nothing may be learned twice for that.
    """
    known = cursors.load_handled(cursors_folder(workspace), reporter(workspace))
    if known.keys:
        return known
    told: list[str] = []
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        for made in scope.repo.history(tip) if tip else ():
            provenance = parse_trailers(made.message)
            if provenance.writer == "extract" and provenance.messages:
                told += provenance.messages
    for one in parked(workspace):
        told += [one.change.origin.first, one.change.origin.last]
    return known.plus(filter(None, told))


def _cursor(workspace: Workspace, path: Path) -> int:
    return cursors.load(cursors_folder(workspace), cursor_name(path), reporter(workspace)).offset


def cursor_name(path: Path) -> str:
    """The client names a file for its session; any other file is known by its place."""
    return path.stem if _CLIENT_ID.fullmatch(path.stem) else f"file:{path.resolve()}"


def cursors_folder(workspace: Workspace) -> Path:
    """Where it is kept how far each session was read."""
    return workspace.state / "cursors"


def reporter(workspace: Workspace) -> Callable[[str], None]:
    """Writes into the repository's log."""
    return lambda text: log(workspace.layout.common_dir, f"extraction: {text}")
