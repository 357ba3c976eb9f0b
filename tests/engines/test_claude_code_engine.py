"""The claude-code engine with a program that plays the client, well and badly."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from fake_client import CANARY, NOW, SESSION, FakeClient, installed
from fake_client import records as recorded

from gitmem.core.errors import EngineError
from gitmem.core.trailers import Usage
from gitmem.engines.claude_code import ClaudeCodeEngine, Parent, model_of, read_parent
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.transcripts.model import Message

WHEN = datetime(2026, 11, 20, tzinfo=UTC)
SAID = Message(
    "u1", "person", "Mocking the database was a mistake, it hid a broken migration.", WHEN, "prompt"
)
ASKED = Message("u2", "person", "Please remember: never mock the database.", WHEN, "prompt")
FACT = """\
---
name: real-database
description: Tests use the real database
type: feedback
---

Never mock the database.
"""
OLD = FACT.replace("real-database", "old").replace(
    "Never mock the database", "Deploy from the release branch"
)

FILE = "{memory}/local/main/real-database.md"
ADD = {"tool": "Write", "input": {"file_path": FILE, "content": FACT}}
ANSWER = f"{FILE}: 1: the person said so"


@dataclass(frozen=True)
class Ground(FakeClient):
    """A session on disk, and the program that is forked with."""

    def play(
        self, engine: ClaudeCodeEngine | None = None, said: tuple[Message, ...] = (SAID,), **plan: Any
    ) -> Extraction:
        self.plan(**{"result": ANSWER, **plan})
        given = ExtractInput(
            said,
            session=SESSION,
            memory={"local/main/old.md": OLD.encode()},
            transcript=self.transcript,
            worktree=self.app,
            now=NOW,
        )
        try:
            return (engine or self.engine()).extract(given)
        finally:
            assert list(self.temp.iterdir()) == []


def records(app: Path, *more: Mapping[str, Any]) -> str:
    return recorded(app, SAID.text, *more)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    made = installed(Ground(tmp_path.resolve()))
    made.record(records(made.app))
    return made


def test_a_session_in_which_something_is_private_is_not_forked(ground: Ground) -> None:
    """A fork sees all of it, and could keep what nobody is to learn."""
    engine = ground.engine(withholds=lambda path: path == ground.transcript)
    found = ground.play(engine, calls=[CANARY, ADD])
    assert found.changes == () and "looked at offline" in found.log[-1] and ground.meter.told == []
    said = {"type": "user", "message": {"role": "user", "content": "Hi <private>I am ill</private>"}}
    ground.transcript.write_text(records(ground.app, said))
    assert "looked at offline" in ground.play(calls=[CANARY, ADD]).log[-1] and ground.meter.told == []


def test_a_pipe_in_place_of_settings_is_not_waited_for(ground: Ground) -> None:
    (ground.app / ".claude").mkdir()
    os.mkfifo(ground.app / ".claude/settings.json")
    assert ground.play(calls=[CANARY, ADD]).changes


def test_an_allowed_write_becomes_an_addition_that_names_its_message(ground: Ground) -> None:
    engine = ground.engine()
    found = ground.play(engine, calls=[CANARY, ADD])
    (change,) = found.changes
    assert (change.op, change.name, change.type) == ("add", "real-database", "feedback")
    assert (change.origin.first, change.origin.last) == ("u1", "u1")
    assert not change.asked
    assert "Never mock the database." in change.body
    assert engine.name == "claude-code:claude-sonnet-4-5"
    assert found.usage == Usage(3, 5, 900, 0, 7, 0.5)
    assert ground.meter.told == [("extract", "claude-sonnet-4-5", found.usage)]
    assert found.log == ()


def test_only_a_persons_own_request_makes_a_change_an_asked_one(ground: Ground) -> None:
    """The model says which message it goes by; that a person asks for it there is read from the message."""
    for number, asked in ((1, False), (2, True)):
        answer = f"{FILE}: {number}: the person asked for it"
        (change,) = ground.play(said=(SAID, ASKED), calls=[CANARY, ADD], result=answer).changes
        assert (change.origin.first, change.asked) == (f"u{number}", asked)


def test_what_was_refused_is_told_but_for_the_call_that_was_meant_to_be(ground: Ground) -> None:
    shell = {"tool": "Bash", "input": {"command": "ls"}}
    (refused,) = ground.play(calls=[CANARY, shell, ADD]).log
    assert refused.startswith("Bash was refused")


def test_the_task_names_what_is_new_and_where_memory_is_and_may_be_answered_by_nothing(ground) -> None:
    assert ground.play(result="nothing").changes == ()
    assert SAID.text in ground.task and f"{ground.temp}/gitmem-fork-" in ground.task


CALLS_PAST_THE_HOOK: dict[str, list[dict[str, Any]]] = {
    "a call that no hook saw": [{**ADD, "hook": False}],
    "a call that no hook saw, after one that it refused": [CANARY, {**ADD, "hook": False}],
    "a call that no hook saw, and that failed": [
        {"tool": "Bash", "input": {}, "hook": False, "text": "Exit code 1"}
    ],
    "a refusal that was not heeded": [{**CANARY, "obey": False}],
    "a write outside that was not heeded": [
        CANARY,
        {"tool": "Write", "input": {"file_path": "{cwd}/x", "content": "x"}, "obey": False},
    ],
    "no refusal ever seen": [ADD],
}


@pytest.mark.parametrize("how", list(CALLS_PAST_THE_HOOK))
def test_nothing_is_taken_where_the_hook_is_not_proved_to_hold(ground: Ground, how: str) -> None:
    with pytest.raises(EngineError, match=r"not held by its hook.*nothing was taken"):
        ground.play(calls=CALLS_PAST_THE_HOOK[how])


def test_nothing_is_taken_where_the_hook_was_not_asked_first(ground: Ground) -> None:
    with pytest.raises(EngineError, match="the model was asked before the hook"):
        ground.play(ready=False, calls=[CANARY, ADD])
    with pytest.raises(EngineError, match="the model was asked before the hook"):
        ground.play(ready=False)


def test_the_model_is_not_asked_where_the_hook_is_broken(ground: Ground) -> None:
    """The first hook ends the run, so that nothing is spent and no call is made."""
    with pytest.raises(EngineError, match="did not answer before the task"):
        ground.play(ground.engine(python="/nowhere/python"), calls=[CANARY, ADD])
    assert [usage.requests for _, _, usage in ground.meter.told] == [0]


def test_a_file_that_no_call_wrote_is_detected(ground: Ground) -> None:
    sly = {"tool": "Read", "input": {"file_path": "{memory}/local/main/old.md"}}
    code = ground.program.read_text().replace(
        'return "done"', 'Path(given["file_path"]).with_name("sly.md").write_text("sly")\n    return "done"'
    )
    ground.program.write_text(code)
    with pytest.raises(EngineError, match=r"local/main/sly\.md was changed by no call"):
        ground.play(calls=[CANARY, sly])


def test_a_call_that_the_client_itself_finds_wrong_is_no_call(ground: Ground) -> None:
    """It never reaches a hook, and nothing is carried out."""
    wrong = {
        "tool": "Edit",
        "input": {},
        "hook": False,
        "text": "<tool_use_error>File has not been read yet.",
    }
    assert len(ground.play(calls=[CANARY, wrong, ADD]).changes) == 1


@pytest.mark.parametrize(
    ("plan", "message", "hint"),
    [
        ({"errors": ["No conversation found with session ID: x"], "exit": 1}, "refused to resume", "moved"),
        ({"errors": ["Not logged in · Please run /login"], "exit": 1}, "not logged in", "log in"),
        ({"errors": ["API Error: 529 overloaded"], "exit": 1}, "529 overloaded", "again later"),
        ({"result": None, "errors": [], "exit": 1, "stderr": "killed"}, "failed", "again later"),
    ],
)
def test_what_the_client_refuses_is_said_with_what_to_do(
    ground: Ground, plan: dict[str, Any], message: str, hint: str
) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        ground.play(**plan)
    assert hint in caught.value.hint


def test_a_fork_that_hangs_is_ended_with_all_that_it_started(ground: Ground) -> None:
    with pytest.raises(EngineError, match=r"within 0\.5 seconds"):
        ground.play(ground.engine(timeout=0.5), sleep=60)
    names = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    assert not [words for words in names if str(ground.program) in words]


def broken_program(ground: Ground) -> None:
    ground.program.unlink()


def ceiling_reached(ground: Ground) -> None:
    ground.meter.left, ground.meter.refusal = 0, EngineError("over the day's ceiling")


def hooks_off(ground: Ground) -> None:
    (ground.app / ".claude").mkdir()
    (ground.app / ".claude/settings.json").write_text('{"disableAllHooks": true}')


def test_a_session_that_ends_with_the_clients_own_commands_is_at_rest(ground: Ground) -> None:
    more = {"type": "user", "message": {"content": "<command-name>/exit</command-name>"}}
    ground.transcript.write_text(records(ground.app, more))
    found = read_parent(ground.transcript)
    assert found is not None
    assert not found.open


def test_what_an_ended_fork_cost_is_counted_from_its_answers(ground: Ground) -> None:
    with pytest.raises(EngineError, match="not held"):
        ground.play(calls=[CANARY, {**ADD, "hook": False}, CANARY])
    ((_, _, usage),) = ground.meter.told
    assert usage.requests == 2
    assert usage.dollars is None


def test_an_answer_that_speaks_of_logging_in_is_an_answer(ground: Ground) -> None:
    assert ground.play(calls=[CANARY], result="noop: 1: API key and login are no memory").usage


def in_mid_turn(ground: Ground) -> None:
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    more = {"type": "assistant", "message": {"id": "m2", "model": "m", "content": [call]}}
    ground.record(records(ground.app, more))


def before_the_first_answer(ground: Ground) -> None:
    ground.record(records(ground.app).splitlines()[0] + "\n")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (broken_program, "There is no program"),
        (ceiling_reached, "ceiling"),
        (hooks_off, "switches all hooks off"),
        (in_mid_turn, "in the middle of a turn"),
        (before_the_first_answer, "in the middle of a turn"),
    ],
)
def test_no_fork_is_begun_that_cannot_end_well(
    ground: Ground, spoil: Callable[[Ground], None], message: str
) -> None:
    spoil(ground)
    with pytest.raises(EngineError, match=message):
        ground.play(calls=[CANARY, ADD])
    assert ground.meter.told == []
    assert not Path(f"{ground.program}.task").exists()


def test_a_turn_that_was_interrupted_long_ago_is_looked_at(ground: Ground) -> None:
    in_mid_turn(ground)
    os.utime(ground.transcript, (NOW - 3600, NOW - 3600))
    assert len(ground.play(calls=[CANARY, ADD]).changes) == 1


def test_what_cannot_be_forked_is_looked_at_offline(ground: Ground) -> None:
    """A subagent's transcript, say: the client resumes whole sessions only. What is found is no model's."""
    other = ground.transcript.with_name("agent-7.jsonl")
    ground.transcript.rename(other)
    said = Message("u1", "person", "Please remember that we deploy on Fridays only.", WHEN, "prompt")
    found = ground.engine().extract(ExtractInput((said,), transcript=other, worktree=ground.app, now=NOW))
    assert [(change.op, change.asked) for change in found.changes] == [("add", True)]
    assert "offline" in found.log[0]
    assert found.engine == "offline"


def test_a_session_that_no_model_ever_answered_is_looked_at_offline(ground: Ground) -> None:
    before_the_first_answer(ground)
    os.utime(ground.transcript, (NOW - 3600, NOW - 3600))
    assert ground.play().engine == "offline"


@pytest.mark.parametrize(
    ("parent", "chosen", "expected"),
    [
        (("claude-opus-4-8", 100), "", "claude-opus-4-8"),
        (("claude-opus-4-8", 200_001), "", "claude-opus-4-8[1m]"),
        (("claude-opus-4-8", 100), "claude-opus-4-8[1m]", "claude-opus-4-8[1m]"),
        (("claude-opus-4-8", 100), "opus[1m]", "claude-opus-4-8[1m]"),
        (("claude-opus-4-8", 100), "sonnet[1m]", "claude-opus-4-8"),
        (("claude-opus-4-8", 100), "opus", "claude-opus-4-8"),
        (("", 0), "opus[1m]", ""),
    ],
)
def test_the_model_is_the_sessions_with_the_ending_that_no_record_holds(
    tmp_path: Path, parent: tuple[str, int], chosen: str, expected: str
) -> None:
    found = Parent(SESSION, tmp_path, *parent)
    assert model_of(found, tmp_path, {"ANTHROPIC_MODEL": chosen}) == expected
    (tmp_path / "settings.json").write_text(json.dumps({"model": chosen}))
    assert model_of(found, tmp_path, {}) == expected


def test_a_session_is_read_for_what_a_fork_needs(ground: Ground) -> None:
    assert read_parent(ground.transcript) == Parent(SESSION, ground.app, "claude-sonnet-4-5", 100)
    ground.transcript.write_text(records(ground.root / "gone"))
    assert read_parent(ground.transcript) is None
