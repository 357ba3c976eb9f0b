"""What a person decided last that no commit of memory tells, and the command that takes each back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitmem.ledger.files import write_atomically

FILE = "decided.json"
"""In a clone's state: `[[1763942400, "git mem undo i-1a2b3c-4d5e6f"], …]`, the oldest first."""

KEPT = 20


def note(state: Path, now: float, commands: Iterable[str]) -> None:
    """Notes how decisions are taken back that were made just now."""
    added = [(int(now), command) for command in commands]
    if added:
        _write(state, [*_read(state), *added][-KEPT:])


def last(state: Path, since: float) -> str | None:
    """The command that takes back what was decided last, where that was not before a moment."""
    time, command = next(reversed(_read(state)), (0, ""))
    return command if command and time >= since else None


def forget(state: Path, command: str) -> None:
    """Forgets a decision that was taken back by this command."""
    known = _read(state)
    left = [each for each in known if each[1] != command]
    if left != known:
        _write(state, left)


def _read(state: Path) -> list[tuple[int, str]]:
    with suppress(OSError, ValueError, TypeError):
        return [(int(time), str(command)) for time, command in json.loads((state / FILE).read_bytes())]
    return []


def _write(state: Path, known: list[tuple[int, str]]) -> None:
    write_atomically(state / FILE, (json.dumps(known) + "\n").encode())
