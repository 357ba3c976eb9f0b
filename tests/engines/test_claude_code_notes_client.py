"""Notes by the claude-code engine with the real client, whose model is a scripted server on loopback."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from meters import Counting
from playing import Playing, canary
from real_client import Client, find_client
from record_sessions import prepare, transcript
from scripted_api import Call, Step
from test_claude_code_engine_client import shared

from gitmem.core.session_notes import TEMPLATE
from gitmem.engines.claude_code import ClaudeCodeEngine, ForkSettings
from gitmem.engines.engine import DocumentInput, NotesInput, Stale
from gitmem.transcripts.claude_code import read_session

pytestmark = pytest.mark.client

GUIDE = "_What is in hand at this moment, what is still open, and the very next step._"
Play = Callable[[str, str], Step]
TEXT = "# MAGIC DOC: App\n\nThe store is `src/store.py`.\nIt is small.\n"


def reading(name: str) -> Play:
    return lambda memory, _: Step("", (Call("Read", {"file_path": f"{memory}/local/main/{name}"}),))


def editing(name: str, old: str, new: str) -> Play:
    def step(memory: str, _: str) -> Step:
        path = f"{memory}/local/main/{name}"
        other = Call("Write", {"file_path": f"{memory}/local/main/other.md", "content": "x"})
        return Step("", (Call("Edit", {"file_path": path, "old_string": old, "new_string": new}), other))

    return step


def test_a_fork_writes_notes_and_a_session_of_its_own_a_document(tmp_path: Path) -> None:
    """The fork sends its parent's beginning to the byte; neither may write another file."""
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    with Playing() as api:
        home, app = prepare(tmp_path.resolve())
        temp = tmp_path.resolve() / "temp"
        temp.mkdir()
        client = Client(program, home, app, api.url)
        api.add(Step("One function."))
        turn = client.prompt("What is in here?", more=("--model", "claude-sonnet-4-5"))
        sent = next(one for one in reversed(api.requests) if one.get("tools"))
        settings = ForkSettings(program, {**client._environment()}, timeout=60, dream_timeout=60, temp=temp)
        engine = ClaudeCodeEngine(settings, Counting())
        path = transcript(home, turn.session)
        name = "session-notes.md"
        api.play(
            canary,
            reading(name),
            editing(name, GUIDE, f"{GUIDE}\nNothing is open."),
            lambda *_: Step("done"),
        )
        said = read_session(path).messages
        notes = engine.sum_up(
            NotesInput(turn.session, said, 0, TEMPLATE, transcript=path, worktree=app, now=time.time())
        )
        assert notes.text == TEMPLATE.replace(GUIDE, f"{GUIDE}\nNothing is open.")
        assert len(notes.log) == 1 and engine.name == "claude-code:claude-sonnet-4-5"
        first = next(r for r in api.requests if "true " in json.dumps(r["messages"]) and r.get("tools"))
        shared(sent, first)
        name = "document.md"
        api.play(
            canary,
            reading(name),
            editing(name, "store.py", "base.py"),
            lambda *_: Step("changed: it moved"),
        )
        stale = Stale(3, "src/store.py", "file", "src/base.py", "renamed")
        made = engine.document(
            DocumentInput("d.md", TEXT, "App", "", "", (stale,), worktree=app, now=time.time())
        )
        assert made.text == TEXT.replace("store.py", "base.py") and made.reasons == ("it moved",)
        assert len(made.log) == 1 and list(temp.iterdir()) == []
