"""The worker takes notes of the sessions that a job names, and of others that were written to lately.

Before a compaction nothing waits for a model that cannot be asked, as in the middle of a turn: what can be
read off the session is noted at once. The engine's own notes go on from where they stood, when it answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace

from gitmem.core.errors import EngineError, GitmemError, RepositoryError
from gitmem.core.session_notes import CHARS_A_TOKEN
from gitmem.core.trailers import Provenance
from gitmem.engines.engine import Engine
from gitmem.engines.offline import OfflineEngine
from gitmem.flows.context import Edges
from gitmem.flows.extraction import rule_texts
from gitmem.flows.session_notes.recorded import clean_messages, cleaner, said_in, template
from gitmem.ledger import stuck
from gitmem.ledger.files import log, read_json, write_atomically
from gitmem.ledger.job_record import Tally
from gitmem.ledger.known import known_before
from gitmem.ledger.workspace import MAIN, Workspace
from gitmem.notes.due import AGAIN_TOKENS, FIRST_TOKENS, amount, not_due
from gitmem.notes.kept import Kept, keep, notes_of
from gitmem.notes.names import ref_of
from gitmem.notes.writing import refresh, standing, title_of
from gitmem.transcripts.model import Message, Session, SessionFile
from gitmem.values import dataclass

RECENT_SECONDS = 86_400.0
"""A session that no job names has notes taken if it was written to within a day: what ended before that has
lost no thread, and a year of them would cost what a year's work did."""

MOST_UNNAMED = 4
"""Sessions of which notes are taken in one job though it does not name them."""

FILE = "noted.json"
KEPT = 500
_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Look:
    """What the last look at a session found; it can be lost at the cost of another look.

    Attributes:
        size: bytes of the recording then.
        lacks: tokens that were missing then.
        last: uuid of the last message that the notes tell of.
    """

    size: int = 0
    lacks: int = 0
    last: str = ""


def take_notes(
    workspace: Workspace,
    edges: Edges,
    engine: Engine,
    files: Sequence[SessionFile],
    named: Mapping[str, bool],
    tally: Tally,
) -> int:
    """Takes notes of the sessions of which they are due.

    Args:
        files: the repository's sessions, the oldest change first.
        named: the sessions that this is about, each with whether it is about to be compacted.
        tally: is told what was noted, and of a session that is named why not.

    Returns:
        How many sessions were noted.

    Raises:
        EngineError: the engine failed; the session is looked at again with the next job, whatever stands
            in for its notes until then.
    """
    if not workspace.settings.flag("notes"):
        tally.skip("session notes", "gitmem.notes is off")
        return 0
    taker = _Taker(workspace, edges, engine, tally)
    unnamed = 0
    for file in reversed(files):
        if file.id in named:
            taker.look(file, tell=True, pressing=named[file.id])
        elif unnamed < MOST_UNNAMED and edges.now - file.mtime_ns / 1e9 < RECENT_SECONDS:
            unnamed += taker.look(file)
    taker.close()
    if taker.failures:
        raise taker.failures[0]
    return tally.noted


