"""A small session in the form in which Claude Code records one, written where the client would."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gitmem.transcripts.claude_home import slug

SESSION = "d3300000-0000-4000-8000-000000000001"
VERSION = "2.1.197"
TURN_SECONDS = 60

SPOKEN: tuple[tuple[str, str], ...] = (
    (
        "Please add a command that lists the orders of one day.",
        "I added `orders_of_day` to app.py.",
    ),
    (
        "Remember that the staging database is wiped every Sunday night, so never leave test data there.",
        "I will keep that in mind.",
    ),
    (
        "No, don't mock the database in tests, the mocks hid a broken migration.",
        "Understood, tests will use the real database.",
    ),
)
"""(what the person says, what the agent answers): a task, something to remember, a correction."""


def write_session(
    config: Path, cwd: Path, start: float, spoken: Sequence[tuple[str, str]] = SPOKEN
) -> Path:
    """Writes a recorded session into the client's folder.

    Args:
        config: the client's folder, `~/.claude`.
        cwd: real path of the directory that the session ran in.
        start: epoch seconds of the first prompt; each turn takes a minute.
        spoken: turns of person and agent.

    Returns:
        The transcript.
    """
    folder = config / "projects" / slug(cwd)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{SESSION}.jsonl"
    lines = [json.dumps(record, ensure_ascii=False) for record in _records(cwd, start, spoken)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    ended = start + len(spoken) * TURN_SECONDS
    os.utime(path, (ended, ended))
    return path


def _records(cwd: Path, start: float, spoken: Sequence[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    parent: str | None = None
    for number, (said, answer) in enumerate(spoken):
        for offset, kind, message in (
            (0, "user", {"role": "user", "content": said}),
            (TURN_SECONDS // 2, "assistant", _answer(answer, number)),
        ):
            uuid = f"d3300000-0000-4000-9000-{2 * number + bool(offset):012x}"
            time = datetime.fromtimestamp(start + number * TURN_SECONDS + offset, UTC)
            yield {
                "parentUuid": parent,
                "isSidechain": False,
                "userType": "external",
                "cwd": str(cwd),
                "sessionId": SESSION,
                "version": VERSION,
                "gitBranch": "main",
                "type": kind,
                "message": message,
                "uuid": uuid,
                "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            }
            parent = uuid


def _answer(text: str, number: int) -> dict[str, Any]:
    return {
        "id": f"msg_{number:08d}",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
    }
