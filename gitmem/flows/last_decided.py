"""What a person decided last that no commit of memory tells, and the command that takes each back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gitmem.ledger.files import read_json
from gitmem.ledger.state import Space

_BYTES = 64 * 1024


def _former(path: Path) -> Mapping[str, Any]:
    """`[[1763942400, "git mem undo i-1a2b3c-4d5e6f"], …]`, the oldest first."""
    rows = read_json(path, _BYTES)
    pairs = [row for row in rows if isinstance(row, list)] if isinstance(rows, list) else []
    return {str(row[1]): row[0] for row in pairs if len(row) == 2}


_DECIDED = Space("decided", 20, ("decided.json",), _former)
"""In a clone's state: commands, and when what they take back was decided, in epoch seconds."""


def note(state: Path, now: float, commands: Iterable[str]) -> None:
    """Notes how decisions are taken back that were made just now."""
    for command in commands:
        _DECIDED.put(state, command, int(now))


def last(state: Path, since: float) -> str | None:
    """The command that takes back what was decided last, where that was not before a moment."""
    command, time = next(reversed(_DECIDED.all(state).items()), ("", 0))
    return command if isinstance(time, int | float) and time >= since and command else None


def forget(state: Path, command: str) -> None:
    """Forgets a decision that was taken back by this command."""
    _DECIDED.delete(state, command)
