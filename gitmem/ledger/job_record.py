"""What ran in the background: one entry a run, the newest few hundred.

No text of a session is in it, and no secret.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitmem.core.errors import GitmemError
from gitmem.core.trailers import Usage
from gitmem.ledger.state import Space
from gitmem.rules.redaction import Hole, line, suspects

KEPT = 400
"""Runs; each has at most some 10 KB, and most have half of one."""
LINES = 20
"""Log lines, and skipped sessions, that are kept of one run."""
WIDTH = 200

_RUNS = Space("run", KEPT)


@dataclass
class RunTally:
    """What one run did, while it goes on.

    Attributes:
        events: what started it.
        sessions: how many had something new.
        stored, forgotten, suggested, refused: memories.
        noted: sessions of which notes were taken.
        engine: who was asked; empty where nobody was.
        usage: what that cost.
        skipped: (what, why).
        dreamt: scope, what came of its dream (`made`, `nothing`, `held` by a gate, `failed`), and why.
        log: what an engine tried and was refused, what commits asked for in vain, what a command says.
    """

    events: tuple[str, ...] = ()
    jobs: int = 0
    sessions: int = 0
    stored: int = 0
    forgotten: int = 0
    suggested: int = 0
    refused: int = 0
    noted: int = 0
    engine: str = ""
    usage: Usage | None = None
    skipped: list[tuple[str, str]] = field(default_factory=list)
    dreamt: list[tuple[str, str, str]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def skip(self, what: str, why: str) -> None:
        """Notes what was not done."""
        self.skipped.append((what, why))

    def spent(self, usage: Usage | None) -> None:
        """Adds what an engine used."""
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage


@contextmanager
def recorded(state: Path, tally: RunTally, now: float, clock: Any) -> Iterator[None]:
    """Keeps a run when it ends, with the error that ended it.

    Args:
        state: `<common git dir>/gitmem`.
        now: epoch seconds, when it began.
        clock: gives seconds that only grow.
    """
    began = clock()
    error: dict[str, str] | None = None
    try:
        yield
    except Exception as caught:
        kind = caught.kind if isinstance(caught, GitmemError) else type(caught).__name__
        hint = caught.hint if isinstance(caught, GitmemError) else ""
        error = {"kind": kind, "message": fit(str(caught)), "hint": fit(hint)}
        raise
    finally:
        run: dict[str, Any] = {
            "time": datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "seconds": round(clock() - began, 3),
            "events": [fit(event) for event in tally.events],
            "jobs": tally.jobs,
            "sessions": tally.sessions,
            "stored": tally.stored,
            "forgotten": tally.forgotten,
            "suggested": tally.suggested,
            "refused": tally.refused,
            "noted": tally.noted,
            "engine": fit(tally.engine),
            "usage": asdict(tally.usage) if tally.usage else None,
            "skipped": [{"what": fit(what), "why": fit(why)} for what, why in tally.skipped[:LINES]],
            "dreams": [
                {"scope": scope, "outcome": outcome, "why": fit(why)}
                for scope, outcome, why in tally.dreamt
            ],
            "log": [fit(text) for text in tally.log[:LINES]],
            "error": error,
        }
        # Where gitmem is not set up, nothing is left.
        if state.is_dir():
            _RUNS.put(state, f"{run['time']} {os.urandom(8).hex()}", run)


def read_runs(state: Path) -> list[dict[str, Any]]:
    """The runs that are remembered, oldest first; damaged ones are passed over."""
    found = _RUNS.all(state).values()
    return [run for run in found if isinstance(run, dict) and isinstance(run.get("events"), list)]


def fit(text: str) -> str:
    """A text as it may stand in a record or a log: one line, without secrets."""
    return line(text, WIDTH, records) if text else ""


def records(text: str) -> Sequence[Hole]:
    """Finds all that a log or record is not to hold: what only warns and what is allowed, too."""
    from gitmem.rules.secrets import DetectorUnavailable, find_secrets

    try:
        return [(*span, one.rule) for one in find_secrets(text) for span in one.spans]
    except DetectorUnavailable:
        return suspects(text)
