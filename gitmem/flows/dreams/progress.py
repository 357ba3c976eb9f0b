"""How far the dream of a scope has come: a small file beside its lock, there while the dream goes on."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from gitmem.core.text import counted, one_line
from gitmem.dream.lock import last_dream, lock_folder, taker
from gitmem.engines.engine import Step
from gitmem.git.locks import ProcessIdentity, process_identity
from gitmem.ledger.files import read_json, write_atomically
from gitmem.ledger.workspace import Scope, ScopeName

FILE = "progress.json"
FILES_NAMED = 50
_BYTES = 64 * 1024
_WIDTH = 300


@dataclass(frozen=True)
class Running:
    """A dream that goes on.

    Attributes:
        since: when it took the lock, epoch seconds.
        engine: who thinks; empty where that is not known yet.
        phase: `orient`, `gather`, `consolidate`, `prune` or `check`; empty before the first.
        turn: request to a model, from 1; 0 where none was asked.
        turns: the most that there may be.
        changed: how many files were changed so far.
        files: their paths, the first of them.
    """

    scope: ScopeName
    process: ProcessIdentity
    since: float
    engine: str = ""
    phase: str = ""
    turn: int = 0
    turns: int = 0
    changed: int = 0
    files: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Phase, turn and files in words."""
        return words(self.phase or "beginning", self.turn, self.turns, self.changed)


class Record:
    """Keeps the file of this process's own dream. Best effort: it only serves to be shown."""

    def __init__(self, scope: Scope, engine: str) -> None:
        self._path = lock_folder(scope) / FILE
        self._fixed = {"process": str(process_identity()), "engine": engine}

    def tell(self, step: Step) -> None:
        """Writes how far it is."""
        fields = {
            **self._fixed,
            "phase": step.phase,
            "turn": step.turn,
            "turns": step.turns,
            "changed": len(step.files),
            "files": [one_line(path, _WIDTH) for path in step.files[:FILES_NAMED]],
        }
        with suppress(OSError):
            write_atomically(self._path, json.dumps(fields).encode())

    def remove(self) -> None:
        """Takes the file away: the dream is over."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


def running(scope: Scope) -> Running | None:
    """The dream of a scope that goes on; what one that died left behind is none."""
    process = taker(scope)
    if process is None:
        return None
    since = last_dream(scope)
    value = read_json(lock_folder(scope) / FILE, _BYTES)
    if not isinstance(value, dict) or ProcessIdentity.parse(str(value.get("process"))) != process:
        return Running(scope.name, process, since)
    return Running(
        scope.name,
        process,
        since,
        one_line(str(value.get("engine", "")), _WIDTH),
        one_line(str(value.get("phase", "")), _WIDTH),
        _number(value.get("turn")),
        _number(value.get("turns")),
        _number(value.get("changed")),
        tuple(one_line(str(path), _WIDTH) for path in _list(value.get("files"))),
    )


def clear(scope: Scope) -> None:
    """Takes away what a process that is gone left."""
    with suppress(OSError):
        (lock_folder(scope) / FILE).unlink(missing_ok=True)


def words(phase: str, turn: int, turns: int, changed: int) -> str:
    """A step as people read it: `consolidate, turn 2 of 5, 3 files changed`."""
    parts = [phase]
    if turn:
        parts.append(f"turn {turn} of {turns}" if turns else f"turn {turn}")
    if changed:
        parts.append(f"{counted(changed, 'file')} changed")
    return ", ".join(parts)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _list(value: Any) -> list[Any]:
    return value[:FILES_NAMED] if isinstance(value, list) else []
