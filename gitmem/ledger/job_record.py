"""What ran in the background, kept as lines of JSON in `<common git dir>/gitmem/jobs.jsonl`.

One line a run, the newest few hundred. No text of a session is in it, and no secret.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitmem.core.errors import GitmemError
from gitmem.core.trailers import Usage
from gitmem.ledger.files import read_regular
from gitmem.rules.redaction import Hole, line, suspects

FILE = "jobs.jsonl"
BYTES = 256 * 1024
"""Twice this is the most that the file ever holds."""
LINES = 20
"""Log lines, and skipped sessions, that are kept of one run."""
WIDTH = 200


@dataclass
class Tally:
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
def recorded(state: Path, tally: Tally, now: float, clock: Any) -> Iterator[None]:
    """Writes a run's line when it ends, with the error that ended it.

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
        _append(state / FILE, json.dumps(run).encode("ascii") + b"\n")


def read_runs(state: Path) -> list[dict[str, Any]]:
    """The runs that are remembered, oldest first; damaged lines are passed over."""
    try:
        found = read_regular(state / FILE, 4 * BYTES)
    except OSError:
        return []
    runs = []
    for each in found[0].splitlines() if found else []:
        with suppress(ValueError, RecursionError):
            value = json.loads(each)
            if isinstance(value, dict) and isinstance(value.get("events"), list):
                runs.append(value)
    return runs


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


def _append(path: Path, run: bytes) -> None:
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with suppress(OSError), os.fdopen(os.open(path, flags, 0o600), "r+b", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size + len(run) > 2 * BYTES:
            file.seek(size - BYTES)
            kept = file.read(BYTES).partition(b"\n")[2]
            file.truncate(0)
            file.write(kept)
        elif size:
            # What a killed worker left half-written ends here.
            file.seek(size - 1)
            if file.read(1) != b"\n":
                run = b"\n" + run
        file.write(run)
