"""Small files by session in a repository's state: what it was shown, what was chosen for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.ledger.files import is_own_folder, keep_newest, read_regular, write_atomically

SESSIONS_KEPT = 64
"""Files that a folder keeps: those of the sessions that were active last."""

SHOWN = "shown"
"""Folder of what sessions were shown with a prompt: object names, one a line."""

AT_ACTION = "told-at-action"
"""Folder of what they were told at an action."""

REMINDERS = "reminders"
"""Folder of what agents are to be told of (`reminders`), looked for before that is loaded."""

CHOSEN = "picked"
"""Folder of what a model chose for the prompt before (`app.prompt_choice`)."""

SHOWN_KEPT = 500
"""Memories that a session is remembered to have seen: a hundred prompts' worth."""

_BYTES = 256 * 1024
_PLAIN = re.compile(r"[A-Za-z0-9_-]{1,64}")


def session_of(payload: Mapping[str, Any]) -> str:
    """Whose context a hook adds to: the session, or a subagent in it, which sees nothing of the other.

    Args:
        payload: the client's JSON.

    Returns:
        A plain word; a name that is none is hashed.
    """
    session = str(payload.get("session_id") or "unknown")
    agent = payload.get("agent_id")
    name = f"{session}.{agent}" if agent else session
    return plain(name)


def plain(name: str) -> str:
    """A name as that of a file."""
    if _PLAIN.fullmatch(name):
        return name
    return hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()


def write(file: Path, data: bytes, kept: int = 0) -> bool:
    """Writes a session's file and drops those of sessions long gone; trouble is borne.

    Args:
        kept: files that the folder keeps; 0 for `SESSIONS_KEPT`.

    Returns:
        Whether it is there now.
    """
    written = False
    with suppress(OSError):
        if not is_own_folder(file.parent):
            return False
        write_atomically(file, data)
        written = True
        files = [each for each in file.parent.iterdir() if not each.name.startswith(".")]
        keep_newest(files, kept or SESSIONS_KEPT)
    return written


def read_keys(state: Path, session: str, folder: str = SHOWN) -> list[str]:
    """Object names of the memories that a session was shown, or keys of what it was told, oldest first.

    Args:
        state: `<common git dir>/gitmem`.
        session: as `session_of` gives it.
        folder: `SHOWN`, `AT_ACTION`, or another of the state's.
    """
    try:
        found = read_regular(state / folder / session, _BYTES)
    except OSError:
        return []
    return found[0].decode("ascii", "replace").split()[-SHOWN_KEPT:] if found else []


def remember(state: Path, session: str, blobs: list[str], folder: str = SHOWN) -> bool:
    """Keeps what a session was shown, and tells whether that could be written."""
    lines = "".join(f"{blob}\n" for blob in blobs[-SHOWN_KEPT:])
    return write(state / folder / session, lines.encode())


def forget(state: Path, session: str) -> None:
    """Forgets what a session was shown: its model no longer has it."""
    for folder in (SHOWN, AT_ACTION):
        with suppress(OSError):
            (state / folder / session).unlink(missing_ok=True)
