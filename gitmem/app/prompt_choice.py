"""What a model chose for a session's last prompt: kept until the next prompt's hook adds it.

Places and object names alone, beside the private repository: nothing of what memories say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gitmem.core.limits import RECALLED
from gitmem.ledger import session_files
from gitmem.ledger.files import read_json
from gitmem.search.query import Candidate

_BYTES = 256 * 1024
_TEXTS = ("ref", "agent", "path", "blob")


def keep(state: Path, session: str, chosen: Sequence[Candidate]) -> None:
    """Keeps a choice in place of the one before.

    Args:
        state: `Workspace.private_state`.
        session: as `session_files.session_of` gives it.
        chosen: best first; none takes the old choice away.
    """
    if not chosen:
        drop(state, session)
        return
    rows = [
        {key: value for key, value in asdict(one).items() if key in (*_TEXTS, "time")} for one in chosen
    ]
    session_files.write(state / session_files.CHOSEN / session, json.dumps(rows[:RECALLED]).encode("ascii"))


def take(state: Path, session: str) -> tuple[Candidate, ...]:
    """Gives the choice that waits for a session, once."""
    rows = read_json(state / session_files.CHOSEN / session, _BYTES)
    drop(state, session)
    return tuple(_candidates(rows if isinstance(rows, list) else []))


def drop(state: Path, session: str) -> None:
    """Forgets the choice that waits."""
    with suppress(OSError):
        (state / session_files.CHOSEN / session).unlink(missing_ok=True)


def _candidates(rows: Iterable[Any]) -> Iterable[Candidate]:
    for row in rows:
        if not isinstance(row, dict):
            continue
        texts = {key: row.get(key) for key in _TEXTS}
        time = row.get("time")
        if all(isinstance(text, str) for text in texts.values()) and isinstance(time, int):
            yield Candidate(
                **texts,  # type: ignore[arg-type]
                time=time,
                score=0.0,
                parts={},
                name="",
                description="",
                type="",
                archived=False,
            )
