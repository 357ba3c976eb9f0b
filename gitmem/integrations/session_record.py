"""A session as an engine that reads all of it is told: the same again in every later extraction."""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.change import Header
from gitmem.core.errors import RepositoryError
from gitmem.extract.known import Known
from gitmem.extract.telling import Told
from gitmem.integrations.extraction_rules import left_out
from gitmem.integrations.recordings import Source
from gitmem.store.stood import stood_at
from gitmem.store.trees import read_files
from gitmem.store.workspace import MAIN, SCOPES, Workspace
from gitmem.transcripts import discover
from gitmem.transcripts.claude_code import read_subagent
from gitmem.transcripts.model import Message, Session
from gitmem.transcripts.privacy import ignoring, withheld


def told(workspace: Workspace, source: Source, part: Session, now: float) -> Told:
    """What is told of a session besides its new part.

    Args:
        part: what is new.
        now: epoch seconds.

    Raises:
        RepositoryError: the recording cannot be read.
    """
    record = _record(workspace, source, part, now)
    return Told(record, known_before(workspace, source.agent, record))


def _record(workspace: Workspace, source: Source, part: Session, now: float) -> tuple[Message, ...]:
    """All that was said up to the end of the part; without its words what is not to be learned from."""
    if source.agent == MAIN:
        session = discover.read(part.path, keep=False, most=part.end)
    else:
        session = read_subagent(part.path, keep=False)
    new = {message.uuid for message in part.messages}
    ends = [at for at, message in enumerate(session.messages, 1) if message.uuid in new]
    ignore = ignoring(workspace.settings.all("ignore"))
    out = left_out(workspace, session, now, strict=True)
    return tuple(
        withheld(message) if message.uuid in out or ignore.hides(message) else message
        for message in session.messages[: ends[-1] if ends else None]
    )


def known_before(workspace: Workspace, agent: str, record: tuple[Message, ...]) -> tuple[Header, ...]:
    """The agent's memories when the first message was said; none where its time is not known."""
    began = record[0].time if record else None
    if began is None:
        return ()
    files: dict[str, dict[str, bytes]] = {}
    for name in SCOPES:
        scope = workspace.scope(name)
        # A log or an old tree that is damaged costs no more than the cache.
        with suppress(RepositoryError):
            then = stood_at(scope.repo, scope.ref, began.timestamp())
            files[name] = read_files(scope.repo, scope.repo.commit(then).tree, agent) if then else {}
    return Known(files).of(agent).manifest
