"""This repository's recorded sessions: which there are, and for a person to look at, without secrets.

Towards the next dream of a repository's own memory (project, local) those held in it count. What is
known about a person serves in every repository, so for the scope `user` the sessions of Claude Code count
wherever they were held, and of other clients, whose recordings would have to be opened, those of this one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.errors import GitmemError, UsageError
from gitmem.flows.context import Edges
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.secrets import redact, scan
from gitmem.transcripts import discover
from gitmem.transcripts.model import Message, Session, SessionFile
from gitmem.transcripts.privacy import compile_ignore

AROUND = 2
"""Lines shown before and after a line that holds the terms."""
PASTED_CHARS = 1_000_000
"""Characters of a message's pastes that are searched."""
WIDTH = 240
"""Characters of a line that are shown, those around the first term."""
SHORT = 8
"""Characters of an id that are shown at least."""
NAMED = 10
"""Ids that are named where one is meant and several begin so."""

PRESENT = "CLAUDE_CODE_SESSION_ID"
"""Names the session in the environment of what its agent runs."""


@dataclass(frozen=True)
class SessionHit:
    """One place.

    Attributes:
        number: the message's, counted from 1 over the session.
        message: the message.
        lines: the line with the terms and those around it, cut.
        at: index of that line in `lines`.
    """

    number: int
    message: Message
    lines: tuple[str, ...]
    at: int


@dataclass(frozen=True)
class ListedSession:
    """One session as a list shows it.

    Attributes:
        short: beginning of its id that no other session's has.
        session: None where the file cannot be read.
        prompts: messages of a person.
        first: their first prompt.
    """

    file: SessionFile
    short: str
    session: Session | None
    prompts: int = 0
    first: Message | None = None


def sessions_here(workspace: Workspace, edges: Edges) -> tuple[SessionFile, ...]:
    """Recordings of this repository by every client, of all its work trees, oldest change first."""
    tops = [tree.path.resolve() for tree in workspace.worktrees]
    places = {**discover.folders(edges.environ, edges.home), "claude-code": edges.config}
    return discover.sessions_of(places, tops)


def whole(workspace: Workspace, path: Path) -> Session:
    """All of a session of `main`, without what is to be ignored: to be shown."""
    return discover.read(path, ignore=compile_ignore(workspace.settings.all("ignore")))


def recent_sessions(workspace: Workspace, edges: Edges, most: int) -> tuple[tuple[ListedSession, ...], int]:
    """The sessions written to last, newest first, and how many there are in all."""
    files = sessions_here(workspace, edges)
    short = short_ids(files)
    found = []
    for file in reversed(files[-most:]):
        try:
            session = whole(workspace, file.path)
        except GitmemError:
            found.append(ListedSession(file, short[file.id], None))
            continue
        said = [one for one in session.messages if one.role == "person"]
        first = next((one for one in said if one.source == "prompt"), said[0] if said else None)
        shown = without_secrets(workspace, [first])[0] if first else None
        found.append(ListedSession(file, short[file.id], replace(session, messages=()), len(said), shown))
    return tuple(found), len(files)


def session_file(workspace: Workspace, edges: Edges, id: str) -> SessionFile:
    """The session whose id begins so.

    Raises:
        UsageError: there is none, or several.
    """
    files = sessions_here(workspace, edges)
    meant = meant_id({file.id for file in files}, id)
    return [file for file in files if file.id == meant][-1]


def meant_id(ids: Collection[str], id: str) -> str:
    """The id that a person means by it, or by its beginning; errors as for `session_file`."""
    found = [id] if id in ids else sorted(one for one in ids if id and one.startswith(id))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"No session of this repository has an id that begins with {id!r}", "See: git mem session list"
        )
    raise UsageError(f"{id!r} could be {', '.join(found[:NAMED])}", "Give more of the id.")


def redacted_session(workspace: Workspace, file: SessionFile) -> Session:
    """What was said in a session, secrets redacted.

    Raises:
        RepositoryError: the file cannot be read, or secrets cannot be looked for.
    """
    session = whole(workspace, file.path)
    return replace(session, messages=without_secrets(workspace, session.messages))


