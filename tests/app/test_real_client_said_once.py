"""End to end with the real client: a person says a thing once, and the next session begins with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playing import Playing, adding, answering, canary
from scripted_api import ScriptedApi, Step
from test_real_client import World, make_world, text_of

pytestmark = pytest.mark.client

ASKED = "Please remember that we deploy from the release branch only, main can hold unrun migrations."
PLAIN = "Please remember: never mock the database in tests."
STATED = "No, don't mock the database in tests, because a mock hid a broken migration last quarter."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ScriptedApi() as api:
        yield make_world(tmp_path, api)


def say(world: World, text: str) -> str:
    """Holds one session of one prompt, waits for the worker, and returns the first request's words."""
    before = len(world.api.requests)
    world.api.add(Step("Understood."))
    done = world.person.ask(text)
    world.settle()
    assert (done.returncode, done.stdout) == (0, "Understood.\n"), done.stderr
    return text_of(next(request for request in world.api.requests[before:] if request.get("tools")))


def test_what_a_person_asked_to_remember_is_in_the_first_request_of_every_later_session(world) -> None:
    """Also where it asks about something else: the index of what was learned is in every session."""
    say(world, ASKED)
    assert "We deploy from the release branch only" in say(world, "How do we deploy here?")
    assert len(world.transcripts()) == 2
    assert "release branch" in say(world, "Add a farewell to the greeting.")


def test_what_waits_in_review_is_in_no_session_until_it_is_accepted(world: World) -> None:
    say(world, STATED)
    question = "May I mock the database here?"
    (waiting,) = json.loads(world.person.gitmem("review", "--json"))
    assert waiting["kind"] == "suggestion"
    before = say(world, question)
    assert "hid a broken migration" not in before
    assert "waits for the person in `git mem review`" in before
    world.person.gitmem("review", "accept", waiting["id"])
    assert "hid a broken migration" in say(world, question)


def test_a_fork_of_the_session_makes_the_memory_that_the_next_session_begins_with(tmp_path: Path) -> None:
    """With the `claude-code` engine: the worker forks the session, held by its hook."""
    with Playing() as api:
        world = make_world(tmp_path, api)
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "claude").symlink_to(world.person.program)
        environ = {**world.person.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        world = replace(world, person=replace(world.person, environ=environ))
        world.person.run("git", "config", "--global", "gitmem.engine", "claude-code")
        api.play(canary, adding, answering)
        say(world, PLAIN)
        (made,) = world.trailers()
        assert (made["Writer"], made["Op"]) == ("extract", "add")
        assert made["Engine"].startswith("claude-code:claude-")
        # Words of the model's that the person did not say.
        assert "Tests use the real database" in say(world, "May I use a fake here?")
        assert len(world.transcripts()) == 2
