"""What became a rule reaches the real client's model through its instruction file, and not as a memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from client_world import make_world, text_of
from scripted_api import ScriptedApi

pytestmark = pytest.mark.client

FACT = "Rollouts are cut from the branch called heron."
DESCRIPTION = "How rollouts go"


def test_a_promoted_memory_is_told_by_its_file_alone(tmp_path: Path) -> None:
    with ScriptedApi() as api:
        world = make_world(tmp_path, api)
        person = world.person
        about = ("--name", "rollouts", "--description", DESCRIPTION)
        person.gitmem("remember", FACT, "--scope", "user", *about)

        def told() -> tuple[bool, bool]:
            """Whether a request held the fact, and whether it held the memory."""
            before = len(api.requests)
            person.prompt("How are rollouts cut?")
            world.settle()
            texts = [text_of(request) for request in api.requests[before:] if request.get("tools")]
            return any(FACT in text for text in texts), any(DESCRIPTION in text for text in texts)

        assert told() == (True, True)
        person.gitmem("-y", "promote", "rollouts")
        person.run("git", "add", "CLAUDE.md")
        person.run("git", "commit", "-q", "-m", "Add a rule")
        world.settle()
        assert told() == (True, False)
