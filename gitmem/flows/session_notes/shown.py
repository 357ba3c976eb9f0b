"""What a session is told of its notes when it starts again: one bounded look, nothing where it fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gitmem.core.errors import RepositoryError
from gitmem.core.text import decode
from gitmem.git.command import peek
from gitmem.ledger.workspace import Workspace
from gitmem.notes.names import is_plain, path_of, ref_of
from gitmem.notes.telling import notes_within

SECONDS = 1.0
"""How long a look may take; it needs some five milliseconds."""

BYTES = 256 * 1024


def notes_at_start(workspace: Workspace, payload: Mapping[str, Any], room: int) -> str:
    """The notes of the session that starts again, as data.

    Args:
        payload: the client's JSON for SessionStart.
        room: characters that there are.

    Returns:
        Empty where there are none, or where notes are switched off.
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
