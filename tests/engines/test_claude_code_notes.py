"""Notes and documents by the claude-code engine, with a program that plays the client."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from fake_client import CANARY, NOW, FakeClient, installed, records

from gitmem.core.errors import EngineError
from gitmem.core.session_notes import TEMPLATE
from gitmem.engines.engine import Document, DocumentInput, Notes, NotesInput, Stale
from gitmem.transcripts.model import Message

SAID = (Message("u1", "person", "Make the importer read CSV", None, "prompt"),)
GUIDE = "_What is in hand at this moment, what is still open, and the very next step._"
NOTES, DOC = "{memory}/local/main/session-notes.md", "{memory}/local/main/document.md"
TEXT = "# MAGIC DOC: App\n\nThe store is `src/store.py`.\nIt is small.\n"
STALE = Stale(3, "src/store.py", "file", "src/base.py", "renamed")


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    return {"tool": "Edit", "input": {"file_path": path, "old_string": old, "new_string": new}}


def write(path: str, text: str = "x") -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": path, "content": text}}


STATE = edit(NOTES, GUIDE, f"{GUIDE}\nThe reader is next.")


@dataclass(frozen=True)
class Ground(FakeClient):
    @property
    def given(self) -> NotesInput:
        return NotesInput("s", SAID, 0, TEMPLATE, transcript=self.transcript, worktree=self.app, now=NOW)

    def sum_up(self, *calls: dict[str, Any], **more: Any) -> Notes:
        self.plan(result="done", calls=[CANARY, *calls])
        try:
            return self.engine(**more).sum_up(self.given)
        finally:
            assert list(self.temp.iterdir()) == []

    def document(self, *rounds: tuple[list[dict[str, Any]], str], text: str = TEXT) -> Document:
        self.plan(rounds=[{"calls": calls, "result": result} for calls, result in rounds])
        given = DocumentInput("docs/app.md", text, "App", "", "", (STALE,), worktree=self.app, now=NOW)
        try:
            return self.engine().document(given)
        finally:
            assert list(self.temp.iterdir()) == []


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = installed(Ground(tmp_path.resolve()))
    made.record(records(made.app, SAID[0].text))
    return made


def test_a_fork_writes_the_notes_on_and_no_other_file(ground: Ground) -> None:
    made = ground.sum_up(STATE, write("{memory}/local/main/other.md"), write("{cwd}/x.md"))
    assert made.text == TEMPLATE.replace(GUIDE, f"{GUIDE}\nThe reader is next.")
    assert len(made.log) == 2 and [job for job, _, _ in ground.meter.told] == ["notes"]
    task = ground.task
    assert "Make the importer read CSV" in task and "session-notes.md" in task


def test_notes_that_cannot_be_taken_are_put_to_a_second_fork(ground: Ground) -> None:
    spoilt = edit(NOTES, "# Worklog", "# Diary")
    with pytest.raises(EngineError, match="notes cannot be taken"):
        ground.sum_up(spoilt)
    assert len(ground.meter.told) == 2
    assert "`# Worklog` does not stand in its place" in ground.task


def test_a_call_that_passed_the_hook_by_spoils_it(ground: Ground) -> None:
    with pytest.raises(EngineError, match="not held by its hook"):
        ground.sum_up({**STATE, "hook": False})


def test_what_a_fork_must_not_see_is_noted_offline(ground: Ground) -> None:
    made = ground.sum_up(STATE, withholds=lambda _: True)
    assert "- Last request: “Make" in made.text and "first request: “Make the importer" in made.text
    assert made.log == ("a fork would see what is not to be learned from: noted offline",)
    assert not ground.meter.told
    ground.plan(result="done")
    engine = ground.engine()
    assert "noted offline" in engine.sum_up(replace(ground.given, transcript=None)).log[0]
    assert engine.name == "claude-code"


def test_a_session_of_its_own_keeps_a_document_true(ground: Ground) -> None:
    moved = edit(DOC, "src/store.py", "src/base.py")
    made = ground.document(([CANARY, moved, write("{memory}/local/main/b.md")], "changed: it moved"))
    assert made.text == TEXT.replace("store.py", "base.py") and made.reasons == ("it moved",)
    assert len(made.log) == 1 and [job for job, _, _ in ground.meter.told] == ["document"]


def test_a_document_with_a_credential_is_not_shown_to_a_model(ground: Ground) -> None:
    made = ground.document(text=TEXT + "ghp_A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8\n")
    assert "src/base.py" in made.text and "not shown" in made.log[0] and not ground.meter.told
