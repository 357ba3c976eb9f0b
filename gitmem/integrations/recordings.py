"""Recordings to extract from: which hold something new, where that begins, and what was handled before.

And of a subagent's session, where its memory belongs, as its definition says. Definitions in a work tree
are a repository's, and hostile: of all they say, one of three words counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core import frontmatter
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.names import agent_name, unsafe_segment
from gitmem.core.text import decode
from gitmem.core.trailers import parse as parse_trailers
from gitmem.integrations.edges import Edges
from gitmem.store.files import log, read_regular
from gitmem.store.parked import parked
from gitmem.store.symlinks import linked
from gitmem.store.workspace import MAIN, SCOPES, ScopeName, Workspace
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts import discover
from gitmem.transcripts.claude_code import is_subagents, read_subagent
from gitmem.transcripts.model import Session, SessionFile
from gitmem.transcripts.privacy import ignoring

MOST = 32 * 1024 * 1024
"""Bytes of a session that are read at once."""

MOST_FOR_MODEL = 1024 * 1024
"""The same where a model reads them: where the day's ceiling or a failure ends the work in the middle of a
long session, what was paid for until then is stored, and the next day goes on from there."""

AGENTS = "agents"
BYTES = 262_144
"""Of a definition: the frontmatter stands at its beginning."""

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
    places = {**discover.folders(edges.environ, edges.home), "claude-code": edges.config}
    return discover.sessions_of(places, tops)


def news(workspace: Workspace, paths: Iterable[Path | Source]) -> list[News]:
    """Transcripts with something after their cursor, and where that begins."""
    found = []
    for given in paths:
        source = given if isinstance(given, Source) else Source(given, pressing=True)
        path = source.path
        start = _cursor(workspace, path)
        try:
            size = discover.size_of(path)
        except RepositoryError as error:
            reporter(workspace)(f"{path}: {error}")
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
                    session = discover.read(
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
    return discover.read(path, keep=False, ignore=ignoring(workspace.settings.all("ignore")))


def label(session: Session) -> str:
    """What a session is called for a person."""
    # A subagent's recording has the id of the session that it belongs to.
    part = "a subagent of " if is_subagents(session.path) else ""
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


def memory_scope(name: str, worktree: Path | None, claude_folder: str, config: Path) -> ScopeName | None:
    """The scope that a subagent's definition names; None where it has no memory.

    The work tree's definition wins over the person's own, as it does for the client.

    Args:
        name: the agent's name, as a hook said it.
        worktree: top of the work tree.
        claude_folder: name of the client's folder in it.
        config: the client's folder of the person.
    """
    if agent_folder(name) is None or unsafe_segment(f"{name}.md") is not None:
        return None
    places = [(worktree, worktree / claude_folder / AGENTS)] if worktree is not None else []
    for anchor, where in [*places, (config, config / AGENTS)]:
        path = where / f"{name}.md"
        if linked(anchor, path):
            continue
        try:
            found = read_regular(path, BYTES)
        except OSError:
            continue
        if found is None:
            continue
        front, _ = frontmatter.split(decode(found[0][:BYTES]))
        said = front.text("memory").strip().lower() if front else ""
        return next((scope for scope in SCOPES if scope == said), None)
    return None


def agent_folder(name: str) -> str | None:
    """The agent's folder in a memory tree; None where no subagent can be called so."""
    try:
        made = agent_name(name)
    except UsageError:
        return None
    return made if made != MAIN and Path(name).name == name else None
