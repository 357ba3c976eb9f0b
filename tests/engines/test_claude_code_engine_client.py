"""The claude-code engine with the real client, whose model is a scripted server on loopback."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from meters import Counting
from playing import Playing, adding, answering, canary
from real_client import Client, find_client
from record_sessions import prepare, transcript
from scripted_api import Call, Step

from gitmem.core.errors import EngineError
from gitmem.engines import claude_process
from gitmem.engines.claude_code import ClaudeCodeEngine, ForkSettings
from gitmem.engines.engine import ExtractInput, Extraction
from gitmem.transcripts.claude_code import read_session

pytestmark = pytest.mark.client

SAID = "What is in here? And never mock the database in tests."
# A repository, or a person in a hurry, lets everything pass that no hook refuses.
LAX = {
    "permissions": {"allow": ["Bash", "Edit", "Write", "Read", "WebFetch"], "defaultMode": "acceptEdits"}
}


@dataclass(frozen=True)
class Held:
    """A session that was held with tools, and what it sent."""

    client: Client
    api: Playing
    session: str
    sent: Mapping[str, Any]

    @property
    def engine(self) -> ClaudeCodeEngine:
        temp = self.client.home.parent / "temp"
        temp.mkdir(exist_ok=True)
        environ = {**self.client._environment(), "CLAUDECODE": "1"}
        settings = ForkSettings(self.client.program, environ, timeout=60, temp=temp)
        return ClaudeCodeEngine(settings, Counting())

    def fork(self) -> Extraction:
        path = transcript(self.client.home, self.session)
        session = read_session(path)
        given = ExtractInput(
            session.messages, session=session.id, transcript=path, worktree=self.client.cwd, now=time.time()
        )
        try:
            return self.engine.extract(given)
        finally:
            assert list((self.client.home.parent / "temp").iterdir()) == []

    def allow_all(self) -> None:
        (self.client.cwd / ".claude").mkdir(exist_ok=True)
        for folder in (self.client.home / ".claude", self.client.cwd / ".claude"):
            (folder / "settings.json").write_text(json.dumps(LAX))

    def forks(self) -> list[dict[str, Any]]:
        """What forks sent, first requests first."""
        return [r for r in self.api.requests if "true " in json.dumps(r["messages"]) and r.get("tools")]


@pytest.fixture(params=["claude-sonnet-4-5"])
def held(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Held]:
    program = find_client(os.environ)
    if program is None:
        pytest.skip("no client: set GITMEM_TEST_CLAUDE or put claude on PATH")
    with Playing() as api:
        home, app = prepare(tmp_path.resolve())
        client = Client(program, home, app, api.url)
        look = Call("Read", {"file_path": str(app / "greet.py")})
        api.add(Step("I look.", (Call("Bash", {"command": "ls"}), look)), Step("One function."))
        turn = client.prompt(SAID, tools=("Read", "Bash(ls:*)"), more=("--model", request.param))
        sent = next(one for one in reversed(api.requests) if one.get("tools"))
        yield Held(client, api, turn.session, sent)


def without_markers(value: Any) -> Any:
    """A request without cache markers: they say where a prefix ends, and are no part of what is cached.

    What stands in a block of its own to bear a marker is elsewhere a plain text, the same to the model.
    """
    if isinstance(value, dict):
        bare = {key: without_markers(entry) for key, entry in value.items() if key != "cache_control"}
        if "role" in bare and isinstance(bare.get("content"), str):
            bare["content"] = [{"type": "text", "text": bare["content"]}]
        return bare
    return [without_markers(entry) for entry in value] if isinstance(value, list) else value


def canonical(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def shared(sent: Mapping[str, Any], forked: Mapping[str, Any]) -> None:
    """Asserts that a fork begins as its parent's last request did, byte for byte."""
    for part in ("tools", "system"):
        # Markers included: these parts are the same to the last byte.
        assert canonical(forked[part]) == canonical(sent[part])
    before, after = without_markers(sent["messages"]), without_markers(forked["messages"])
    assert canonical(after[: len(before)]) == canonical(before)
    # How much of its thinking a model shows follows the form of the output, and is no part of a prompt.
    plain, likewise = (
        {**one, "thinking": {**one.get("thinking", {}), "display": ""}} for one in (sent, forked)
    )
    assert {key for key in plain if plain[key] != likewise.get(key)} <= {"messages", "metadata"}
    assert set(forked) == set(sent)


def test_a_fork_sends_its_parents_tools_system_prompt_and_history_to_the_byte(held: Held) -> None:
    """So that it reads the parent's cache. The history goes on with the parent's answer, then the task."""
    held.api.play(canary, adding, answering)
    held.fork()
    first = held.forks()[0]
    shared(held.sent, first)
    answer, task = without_markers(first["messages"][len(held.sent["messages"]) :])
    assert answer == {"role": "assistant", "content": [{"type": "text", "text": "One function."}]}
    assert "long-term memory" in json.dumps(task)
    markers = [m for m in first["messages"] if "cache_control" in json.dumps(m)]
    assert markers == [first["messages"][-1]]


@pytest.mark.parametrize("held", ["claude-opus-4-8[1m]"], indirect=True)
def test_a_model_with_a_long_context_is_forked_as_such(held: Held) -> None:
    """The record leaves the ending out, and without it system prompt and tools differ."""
    (held.client.home / ".claude/settings.json").write_text('{"model": "opus[1m]"}')
    held.api.play(canary, adding, answering)
    held.fork()
    shared(held.sent, held.forks()[0])