class _Taker:
    """One run over some sessions."""

    def __init__(self, workspace: Workspace, edges: Edges, engine: Engine, tally: Tally) -> None:
        self.workspace, self.edges, self.engine, self.tally = workspace, edges, engine, tally
        self.failures: list[EngineError] = []
        self._looks = _read(workspace)
        self._ref = ref_of(workspace.project_id)

    def look(self, file: SessionFile, *, tell: bool = False, pressing: bool = False) -> bool:
        """Takes a session's notes if they are due; says whether it did, or tried."""
        why = self._too_small(file, pressing) or ("" if pressing else self._held(file.id))
        tried = False
        if not why:
            asked = len(self.failures)
            try:
                why = self._look(file, pressing=pressing)
            except GitmemError as error:
                # What was said is still in the recording: all else that the job does goes on.
                log(self.workspace.layout.common_dir, f"session notes: {error}")
                why, tell = error.message, True
            failed = len(self.failures) > asked
            tried, tell = failed or not why, failed or tell
        if why and tell:
            self.tally.skip(f"notes of session {file.id}", why)
        return tried

    def close(self) -> None:
        """Leaves word for the next job."""
        kept = dict(list(self._looks.items())[-KEPT:])
        with suppress(OSError):
            data = json.dumps({name: asdict(one) for name, one in kept.items()})
            write_atomically(self.workspace.state / FILE, data.encode())

    def _too_small(self, file: SessionFile, pressing: bool) -> str:
        """Why a session need not even be read: a character takes a byte at least."""
        known = self._looks.get(file.id)
        if known is None:
            return "" if file.size >= FIRST_TOKENS * CHARS_A_TOKEN else "it is too short"
        if pressing:
            return ""
        grown = file.size - known.size
        if not grown:
            return "nothing new was said"
        short = 0 < grown < known.lacks * CHARS_A_TOKEN
        return "too little was said since the last look" if short else ""

    def _held(self, session: str) -> str:
        if not all(error.of_input for error in self.failures):
            return f"{self.engine.name} failed at others"
        held = stuck.held(self.workspace.state, _stuck(session), self.engine.name, self.edges.now)
        return f"{held.tries} tries with {self.engine.name} failed; it waits" if held else ""

    def _look(self, file: SessionFile, *, pressing: bool) -> str:
        """Takes the notes; returns why not, empty where it did."""
        workspace, repo = self.workspace, self.workspace.private
        session = said_in(workspace, file.path, self.edges.now)
        kept = notes_of(repo, repo.ref(self._ref), file.id)
        noted = self._noted(session.messages, file.id, kept)
        why = not_due(session.messages, noted, pressing=pressing)
        if not why:
            why = self._held(file.id) or self._ask(file, session, kept, noted or 0)
            if why and pressing:
                self._take(OfflineEngine(), file, session, kept, noted or 0)
                why += "; noted offline for now"
            return why
        new = amount(session.messages[noted or 0 :]).tokens
        lacks = max(0, (FIRST_TOKENS if noted is None else AGAIN_TOKENS) - new)
        known = self._looks.get(file.id, Look())
        self._remember(file, lacks, known.last)
        return why

    def _noted(self, messages: Sequence[Message], session: str, kept: Kept | None) -> int | None:
        """How many messages the notes tell of already; None where there are no notes."""
        if kept is None:
            return None
        places = {message.uuid: number for number, message in enumerate(messages, 1)}
        known = self._looks.get(session, Look()).last
        # What was noted last may have been rewound since: then all of it is looked at again.
        places.pop("", None)
        return max(places.get(kept.last, 0), places.get(known, 0))

    def _ask(self, file: SessionFile, session: Session, kept: Kept | None, noted: int) -> str:
        """Has the engine take the notes; returns why it did not, empty where it did."""
        name = self.engine.name
        try:
            self._take(self.engine, file, session, kept, noted)
        except EngineError as error:
            self.failures.append(error)
            if error.of_input:
                stuck.failed(self.workspace.state, _stuck(file.id), name, self.edges.now)
            return f"{name} failed; it is asked again"
        except RepositoryError:
            # What was paid for cannot be kept: it is not to be paid for at every prompt.
            stuck.failed(self.workspace.state, _stuck(file.id), name, self.edges.now)
            raise
        stuck.worked(self.workspace.state, _stuck(file.id))
        self._remember(file, AGAIN_TOKENS, session.messages[-1].uuid)
        return ""

    def _take(
        self, engine: Engine, file: SessionFile, session: Session, kept: Kept | None, noted: int
    ) -> None:
        workspace, edges = self.workspace, self.edges
        who, reads = workspace.author(edges.now), engine.reads_history
        done = refresh(
            engine,
            session=file.id,
            said=clean_messages(workspace, session.messages),
            noted=noted,
            before=standing(template(workspace, edges), kept.text if kept else ""),
            clean=cleaner(workspace),
            rules=rule_texts(workspace, edges) if reads else (),
            known_before=known_before(workspace, MAIN, session.messages[0].time) if reads else (),
            transcript=file.path,
            worktree=workspace.layout.worktree,
            now=edges.now,
        )
        own = engine is self.engine
        fresh = session.messages[noted:]
        told = Provenance(
            op="update",
            writer="extract",
            session=file.id,
            # The engine is still to be told of what something else noted in its place.
            messages=(fresh[0].uuid, fresh[-1].uuid) if own else kept.told.messages if kept else None,
            code_commit=self._head(),
            engine=engine.name,
            usage=done.told.usage,
        )
        title = title_of(done.text)
        subject = f"Note session {file.id[:8]}" + (f": {title}" if title else "")
        made = keep(workspace.private, self._ref, file.id, done.text, subject, told, who)
        self.tally.noted += made is not None
        self.tally.engine = engine.name
        self.tally.spent(done.told.usage)
        self.tally.log += done.told.log

    def _head(self) -> str:
        top = self.workspace.layout.worktree
        return next((tree.head or "" for tree in self.workspace.worktrees if tree.path == top), "")

    def _remember(self, file: SessionFile, lacks: int, last: str) -> None:
        self._looks.pop(file.id, None)
        self._looks[file.id] = Look(file.size, lacks, last)


def _stuck(session: str) -> str:
    return f"notes:{session}"


def _read(workspace: Workspace) -> dict[str, Look]:
    value = read_json(workspace.state / FILE, _BYTES)
    found: dict[str, Look] = {}
    for name, one in value.items() if isinstance(value, Mapping) else ():
        with suppress(ValueError, TypeError, KeyError):
            found[str(name)] = replace(
                Look(), size=int(one["size"]), lacks=int(one["lacks"]), last=str(one["last"])
            )
    return found
