"""How far the dream of a scope has come: a note that is there while the dream goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gitmem.core.text import counted, one_line
from gitmem.dream.lock import last_dream, taker
from gitmem.engines.engine import Step
from gitmem.git.locks import ProcessIdentity, process_identity
from gitmem.ledger.state import Space, of_folder
from gitmem.ledger.workspace import Scope, ScopeName

_RUNNING = Space("dream running", 100, ("dream/*/progress.json",), of_folder)
"""By memory ref, how far the process is that dreams of it."""

FILES_NAMED = 50
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
    """Keeps the note of this process's own dream. Best effort: it only serves to be shown."""

    def __init__(self, scope: Scope, engine: str) -> None:
        self._scope = scope
        self._fixed = {"process": str(process_identity()), "engine": engine}

    def tell(self, step: Step) -> None:
        """Notes how far it is."""
        fields = {
            **self._fixed,
            "phase": step.phase,
            "turn": step.turn,
            "turns": step.turns,
            "changed": len(step.files),
            "files": [one_line(path, _WIDTH) for path in step.files[:FILES_NAMED]],
        }
        _RUNNING.put(self._scope.state, self._scope.ref, fields)

    def remove(self) -> None:
        """Takes the note away: the dream is over."""
        clear(self._scope)


def running(scope: Scope) -> Running | None:
    """The dream of a scope that goes on; what one that died left behind is none."""
    process = taker(scope)
    if process is None:
        return None
    since = last_dream(scope)
    value = _RUNNING.get(scope.state, scope.ref)
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
    _RUNNING.delete(scope.state, scope.ref)


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
