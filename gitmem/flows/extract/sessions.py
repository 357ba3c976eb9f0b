"""Recordings to extract from: what is new in them, and what of it is looked at and shown to an engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitmem.core.change import Header
from gitmem.core.errors import RepositoryError
from gitmem.core.trailers import parse as parse_trailers
from gitmem.ledger.files import log
from gitmem.ledger.knowledge import known_before
from gitmem.ledger.suggestions import open_suggestions
from gitmem.ledger.workspace import MAIN, ScopeName, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts import reader as cursors
from gitmem.transcripts.claude_code import read_subagent
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.privacy import compile_ignore, withhold
from gitmem.transcripts.reader import cursor_name
from gitmem.transcripts.writes import given_by, writes_memory

MOST = 32 * 1024 * 1024
"""Bytes of a session that are read at once."""

MOST_FOR_MODEL = 1024 * 1024
"""The same where a model reads them: where the day's ceiling or a failure ends the work in the middle of a
long session, what was paid for until then is stored, and the next day goes on from there."""


LeftOut = Callable[[Session, bool], frozenset[str]]
"""Gives the uuids of a session's messages that were said in a pause, or while extraction was off. With the
flag, where there was any such time, what was said at an unknown one counts as said in it."""


@dataclass(frozen=True)
class SessionSource:
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
    source: SessionSource


def news(workspace: Workspace, paths: Iterable[Path | SessionSource]) -> list[News]:
    """Transcripts with something after their cursor, and where that begins."""
    found = []
    for given in paths:
        source = given if isinstance(given, SessionSource) else SessionSource(given, pressing=True)
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
    follow: bool = False,
) -> Iterator[tuple[News, Session]]:
    """Opens them one by one, and a long one part by part: a year's sessions would not fit in memory.

    The next part of a session is read once the cursor has reached it.

    Args:
        most: bytes of a part.
        follow: read on without a cursor, as where nothing is written.
    """
    ignore = compile_ignore(workspace.settings.all("ignore"))
    for one in found:
        path, start = one.source.path, one.start
        while True:
            try:
                if one.source.agent == MAIN:
                    session = discover.read(path, start, most=most, ignore=ignore)
                else:
                    whole = read_subagent(path, start)
                    said = tuple(message for message in whole.messages if not ignore.hides(message))
                    session = replace(whole, messages=said)
            except RepositoryError as error:
                reporter(workspace)(f"{path}: {error}")
                break
            yield News(start, one.source), session
            if session.end - start < most or not (follow or _cursor(workspace, path) == session.end):
                break
            start = session.end


def handled_messages(workspace: Workspace) -> cursors.Handled:
    """Messages that were extracted from; where that record is gone, as the memory's own history tells it.

    The working state may be deleted at any time, and nothing may be learned twice for that.
    """
    known = cursors.load_handled(cursors.folder(workspace.state), reporter(workspace))
    if known.keys:
        return known
    told: list[str] = []
    for scope in workspace.scopes:
        tip = scope.repo.ref(scope.ref)
        for made in scope.repo.history(tip) if tip else ():
            provenance = parse_trailers(made.message)
            if provenance.writer == "extract" and provenance.messages:
                told += provenance.messages
    for one in open_suggestions(workspace):
        told += [one.change.origin.first, one.change.origin.last]
    return known.plus(filter(None, told))


def _cursor(workspace: Workspace, path: Path) -> int:
    return cursors.load(cursors.folder(workspace.state), cursor_name(path), reporter(workspace)).offset


def reporter(workspace: Workspace) -> Callable[[str], None]:
    """Writes into the repository's log."""
    return lambda text: log(workspace.layout.common_dir, f"extraction: {text}")


@dataclass(frozen=True)
class Conversation:
    """What an engine gets of a session besides what is new.

    Attributes:
        record: all that was said in the session up to the end of the new part, handled or not; what is not
            to be learned from is there without its words.
        known_before: the manifest as it was when the session began, for an engine that reads history.
    """

    record: tuple[Message, ...] = ()
    known_before: tuple[Header, ...] = ()


UNREAD = Conversation()


def conversation_of(
    workspace: Workspace, source: SessionSource, part: Session, out: LeftOut
) -> Conversation:
    """What such an engine gets of a session besides its new part: the same again in every later extraction.

    Args:
        part: what is new.
        out: says what of a session is not to be learned from.

    Raises:
        RepositoryError: the recording cannot be read.
    """
    record = record_of(workspace, source, part, out)
    began = record[0].time if record else None
    return Conversation(record, known_before(workspace, source.agent, began))


