"""Notes of sessions for a person, and what a new session needs to go on from one of them."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.errors import UsageError
from gitmem.core.session_notes import Section, parse
from gitmem.flows.context import Edges
from gitmem.flows.session_notes.recorded import cleaner, said_in
from gitmem.flows.sessions import sessions_here
from gitmem.ledger.moments import resolve_at
from gitmem.ledger.workspace import Workspace
from gitmem.notes.due import FIRST_TOKENS, amount
from gitmem.notes.kept import Kept, all_notes, notes_of
from gitmem.notes.names import is_plain, ref_of
from gitmem.notes.resume import Resume, resume_of
from gitmem.transcripts.model import SessionFile

_NAMED = 10


class NothingNoted(UsageError):
    """A session has no notes, or none has."""

    kind = "no-notes"


def noted_ids(workspace: Workspace) -> list[str]:
    """Ids of the sessions that have notes, sorted; those alone that are plain words."""
    if not workspace.has_private:
        return []
    found = all_notes(workspace.private, workspace.private.ref(ref_of(workspace.project_id)))
    return sorted(one.session for one in found if is_plain(one.session))


def shown_notes(workspace: Workspace, edges: Edges, id: str | None, at: str | None = None) -> Kept:
    """The notes of a session.

    Args:
        id: the session's, or its beginning; None for the notes that were taken last.
        at: revision, date or tag (see `moments.resolve_at`); None is the present.

    Raises:
        NothingNoted: there are none (as of then); the message says how much is missing.
        UsageError: several sessions are meant, or none, or `at` is no time.
    """
    ref = ref_of(workspace.project_id)
    tip = workspace.private.ref(ref) if workspace.has_private else None
    if tip is None and id is None:
        raise NothingNoted("no notes were taken of any session here")
    if at and tip is not None:
        scope = replace(workspace.scope("local"), ref=ref)
        tip = resolve_at(workspace, scope, at, edges.now)
    known = all_notes(workspace.private, tip) if tip else ()
    if id is None:
        if not known:
            raise NothingNoted("no notes had been taken then")
        session = known[-1].session
    else:
        session = _meant(workspace, edges, id, {one.session for one in known})
    kept = notes_of(workspace.private, tip, session)
    if kept is None:
        raise NothingNoted(f"session {session} has no notes{_lacking(workspace, edges, session, at)}")
    return kept


def sections_of(kept: Kept) -> tuple[Section, ...]:
    """The sections of notes."""
    return parse(kept.text)


def resume(workspace: Workspace, edges: Edges, id: str) -> Resume:
    """What a new session needs to go on from another one; without notes, what its recording tells.

    Raises:
        UsageError: there is no such session, or there are several.
        RepositoryError: its recording cannot be read, or secrets cannot be looked for.
    """
    ref = ref_of(workspace.project_id)
    tip = workspace.private.ref(ref) if workspace.has_private else None
    known = {one.session for one in all_notes(workspace.private, tip)} if tip else set()
    session = _meant(workspace, edges, id, known)
    kept = notes_of(workspace.private, tip, session) if session in known else None
    file = _recording(workspace, edges, session)
    messages = said_in(workspace, file.path, edges.now).messages if file else ()
    clean = cleaner(workspace)
    found = resume_of(
        session,
        file.client if file else "",
        messages,
        notes=kept.text if kept else "",
        noted=kept.time if kept else 0.0,
        commit=kept.told.code_commit if kept else "",
    )
    return replace(
        found,
        request=clean(found.request),
        todos=tuple(map(clean, found.todos)),
        files=tuple(map(clean, found.files)),
        notes=tuple(replace(one, body=clean(one.body)) for one in found.notes),
    )


def _meant(workspace: Workspace, edges: Edges, id: str, noted: set[str]) -> str:
    """The session, recorded or noted, whose id is or begins so."""
    if id in noted:
        return id
    every = noted | {file.id for file in sessions_here(workspace, edges)}
    found = [id] if id in every else sorted(one for one in every if id and one.startswith(id))
    if len(found) == 1:
        return found[0]
    if not found:
        raise UsageError(
            f"No session of this repository has an id that begins with {id!r}", "See: git mem session list"
        )
    raise UsageError(f"{id!r} could be {', '.join(found[:_NAMED])}", "Give more of the id.")


def _recording(workspace: Workspace, edges: Edges, session: str) -> SessionFile | None:
    found = [file for file in sessions_here(workspace, edges) if file.id == session]
    return found[-1] if found else None


def _lacking(workspace: Workspace, edges: Edges, session: str, at: str | None) -> str:
    """Why a session has no notes, as far as that can be told."""
    if at:
        return " as of then"
    if not workspace.settings.flag("notes"):
        return ": gitmem.notes is off"
    file = _recording(workspace, edges, session)
    tokens = amount(said_in(workspace, file.path, edges.now).messages).tokens if file else 0
    if tokens < FIRST_TOKENS:
        return f" yet: {tokens:,} of {FIRST_TOKENS:,} tokens were said in it"
    return " yet: they are taken in the background, see git mem jobs"
