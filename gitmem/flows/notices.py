"""What a person is told once: memories that were saved, finds and dreams that wait for them.

The worker leaves a note, `<common git dir>/gitmem/say/<session id>.<job>.json`; the session's next hook
takes it, or the next start of a session in this repository. What is about no session, as a dream, the next
hook of any takes. Names alone are in it, never what they say. Here is the standard library alone: hooks
import it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.flows.place import SAID
from gitmem.ledger.files import read_regular, replace_file

ANY = "any-session"
"""Stands for the session where a note is for whoever comes next."""

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
    short = [name[:NAME_CHARS] for name in saved[: NAMES_SHOWN + 1]]
    _leave(state, session, job, {"saved": short, "count": len(saved), "waiting": waiting})


def leave_proposal(state: Path, dream: str, changes: int) -> None:
    """Leaves a note that a dream waits for review.

    Args:
        dream: its id.
        changes: how many it proposes.
    """
    _leave(state, ANY, _proposal(dream), {"dream": dream, "changes": changes})


def withdraw_proposal(state: Path, dream: str) -> None:
    """Takes that note back, where nobody was told yet: the dream is decided."""
    with suppress(OSError):
        (state / SAID / f"{ANY}.{_proposal(dream)}.json").unlink(missing_ok=True)


def take(state: Path, session: str, *, all_sessions: bool = False) -> str:
    """Takes the notes for a session, or all, and says them in one line; empty where there is none.

    Each note is taken by one process alone.
    """
    said = _Said()
    folder = state / SAID
    for path in _notes(folder):
        if not all_sessions and path.name.partition(".")[0] not in (_plain(session), ANY):
            continue
        mine = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            path.rename(mine)
            found = read_regular(mine, _BYTES)
            mine.unlink()
            said.hear(json.loads(found[0]) if found else {})
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue
    return said.sentence()


class _Said:
    """What the notes that were taken say together."""

    def __init__(self) -> None:
        self.saved: list[str] = []
        self.dreams: list[str] = []
        self.count = self.waiting = 0

    def hear(self, value: Mapping[str, Any]) -> None:
        if "dream" in value:
            changes = int(value["changes"])
            what = f"{changes} {'change' if changes == 1 else 'changes'}"
            self.dreams.append(f"A dream proposes {what}: git mem review show {_plain(value['dream'])}")
        else:
            self.saved += [str(name) for name in value["saved"]]
            self.count += int(value["count"])
            self.waiting += int(value["waiting"])

    def sentence(self) -> str:
        # After a command comes no full stop, which would be copied with it.
        open_ends = list(self.dreams)
        if self.waiting:
            what = "find waits" if self.waiting == 1 else "finds wait"
            open_ends.insert(0, f"{self.waiting} {what}: git mem review")
        return " ".join(filter(None, [_memories(self.saved, self.count), " · ".join(open_ends)]))


def _memories(names: Sequence[str], count: int) -> str:
    if not count:
        return ""
    more = f" and {count - NAMES_SHOWN} more" if count > NAMES_SHOWN else ""
    return (
        f"Saved {count} {'memory' if count == 1 else 'memories'}: {', '.join(names[:NAMES_SHOWN])}{more}."
    )


def _proposal(dream: str) -> str:
    return f"dream-{_plain(dream)}"


def _leave(state: Path, session: str, job: str, value: Mapping[str, Any]) -> None:
    folder = state / SAID
    with suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        replace_file(folder / f"{_plain(session)}.{_plain(job)}.json", json.dumps(value).encode(), 0o600)
        notes = _notes(folder)
        for old in notes[: max(0, len(notes) - KEPT)]:
            old.unlink(missing_ok=True)


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
