"""Notes and documents by the claude-code engine, with a program that plays the client."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from deploys import Counted

from gitmem.core.errors import EngineError
from gitmem.core.session_notes import TEMPLATE
from gitmem.engines.claude_code import ClaudeCodeEngine, ForkSettings
from gitmem.engines.engine import Document, DocumentInput, Notes, NotesInput, Stale
from gitmem.transcripts.model import Message

SESSION = "01234567-89ab-4def-8123-456789abcdef"
NOW = 1_795_000_000.0
SAID = (Message("u1", "person", "Make the importer read CSV", None, "prompt"),)
GUIDE = "_What is in hand at this moment, what is still open, and the very next step._"
CANARY = {"tool": "Bash", "input": {"command": "true {nonce}"}}
NOTES, DOC = "{memory}/local/main/session-notes.md", "{memory}/local/main/document.md"
TEXT = "# MAGIC DOC: App\n\nThe store is `src/store.py`.\nIt is small.\n"
STALE = Stale(3, "src/store.py", "file", "src/base.py", "renamed")


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"tool": "Edit", "input": {"file_path": path, "old_string": old, "new_string": new}}


def write(path: str, text: str = "x") -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": path, "content": text}}


STATE = edit(NOTES, GUIDE, f"{GUIDE}\nThe reader is next.")


@dataclass(frozen=True)
class Ground:
    root: Path
    meter: Counted

    @property
    def program(self) -> Path:
        return self.root / "bin/claude"

    @property
    def transcript(self) -> Path:
        return self.root / f"home/.claude/projects/-app/{SESSION}.jsonl"

    @property
    def given(self) -> NotesInput:
        return NotesInput(
            "s", SAID, 0, TEMPLATE, transcript=self.transcript, worktree=self.root / "app", now=NOW
        )

    def engine(self, **more: Any) -> ClaudeCodeEngine:
        environ = {"HOME": str(self.root / "home"), "PATH": os.environ["PATH"]}
        given = {"timeout": 30, "dream_timeout": 30, "temp": self.root / "temp", **more}
        return ClaudeCodeEngine(ForkSettings(str(self.program), environ, **given), self.meter)

    def plan(self, **plan: Any) -> None:
        Path(f"{self.program}.json").write_text(json.dumps({"result": "done", **plan}))

    def sum_up(self, *calls: dict[str, Any], **more: Any) -> Notes:
        self.plan(calls=[CANARY, *calls])
        try:
            return self.engine(**more).sum_up(self.given)
        finally:
            assert list((self.root / "temp").iterdir()) == []

    def document(self, *rounds: tuple[list[dict[str, Any]], str], text: str = TEXT) -> Document:
        self.plan(rounds=[{"calls": calls, "result": result} for calls, result in rounds])
        given = DocumentInput(
            "docs/app.md", text, "App", "", "", (STALE,), worktree=self.root / "app", now=NOW
        )
        try:
            return self.engine().document(given)
        finally:
            assert list((self.root / "temp").iterdir()) == []


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = Ground(tmp_path.resolve(), Counted())
    for path in (made.transcript.parent, made.root / "app", made.root / "temp", made.program.parent):
        path.mkdir(parents=True)
    source = Path(__file__).with_name("fake_claude.py").read_text()
    made.program.write_text(f"#!{sys.executable} -IS\n{source}")
    made.program.chmod(0o755)
    answer = {"id": "m1", "model": "claude-sonnet-4-5", "content": [{"type": "text", "text": "Yes."}]}
    app = str(made.root / "app")
    rows = [
        {"type": "user", "uuid": "u1", "cwd": app, "message": {"role": "user", "content": SAID[0].text}},
        {"type": "assistant", "uuid": "a1", "cwd": app, "message": answer},
    ]
    made.transcript.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.utime(made.transcript, (NOW - 1, NOW - 1))
    return made


def test_a_fork_writes_the_notes_on_and_no_other_file(ground: Ground) -> None:
    made = ground.sum_up(STATE, write("{memory}/local/main/other.md"), write("{cwd}/x.md"))
    assert made.text == TEMPLATE.replace(GUIDE, f"{GUIDE}\nThe reader is next.")
    assert len(made.log) == 2 and [job for job, _, _ in ground.meter.told] == ["notes"]
    task = Path(f"{ground.program}.task").read_text()
    assert "Make the importer read CSV" in task and "session-notes.md" in task


def test_notes_that_cannot_be_taken_are_put_to_a_second_fork(ground: Ground) -> None:
    spoilt = edit(NOTES, "# Worklog", "# Diary")
    with pytest.raises(EngineError, match="notes cannot be taken"):
        ground.sum_up(spoilt)
    assert len(ground.meter.told) == 2
    assert "`# Worklog` does not stand in its place" in Path(f"{ground.program}.task").read_text()


def test_a_call_that_passed_the_hook_by_spoils_it(ground: Ground) -> None:
    with pytest.raises(EngineError, match="not held by its hook"):
        ground.sum_up({**STATE, "hook": False})


def test_what_a_fork_must_not_see_is_noted_offline(ground: Ground) -> None:
    made = ground.sum_up(STATE, withholds=lambda _: True)
    assert "- Last request: “Make" in made.text and "first request: “Make the importer" in made.text
    assert made.log == ("a fork would see what is not to be learned from: noted offline",)
    assert not ground.meter.told
    ground.plan()
    engine = ground.engine()
    assert "noted offline" in engine.sum_up(replace(ground.given, transcript=None)).log[0]
    assert engine.name == "claude-code"


def test_a_session_of_its_own_keeps_a_document_true(ground: Ground) -> None:
    moved = edit(DOC, "src/store.py", "src/base.py")
    made = ground.document(([CANARY, moved, write("{memory}/local/main/b.md")], "changed: it moved"))
    assert made.text == TEXT.replace("store.py", "base.py") and made.reasons == ("it moved",)
    assert len(made.log) == 1 and [job for job, _, _ in ground.meter.told] == ["document"]


def test_it_is_told_once_what_is_wrong_with_its_change(ground: Ground) -> None:
    bad, good = edit(DOC, "# MAGIC DOC: App", "# App"), edit(DOC, "# App", "# MAGIC DOC: App")
    made = ground.document(([CANARY, bad], "changed: x"), ([good], "nothing"))
    assert made.text == TEXT
    with pytest.raises(EngineError, match="cannot be taken"):
        ground.document(([CANARY, bad], "changed: x"), ([], "nothing"))


def test_a_document_with_a_credential_is_not_shown_to_a_model(ground: Ground) -> None:
    made = ground.document(text=TEXT + "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n")
    assert "src/base.py" in made.text and "not shown" in made.log[0] and not ground.meter.told
