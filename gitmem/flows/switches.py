"""What switches extraction off: variables, a client's settings, and the sessions that ran under them.

A session that ran while it was off is noted, `<common git dir>/gitmem/unheard/<session id>`, a JSON list of
`[from, until]` in epoch seconds (`until` null while it is off): a job that git's hook leaves in another
terminal knows nothing of that session's environment. Here is the standard library alone: hooks import it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.flows.pause import Pause
from gitmem.flows.place import DISABLE, is_on
from gitmem.ledger.files import is_own_folder, keep_newest, read_json, read_regular, replace_file

DISABLE_CLIENT = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
SETTING = "autoMemoryEnabled"
FOLDER = "unheard"
KEPT = 500
"""Sessions of which it is remembered that they ran with extraction off."""

_BYTES = 4 * 1024 * 1024
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def switched_off(environ: Mapping[str, str], config: Path, worktree: Path | None) -> str:
    """Names what switches extraction off; empty where nothing does.

    A setting counts wherever it stands, also in a file that a repository brings along: it can only switch
    off.

    Args:
        config: the client's folder.
        worktree: top of the work tree; None where there is none.
    """
    for name in (DISABLE, DISABLE_CLIENT):
        if is_on(environ.get(name)):
            return name
    places = [config / "settings.json"]
    if worktree is not None:
        places += [worktree / ".claude" / name for name in ("settings.json", "settings.local.json")]
    for path in places:
        value = read_json(path, _BYTES)
        if isinstance(value, dict) and value.get(SETTING) is False:
            return f"{SETTING} in {path.parent.name}/{path.name}"
    return ""


def note(state: Path, session: str, *, off: bool, now: float, whole: bool = False) -> None:
    """Notes that a session runs with extraction off, or that it no longer does. Never raises.

    Args:
        state: `<common git dir>/gitmem`.
        session: the client's id of it.
        now: epoch seconds.
        whole: nothing was heard of it before: all that was said so far was said with extraction off.
    """
    path = _path(state, session)
    if not session or (not off and not path.exists()):
        return
    known = _read(path)
    if bool(known and known[-1].end is None) == off:
        return
    if off:
        made = [*known, Pause(0.0 if whole and not known else now)]
    else:
        made = [*known[:-1], Pause(known[-1].start, now)]
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        replace_file(path, json.dumps([[one.start, one.end] for one in made]).encode(), 0o600)
        files = list(path.parent.iterdir())
        if len(files) > KEPT and is_own_folder(path.parent):
            keep_newest(files, KEPT)


def unheard(state: Path, session: str) -> tuple[Pause, ...]:
    """When a session ran with extraction off."""
    return _read(_path(state, session)) if session else ()


def _path(state: Path, session: str) -> Path:
    if _PLAIN.fullmatch(session) and session == session.lower():
        return state / FOLDER / session
    import hashlib

    return state / FOLDER / hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def _read(path: Path) -> tuple[Pause, ...]:
    try:
        found = read_regular(path, _BYTES)
        pairs = json.loads(found[0]) if found else []
        return tuple(Pause(float(start), None if end is None else float(end)) for start, end in pairs)
    except (OSError, ValueError, TypeError, RecursionError):
        # Better to learn nothing than what was said with extraction off.
        return (Pause(0.0),)
