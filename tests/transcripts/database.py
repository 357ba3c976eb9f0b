"""OpenCode's database in the making: what the client recorded, and more rows of the same shape."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).parents[1] / "fixtures/sessions/opencode.sql"
SESSION = "ses_df8664104ffeOz1VVm9w3FDShu"
BEGUN = 1_795_424_000_000


class Database:
    """The client's folder with its database; each call adds rows."""

    def __init__(self, folder: Path, cwd: str = "/home/dev/app", *, recorded: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "opencode.db"
        self.count = 0
        lines = RECORDED.read_text().replace("/home/dev/app", cwd)
        rows = "" if recorded else "DELETE FROM session; DELETE FROM message; DELETE FROM part;"
        self.run(lines + rows)

    def run(self, script: str, *given: Any) -> None:
        with closing(sqlite3.connect(self.path)) as base, base:
            base.execute("PRAGMA journal_mode = WAL")
            if given:
                base.execute(script, given)
            else:
                base.executescript(script)

    def session(self, id: str, cwd: str, parent: str | None = None) -> Path:
        """A session without messages; returns its place."""
        self.run(
            "INSERT INTO session (id, project_id, parent_id, slug, directory, title, version, time_created,"
            " time_updated) VALUES (?, 'global', ?, 's', ?, 't', '1.18.33', ?, ?)",
            *(id, parent, cwd, BEGUN, BEGUN),
        )
        return self.path / id

    def message(self, role: str, *parts: dict[str, Any], session: str = SESSION, **more: Any) -> str:
        """A message of a second after the one before, with its parts; returns its id."""
        self.count += 1
        created = BEGUN + 1_000 * self.count
        id = f"msg_{created % 16**9:09x}{self.count:03x}abcdefghijklmn"
        time = {"created": created, **({"completed": created + 9} if role == "assistant" else {})}
        data = {"role": role, "time": time, **more}
        self.run(
            "INSERT INTO message VALUES (?, ?, ?, ?, ?)", id, session, created, created, json.dumps(data)
        )
        self.parts(id, *parts, session=session)
        return id

    def parts(self, message: str, *parts: dict[str, Any], session: str = SESSION) -> None:
        """Parts of a message, as the client adds them later."""
        for number, part in enumerate(parts):
            values = (f"prt_{message}{number:04}", message, session, BEGUN, BEGUN, json.dumps(part))
            self.run("INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", *values)

    def prompt(self, text: str, session: str = SESSION) -> str:
        return self.message("user", typed(text), session=session)


def typed(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def call(tool: str, input: dict[str, Any], **state: Any) -> dict[str, Any]:
    done = {"status": "completed", "input": input, "output": "ok", "metadata": {}, **state}
    return {"type": "tool", "tool": tool, "callID": "c1", "state": done}
