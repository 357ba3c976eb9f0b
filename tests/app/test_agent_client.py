"""The `agent` engine with the real client: the session's own model is told what may last, and decides."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from client_world import World, make_world, text_of
from scripted_api import Call, ScriptedApi, Step

from gitmem.ledger.reminders import BYTES, place_of

pytestmark = pytest.mark.client

PASSING = "We never mock the database in tests, because a mock hid a broken migration last quarter."
NOTE = """\
---
name: no-mocks
description: Tests never mock the database
type: feedback
---

Tests never mock the database, because a mock hid a broken migration.
"""


@dataclass
class Talk:
    """A session that goes on: several prompts, one after the other, to one client."""

    world: World
    process: subprocess.Popen[str]
    session: str = ""

    def say(self, text: str, *steps: Step) -> list[str]:
        """Says something, and waits for the answer and for the worker behind it.

        Returns:
            what each request of that turn told the model.
        """
        before = len(self.world.api.requests)
        self.world.api.add(*steps)
        line = {"type": "user", "message": {"role": "user", "content": text}}
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(line) + "\n")
        self.process.stdin.flush()
        for row in self.process.stdout:
            event = json.loads(row)
            if event.get("type") == "result":
                self.session = event["session_id"]
                break
        self.world.settle()
        return [text_of(one) for one in self.world.api.requests[before:] if one.get("tools")]


@contextmanager
def talking(world: World, *more: str) -> Iterator[Talk]:
    words = [world.person.program, "-p", "--input-format", "stream-json", "--output-format", "stream-json"]
    with subprocess.Popen(
        [*words, "--verbose", *more],
        cwd=world.person.cwd,
        env=world.person._environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Talk(world, process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0
        finally:
            process.kill()
    world.settle()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ScriptedApi() as api:
        yield make_world(tmp_path, api)


def notes(text: str) -> list[str]:
    """What a request holds of gitmem's notes."""
    return re.findall(r"Said here by the person, and not in memory yet: .*", text)


def waiting(world: World) -> list[dict[str, Any]]:
    return json.loads(world.person.gitmem("review", "--json"))  # type: ignore[no-any-return]


def test_the_agent_is_told_once_of_what_may_last_and_what_it_writes_is_its_own(world: World) -> None:
    folder = world.person.home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(world.person.cwd))
    target = folder / "memory/no-mocks.md"
    writes = Step("", (Call("Write", {"file_path": str(target), "content": NOTE}),))
    with talking(world, "--allowedTools", "Write") as talk:
        (first,) = talk.say(PASSING, Step("Understood."))
        assert notes(first) == []
        second, after = talk.say("Now look at the greeting.", writes, Step("Looked."))
        (note,) = notes(second)
        place = place_of(folder / "memory", world.person.home)
        assert PASSING in note and place and place in note
        assert len(note.encode()) <= BYTES
        assert notes(after) == [note]
        # What stands in the conversation stands there once.
        (third,) = talk.say("And what of the farewell?", Step("Fine."))
        assert notes(third) == [note]
        assert PASSING not in third.rpartition("And what of the farewell?")[2]
    (made,) = world.trailers()
    assert (made["Writer"], made["Op"], made["Session"]) == ("agent", "add", talk.session)
    assert "Tests never mock the database" in world.memory()["no-mocks.md"]
    # The agent decided: nothing of it waits for the person besides.
    assert waiting(world) == []


def test_nothing_is_told_of_what_does_not_last_is_known_or_was_asked_for(world: World) -> None:
    world.person.gitmem("remember", PASSING)
    with talking(world) as talk:
        talk.say("Fix the failing test in greet.py, please.", Step("Done."))
        talk.say(PASSING, Step("I know."))
        talk.say("Please remember that we deploy from the release branch only.", Step("Noted."))
        (last,) = talk.say("Thanks.", Step("Bye."))
    assert notes(last) == []
    assert sorted(row["Writer"] for row in world.trailers()) == ["extract", "human"]


def test_what_an_agent_left_is_not_told_or_parked_and_what_it_never_heard_waits(world: World) -> None:
    with talking(world) as talk:
        talk.say(PASSING, Step("Understood."))
        (second,) = talk.say("Never squash commits, because bisecting needs them.", Step("All right."))
        assert len(notes(second)) == 1
    (item,) = waiting(world)
    assert "squash" in item["body"]
    with talking(world, "--resume", talk.session) as again:
        (third,) = again.say("Go on.", Step("Yes."))
        assert "squash" not in third.rpartition("Go on.")[2]


def test_an_engine_that_was_chosen_tells_nobody(world: World) -> None:
    world.person.gitmem("engine", "set", "offline")
    with talking(world) as talk:
        talk.say(PASSING, Step("Understood."))
        (second,) = talk.say("Now look at the greeting.", Step("Looked."))
    assert notes(second) == []
    assert len(waiting(world)) == 1
