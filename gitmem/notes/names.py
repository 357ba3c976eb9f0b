"""What the notes of a session are called in the private repository."""

from __future__ import annotations

import hashlib
import re

FAMILY = "refs/heads/sessions/"
"""Beginning of the refs of notes, which end in a project id."""

FOLDER = "main"

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


def is_plain(session: str) -> bool:
    """Whether the id of a session is a plain word."""
    return _PLAIN.fullmatch(session) is not None


def ref_of(project_id: str) -> str:
    """The ref of a project's notes."""
    return f"{FAMILY}{project_id}"


def path_of(session: str) -> str:
    """Where the notes of a session stand in the tree; an id that could be no file's name is hashed."""
    hashed = hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
    return f"{FOLDER}/{session if is_plain(session) else f'x-{hashed}'}.md"
