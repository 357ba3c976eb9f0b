"""When nothing is learned: between `pause` and `unpause`, and while a switch of the client's is off.

Pauses are one file, `<common git dir>/gitmem/pauses.json`: `{"version": 1, "pauses": [[from, until], …]}`,
in epoch seconds; `until` is null while nobody has said when it ends. What was said within one is never
extracted, so intervals stay after their end.

A session that ran while extraction was off is noted, `<common git dir>/gitmem/unheard/<session id>`, a JSON
list of `[from, until]` (`until` null while it is off): a job that git's hook leaves in another terminal
knows nothing of that session's environment. Here is the standard library alone: hooks import it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from gitmem.flows.place import DISABLE, is_on
from gitmem.ledger.files import is_own_folder, keep_newest, read_json, read_regular, replace_file
from gitmem.values import dataclass

FILE = "pauses.json"
KEPT = 500
"""Pauses that are told apart; beyond, the oldest two become one that spans both. Of sessions that ran with
extraction off as many are remembered."""

DISABLE_CLIENT = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"
SETTING = "autoMemoryEnabled"
SETTINGS_BYTES = 4 * 1024 * 1024
UNHEARD = "unheard"

_BYTES = 1024 * 1024
_VERSION = 1
_EVER = (0.0, None)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True)
class Pause:
    """A stretch of time out of which nothing is learned.

    Attributes:
        start, end: epoch seconds; the end does not belong to it, and is None where it is open.
    """

    start: float
    end: float | None = None

    def covers(self, moment: float) -> bool:
        """Whether a moment (epoch seconds) lies in it."""
        return self.start <= moment and (self.end is None or moment < self.end)

    def as_value(self) -> dict[str, str | None]:
        """The JSON form: ISO 8601, UTC."""
        from gitmem.core.text import iso  # a verb asks for it; hooks do not wait for what it loads

        return {"since": iso(self.start), "until": None if self.end is None else iso(self.end)}


def intervals(state: Path) -> tuple[Pause, ...]:
    """All pauses, oldest first.

    A file that cannot be read counts as one pause without beginning or end: better to learn nothing than
    what somebody said in confidence.

    Args:
        state: `<common git dir>/gitmem`.
    """
    try:
        found = read_regular(state / FILE, _BYTES)
    except OSError:
        return (Pause(*_EVER),)
    if found is None:
        return ()
    try:
        value = json.loads(found[0])
        if value["version"] != _VERSION:
            return (Pause(*_EVER),)
        return tuple(sorted((_pause(*pair) for pair in value["pauses"]), key=lambda one: one.start))
    except (ValueError, TypeError, KeyError, RecursionError):
        return (Pause(*_EVER),)


def current(state: Path, now: float) -> Pause | None:
    """The pause that holds at a moment (epoch seconds), of several the one that ends last."""
    held = [one for one in intervals(state) if one.covers(now)]
    return max(held, key=lambda one: math.inf if one.end is None else one.end, default=None)


def is_paused(state: Path, now: float) -> bool:
    """Whether nothing may be learned at a moment (epoch seconds)."""
    return current(state, now) is not None


def said_in_pause(pauses: Iterable[Pause], said: float | None, now: float) -> bool:
    """Whether something was said while nothing was to be learned.

    Args:
        said: when; where that is unknown, it counts as said now.
    """
    return any(one.covers(now if said is None else said) for one in pauses)


def pause(state: Path, now: float, until: float | None = None) -> Pause:
    """Begins a pause, or gives the one that holds another end.

    Args:
        until: epoch seconds; None for no end.

    Returns:
        the pause that holds now.

    Raises:
        OSError: it cannot be written.
    """
    known = intervals(state)
    held = [one for one in known if one.covers(now)]
    made = Pause(min([one.start for one in held], default=now), until)
    _write(state, [*(one for one in known if one not in held), made])
    return made


def unpause(state: Path, now: float) -> Pause | None:
    """Ends the pause that holds.

    Returns:
        that pause as it was; None where none holds.

    Raises:
        OSError: it cannot be written.
    """
    held = current(state, now)
    if held is not None:
        known = intervals(state)
        _write(state, [Pause(one.start, now) if one.covers(now) else one for one in known])
    return held


def _write(state: Path, pauses: Iterable[Pause]) -> None:
    joined: list[Pause] = []
    for one in sorted(pauses, key=lambda one: one.start):
        last = joined[-1] if joined else None
        if last is not None and (last.end is None or one.start <= last.end):
            joined[-1] = _spanning(last, one)
        else:
            joined.append(one)
    while len(joined) > KEPT:
        joined[:2] = [_spanning(joined[0], joined[1])]
    value = {"version": _VERSION, "pauses": [[one.start, one.end] for one in joined]}
    state.mkdir(parents=True, exist_ok=True)
    replace_file(state / FILE, (json.dumps(value) + "\n").encode("ascii"), 0o600)


def _spanning(first: Pause, second: Pause) -> Pause:
    ends = (first.end, second.end)
    return Pause(first.start, None if None in ends else max(filter(None, ends), default=first.start))


def _pause(start: object, end: object) -> Pause:
    for one in (start, end):
        if isinstance(one, bool) or not isinstance(one, int | float | None) or not math.isfinite(one or 0):
            raise TypeError("not a time")
    if start is None:
        raise TypeError("not a time")
    return Pause(start, end)  # type: ignore[arg-type]


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
        value = read_json(path, SETTINGS_BYTES)
        if isinstance(value, dict) and value.get(SETTING) is False:
            return f"{SETTING} in {path.parent.name}/{path.name}"
    return ""


def note_switch(state: Path, session: str, *, off: bool, now: float, whole: bool = False) -> None:
    """Notes that a session runs with extraction off, or that it no longer does. Never raises.

    Args:
        state: `<common git dir>/gitmem`.
        session: the client's id of it.
        now: epoch seconds.
        whole: nothing was heard of it before: all that was said so far was said with extraction off.
    """
    path = _unheard_path(state, session)
    if not session or (not off and not path.exists()):
        return
    known = _read_unheard(path)
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
    return _read_unheard(_unheard_path(state, session)) if session else ()


def _unheard_path(state: Path, session: str) -> Path:
    if _PLAIN.fullmatch(session) and session == session.lower():
        return state / UNHEARD / session
    import hashlib

    return state / UNHEARD / hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()


def _read_unheard(path: Path) -> tuple[Pause, ...]:
    try:
        found = read_regular(path, SETTINGS_BYTES)
        pairs = json.loads(found[0]) if found else []
        return tuple(Pause(float(start), None if end is None else float(end)) for start, end in pairs)
    except (OSError, ValueError, TypeError, RecursionError):
        # Better to learn nothing than what was said with extraction off.
        return (Pause(0.0),)