def record_of(
    workspace: Workspace, source: SessionSource, part: Session, out: LeftOut
) -> tuple[Message, ...]:
    """All that was said up to the end of a part; without its words what is not to be learned from.

    Raises:
        RepositoryError: the recording cannot be read.
    """
    path, most = part.path, part.end
    session = discover.read(path, most=most) if source.agent == MAIN else read_subagent(path)
    new = {message.uuid for message in part.messages}
    ends = [at for at, message in enumerate(session.messages, 1) if message.uuid in new]
    ignore = compile_ignore(workspace.settings.all("ignore"))
    return withhold(session.messages[: ends[-1] if ends else None], out(session, True), ignore)


@dataclass(frozen=True)
class Turns:
    """A session's messages, sorted out.

    Attributes:
        messages: those to extract from, with the agent's replies between them.
        handled: uuids of all of the person's messages, also those left out.
        written: uuid of a person's message to what the agent wrote into memory after it, in the same turn.
    """

    messages: tuple[Message, ...]
    handled: tuple[str, ...]
    written: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def turns_of(
    messages: Sequence[Message],
    handled: Container[str],
    folders: Collection[Path],
    cwd: str = "",
    left_out: Container[str] = frozenset(),
) -> Turns:
    """Leaves out what was handled and what is no prose.

    A turn goes from a prompt to the next. What the agent wrote into memory in it may be what a person said
    there before, or anything else: whoever looks at the message has to compare.

    Args:
        messages: of one session, oldest first.
        handled: uuids of messages that were extracted from before, by this or a forked session.
        folders: live directories, absolute.
        cwd: working directory of the session, for relative paths.
        left_out: uuids of messages that nobody may see, and that count as handled.
    """
    written: dict[str, list[str]] = {}
    turn: list[str] = []
    for message in messages:
        if message.role == "person":
            if message.source == "prompt":
                turn = []
            turn.append(message.uuid)
            continue
        made = [call for call in message.tools if turn and writes_memory(call, folders, cwd)]
        for uuid in turn if made else ():
            written.setdefault(uuid, []).extend(text for call in made for text in given_by(call))
    said = [message for message in messages if message.role == "person" and message.uuid not in handled]
    out = {m.uuid for m in messages if m.role == "person" and m.uuid in handled}
    out |= {m.uuid for m in messages if m.uuid in left_out}
    kept = tuple(
        m for m in messages if m.uuid not in out and (m.role == "agent" or m.text.strip() or m.pasted)
    )
    return Turns(
        kept if any(m.role == "person" for m in kept) else (),
        tuple(m.uuid for m in said),
        {uuid: tuple(texts) for uuid, texts in written.items()},
    )


@dataclass(frozen=True)
class SessionPart:
    """One extraction's part of the session; see `ExtractInput`."""

    messages: tuple[Message, ...]
    history: tuple[Message, ...] = ()
    seen: int | None = None


def part_of(record: Sequence[Message], new: Sequence[Message], *, agents_too: bool = False) -> SessionPart:
    """Says where in the record the new messages stand, and where the request before ended.

    Turns that are left out at the end of the part are left to the next request: so it goes on from where
    this one ends, however many turns without a request lie between.

    Args:
        record: the session up to the end of the new part.
        new: what is to be looked at; empty of what is withheld.
        agents_too: there is no person in the session: what the agent says counts.
    """
    places = {message.uuid: at for at, message in enumerate(record)}
    speaking = [at for at, message in enumerate(record) if message.role == "person" or agents_too]
    fresh = {places[m.uuid] for m in new if m.uuid in places and (m.role == "person" or agents_too)}
    if not fresh:
        return SessionPart(tuple(new))
    first, last = min(fresh), max(fresh)
    end = next((at for at in speaking if at > last), len(record))
    seen = first
    for at in reversed([at for at in speaking if at < first]):
        if not _passed(record[at]):
            break
        seen = at
    kept = tuple(message for message in new if first <= places.get(message.uuid, -1) < end)
    return SessionPart(kept, tuple(record[:end]), seen)


def _passed(message: Message) -> bool:
    empty = message.role == "person" and not (message.text.strip() or message.pasted)
    return empty or message.source == "withheld"