def test_an_allowed_write_becomes_an_addition(held: Held) -> None:
    held.api.play(canary, adding, answering)
    found = held.fork()
    (change,) = found.changes
    assert (change.op, change.name, change.body.strip()) == (
        "add",
        "real-database",
        "Never mock the database in tests.",
    )
    first, *_ = read_session(transcript(held.client.home, held.session)).messages
    assert (change.origin.first, change.origin.session) == (first.uuid, held.session)
    assert found.usage is not None
    assert (found.usage.requests, found.usage.input, found.usage.output) == (3, 300, 30)
    assert found.log == ()
    assert sorted(path.stem for path in held.client.home.glob(".claude/projects/*/*.jsonl")) == [
        held.session
    ]


def refusals(held: Held) -> list[str]:
    """Texts of the failed calls that the fork's last request tells."""
    blocks = [b for m in held.forks()[-1]["messages"][-4:] if m["role"] == "user" for b in m["content"]]
    return [str(b["content"]) for b in blocks if b.get("type") == "tool_result" and b.get("is_error")]


def test_a_write_outside_the_scratch_copy_is_refused(held: Held) -> None:
    held.allow_all()
    targets = [held.client.cwd / "greet.py", held.client.home / ".bashrc", held.client.home.parent / "x.md"]

    def outside(memory: str, nonce: str) -> Step:
        places = [*map(str, targets), f"{memory}/../x.md", f"{memory}/local/main/MEMORY.md"]
        return Step("", tuple(Call("Write", {"file_path": path, "content": "evil"}) for path in places))

    before = targets[0].read_text()
    held.api.play(canary, outside, adding, answering)
    found = held.fork()
    assert [change.name for change in found.changes] == ["real-database"]
    assert targets[0].read_text() == before
    assert not any(path.exists() for path in targets[1:])
    assert len([line for line in found.log if line.startswith("Write was refused")]) >= 3


def test_a_shell_call_and_all_other_tools_are_refused(held: Held) -> None:
    held.allow_all()
    evil = held.client.cwd / "evil"

    def shell(memory: str, nonce: str) -> Step:
        calls = [
            Call("Bash", {"command": f"touch {evil}"}),
            Call("WebFetch", {"url": held.api.url, "prompt": "x"}),
            Call("Agent", {"description": "x", "prompt": "x", "subagent_type": "general-purpose"}),
            Call("Read", {"file_path": "/etc/passwd"}),
        ]
        return Step("", tuple(calls))

    held.api.play(canary, shell, adding, answering)
    found = held.fork()
    assert not evil.exists()
    refused = sorted(line.split()[0] for line in found.log)
    assert refused == ["Agent", "Bash", "Read", "WebFetch"]
    assert len(found.changes) == 1


Spoil = Callable[[pytest.MonkeyPatch], None]


def spoiled(change: Callable[[dict[str, Any]], object]) -> Spoil:
    """Changes the settings that the client is given, as a broken installation might."""
    given = claude_process.client_settings

    def broken(python: str, rules: Path, closed: Sequence[Path]) -> str:
        settings = json.loads(given(python, rules, closed))
        change(settings)
        return json.dumps(settings)

    return lambda patch: patch.setattr(claude_process, "client_settings", broken)


def exchange(settings: dict[str, Any], command: str) -> None:
    settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = command


SPOILS = {
    "no hooks at all": spoiled(lambda settings: settings.pop("hooks")),
    "no hook for calls": spoiled(lambda settings: settings["hooks"].pop("PreToolUse")),
    "a hook that is gone": spoiled(lambda settings: exchange(settings, "/nowhere/hook")),
    "a hook that says nothing": spoiled(lambda settings: exchange(settings, "true")),
    "hooks switched off": spoiled(lambda settings: settings.update(disableAllHooks=True)),
}


@pytest.mark.parametrize("how", list(SPOILS))
def test_without_its_hook_a_fork_is_ended_and_nothing_is_taken(held: Held, monkeypatch, how: str) -> None:
    """Even where the person's own rules let everything pass: other rules stand behind the hook."""
    held.allow_all()
    SPOILS[how](monkeypatch)
    evil, outside = held.client.cwd / "evil", held.client.cwd / "outside.md"

    def all_at_once(memory: str, nonce: str) -> Step:
        calls = [
            *canary(memory, nonce).calls,
            Call("Bash", {"command": f"touch {evil}"}),
            Call("Write", {"file_path": str(outside), "content": "evil"}),
            *adding(memory, nonce).calls,
        ]
        return Step("", tuple(calls))

    held.api.play(all_at_once, answering)
    with pytest.raises(EngineError, match="not held by its hook"):
        held.fork()
    assert not evil.exists()
    assert not outside.exists()


def test_a_hook_that_breaks_refuses_every_call(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    held.allow_all()
    spoiled(lambda settings: exchange(settings, "/nowhere/python || exit 2"))(monkeypatch)
    evil = held.client.cwd / "evil"
    held.api.play(lambda memory, nonce: Step("", (Call("Bash", {"command": f"touch {evil}"}),)))
    with pytest.raises(EngineError, match="not held by its hook"):
        held.fork()
    assert not evil.exists()


def test_a_session_that_the_client_does_not_find_is_an_error_that_says_so(held: Held) -> None:
    """One of another configuration folder, say."""
    other = held.client.home.parent / "other"
    other.mkdir()
    client = replace(held.client, environ={"CLAUDE_CONFIG_DIR": str(other)})
    with pytest.raises(EngineError, match="refused to resume") as caught:
        replace(held, client=client).fork()
    assert caught.value.hint