def search(
    workspace: Workspace, files: Sequence[SessionFile], terms: Sequence[str], most: int
) -> Iterator[tuple[SessionFile, SessionHit]]:
    """Finds terms in sessions, those written to last first; secrets are redacted before.

    Args:
        most: hits after which the search ends.
    """
    left = most
    for file in reversed(files):
        try:
            messages = whole(workspace, file.path).messages
        except GitmemError:
            continue
        hits = {hit.number for hit in find(messages, terms)}
        clean = iter(without_secrets(workspace, [messages[number - 1] for number in sorted(hits)]))
        redacted = [
            next(clean) if number in hits else replace(one, text="", pasted=())
            for number, one in enumerate(messages, 1)
        ]
        for hit in find(redacted, terms):
            if not left:
                return
            left -= 1
            yield file, hit


def without_secrets(workspace: Workspace, messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages with every secret replaced by the name of its kind, in tools' results too.

    Raises:
        DetectorUnavailable: they cannot be looked for.
    """
    texts = [
        text
        for one in messages
        for text in (one.text, one.context, *one.pasted, *(c.result or "" for c in one.tools))
    ]
    found = scan(texts, workspace.allowed)
    clean = iter([redact(text, findings) for text, findings in zip(texts, found, strict=True)])
    made = []
    for one in messages:
        text, context = next(clean), next(clean)
        pasted = tuple(next(clean) for _ in one.pasted)
        tools = tuple(
            replace(c, result=result if c.result is not None else None)
            for c in one.tools
            for result in [next(clean)]
        )
        made.append(replace(one, text=text, context=context, pasted=pasted, tools=tools))
    return tuple(made)


def short_ids(files: Sequence[SessionFile]) -> dict[str, str]:
    """The least of each id that tells it from its neighbours in order."""
    ids = sorted({file.id for file in files})
    short = {}
    for before, id, after in zip(["", *ids], ids, [*ids[1:], ""], strict=False):
        length = SHORT
        while length < len(id) and any(other.startswith(id[:length]) for other in (before, after) if other):
            length += 1
        short[id] = id[:length]
    return short


def find(messages: Sequence[Message], terms: Sequence[str], around: int = AROUND) -> Iterator[SessionHit]:
    """Yields the lines that hold every term, oldest first; of two that are near one another, the first.

    Args:
        messages: of one session; what tools gave is not searched.
        terms: substrings; case is ignored.
        around: lines before and after.
    """
    wanted = [term.casefold() for term in terms if term.strip()]
    if not wanted:
        return
    for number, message in enumerate(messages, 1):
        lines = message.marked(PASTED_CHARS).splitlines()
        shown_to = -1
        for at, line in enumerate(lines):
            folded = line.casefold()
            if at <= shown_to or not all(term in folded for term in wanted):
                continue
            first, last = max(shown_to + 1, at - around), min(len(lines), at + around + 1)
            shown_to = last - 1
            near = tuple(_cut(one, wanted) for one in lines[first:last])
            yield SessionHit(number, message, near, at - first)


def _cut(line: str, wanted: Sequence[str]) -> str:
    if len(line) <= WIDTH:
        return line
    folded = line.casefold()
    # Folding can lengthen a text; the place is then a little off, and the line is cut all the same.
    place = min((at for term in wanted if (at := folded.find(term)) >= 0), default=0)
    start = max(0, min(place - WIDTH // 2, len(line) - WIDTH))
    end = start + WIDTH
    return f"{'…' if start else ''}{line[start:end]}{'…' if end < len(line) else ''}"


def present_session(environ: Mapping[str, str]) -> frozenset[str]:
    """The session in which this process was started, if it was in one."""
    return frozenset({environ.get(PRESENT, "")} - {""})


def count_sessions(
    workspace: Workspace, edges: Edges, place: Scope, since: float, present: Collection[str]
) -> int:
    """Counts sessions that were written to after a time.

    Args:
        since: epoch seconds.
        present: ids of those that are going on, which do not count.
    """
    found = {file.id: file.mtime_ns for file in sessions_here(workspace, edges)}
    if place.name == "user":
        found |= dict(_everywhere(edges))
    return sum(changed > since * 1e9 and id not in present for id, changed in found.items())


def _everywhere(edges: Edges) -> Iterator[tuple[str, int]]:
    """Id and last change (nanoseconds) of each session of Claude Code; no recording is opened."""
    for folder in _entries(edges.config / "projects"):
        if not folder.is_dir(follow_symlinks=False):
            continue
        for file in _entries(folder.path):
            if not file.name.endswith(".jsonl") or file.name.startswith((".", "agent-")):
                continue
            with suppress(OSError):
                status = file.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield file.name.removesuffix(".jsonl"), status.st_mtime_ns


def _entries(folder: str | os.PathLike[str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:
        return []
