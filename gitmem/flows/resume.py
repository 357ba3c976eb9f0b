"""What a session that lost its context, or a new one in its place, is told to go on with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from gitmem.core.errors import RepositoryError
from gitmem.core.session_notes import CHARS_A_TOKEN, Section, fit, parse, render
from gitmem.core.text import decode, fence_for_model, one_line
from gitmem.git.command import peek
from gitmem.ledger.session_notes import is_plain, path_of, ref_of
from gitmem.ledger.workspace import Workspace

SECONDS = 1.0
"""How long a look for a session's notes may take at its start; it needs some five milliseconds."""

BYTES = 256 * 1024

_WIDTH = 300


@dataclass(frozen=True)
class Resume:
    """Where a session stood, as far as it was recorded.

    Attributes:
        session, client: its id, and who recorded it; the client is empty where the recording is gone.
        branch, commit: of the code; empty where unknown.
        said: when something was last said in it, epoch seconds; 0 where unknown.
        noted: when notes were last taken of it, epoch seconds; 0 where none were.
        notes: those sections of its notes, as they would be now, that hold something.
    """

    session: str
    client: str = ""
    branch: str = ""
    commit: str = ""
    said: float = 0.0
    noted: float = 0.0
    notes: tuple[Section, ...] = ()


def notes_at_start(workspace: Workspace, payload: Mapping[str, Any], room: int) -> str:
    """The notes of a session that starts again, as data: one bounded look.

    Args:
        payload: the client's JSON for SessionStart.
        room: characters that there are.

    Returns:
        Empty where there are none, the look fails, or notes are switched off.
    """
    session = payload.get("session_id")
    if payload.get("agent_id") or not isinstance(session, str) or not session:
        return ""
    if not workspace.settings.flag("notes"):
        return ""
    words = ["--git-dir", str(workspace.private_path), "cat-file", "blob"]
    words.append(f"{ref_of(workspace.project_id)}:{path_of(session)}")
    try:
        seen = peek(workspace.git, words, cwd=workspace.private_path, seconds=SECONDS, size=BYTES)
    except RepositoryError:
        return ""
    if seen.returncode != 0:
        return ""
    how = f"; all of them: git mem session notes {session}" if is_plain(session) else ""
    said = f"gitmem noted what happened in this session so far, as a record of facts{how}.\n"
    block = notes_within(decode(seen.stdout), room - len(said), source="the notes of this session")
    return f"{said}{block}" if block else ""


def notes_within(text: str, room: int, *, source: str) -> str:
    """The notes as a model may be shown them, within a number of characters; empty where there is no room.

    Args:
        text: all of them.
        source: what they are called.
    """
    sections = filled(text)
    share = room - len(fence_for_model("", source=source)) - 8
    while sections and share > 200:
        kept = tuple(one for one in fit(sections, share // CHARS_A_TOKEN) if one.body)
        block = fence_for_model(render(kept), source=source)
        if kept and len(block) <= room:
            return block
        # What a person could not see is written out, and takes more room.
        share = share // 2
    return ""


def resume_text(found: Resume) -> str:
    """Writes it for a model: facts, and what others wrote fenced as data."""
    who = f", recorded by {found.client}" if found.client else ""
    parts = [f"# Where session {one_line(found.session, _WIDTH)} stood{who}\n"]
    code = [f"branch {one_line(found.branch, _WIDTH)}"] if found.branch else []
    code += [f"commit {one_line(found.commit, 64)}"] if found.commit else []
    facts = [f"Code: {', '.join(code)}"] if code else []
    facts += [f"Last said: {_moment(found.said)}"] if found.said else []
    facts += [f"Last noted: {_moment(found.noted)}"] if found.noted else []
    parts += ["\n".join(facts) + "\n"] if facts else []
    parts += [fence_for_model(render(found.notes), source="its notes")] if found.notes else []
    return "\n".join(parts)


def filled(text: str) -> tuple[Section, ...]:
    """The sections of notes that hold something, without their guidance."""
    return tuple(replace(section, guide="") for section in parse(text) if section.body.strip())


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
