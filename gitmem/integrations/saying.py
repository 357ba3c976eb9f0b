"""What a person is told once: which memories the worker saved, and how many finds wait for them.

The worker leaves a note, `<common git dir>/gitmem/say/<session id>.<job>.json`; the session's next hook
takes it, or the next start of a session in this repository. Names alone are in it, never what they say.
Here is the standard library alone: hooks import it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.integrations.place import read_regular, replace_file

FOLDER = "say"
KEPT = 50
NAMES_SHOWN = 5
NAME_CHARS = 60

_BYTES = 64 * 1024
_UNFIT = re.compile(r"[^A-Za-z0-9_.-]")


def leave(state: Path, session: str, job: str, saved: Sequence[str], waiting: int) -> None:
    """Leaves a note for the person; of one job there is one. Best effort: nothing depends on it.

    Args:
        state: `<common git dir>/gitmem`.
        session: id of the recorded session.
        job: id of the extraction.
        saved: names of the memories that were stored, fit to be shown.
        waiting: finds that were parked for review.
    """
    if not saved and not waiting:
        return
    folder = state / FOLDER
    names = [name[:NAME_CHARS] for name in saved[: NAMES_SHOWN + 1]]
    value = {"saved": names, "count": len(saved), "waiting": waiting}
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(folder / f"{_plain(session)}.{_plain(job)}.json", json.dumps(value).encode(), 0o600)
        notes = _notes(folder)
        for old in notes[: max(0, len(notes) - KEPT)]:
            old.unlink(missing_ok=True)


def take(state: Path, session: str, *, all_sessions: bool = False) -> str:
    """Takes the notes of a session, or all, and says them in one line; empty where there is none.

    Each note is taken by one process alone.
    """
    names: list[str] = []
    count = waiting = 0
    folder = state / FOLDER
    for path in _notes(folder):
        if not all_sessions and path.name.partition(".")[0] != _plain(session):
            continue
        mine = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.rename(mine)
            found = read_regular(mine, _BYTES)
            mine.unlink()
            value = json.loads(found[0]) if found else {}
            names += [str(name) for name in value["saved"]]
            count += int(value["count"])
            waiting += int(value["waiting"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return _sentence(names, count, waiting)


def _sentence(names: Sequence[str], count: int, waiting: int) -> str:
    parts = []
    if count:
        shown = ", ".join(names[:NAMES_SHOWN])
        more = f" and {count - NAMES_SHOWN} more" if count > NAMES_SHOWN else ""
        parts.append(f"Saved {count} {'memory' if count == 1 else 'memories'}: {shown}{more}.")
    if waiting:
        parts.append(f"{waiting} {'find waits' if waiting == 1 else 'finds wait'}: git mem review")
    return " ".join(parts)


def _notes(folder: Path) -> list[Path]:
    """Notes, oldest first."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat(follow_symlinks=False).st_mtime_ns, entry.name)
                for entry in entries
                if entry.name.endswith(".json") and not entry.name.startswith(".")
            ]
    except OSError:
        return []
    return [folder / name for _, name in sorted(found)]


def _plain(word: str) -> str:
    return _UNFIT.sub("-", word)[:128].replace(".", "-") or "unknown"
