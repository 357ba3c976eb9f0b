"""What bears on a prompt reaches the real client's model once, and again only after a compaction."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_api import ScriptedApi
from test_real_client import World, make_world, text_of

pytestmark = pytest.mark.client

FACT = "Rollouts are cut from the branch called heron."


def told(world: World, prompt: str, *more: str) -> tuple[str, list[int]]:
    """Runs a prompt; its session, and how often each request to the model held the memory."""
    before = len(world.api.requests)
    session = world.person.prompt(prompt, more=more).session
    world.settle()
    made = [request for request in world.api.requests[before:] if request.get("tools")]
    return session, [text_of(request).count("called heron") for request in made]


def test_a_memory_is_told_once_a_session_and_again_when_the_model_no_longer_has_it(tmp_path: Path) -> None:
    with ScriptedApi() as api:
        world = make_world(tmp_path, api)
        about = ("--name", "rollouts", "--description", "How rollouts are cut")
        world.person.gitmem("remember", FACT, "--scope", "user", *about)
        session, counts = told(world, "How are rollouts cut?")
        assert counts == [1]
        assert told(world, "And how are rollouts cut?", "--resume", session) == (session, [1])
        told(world, "/compact", "--resume", session)
        assert told(world, "So how are rollouts cut?", "--resume", session) == (session, [1])
