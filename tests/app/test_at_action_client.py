"""At the moment of action, with the real client: what names the file or command is in the next request."""

from __future__ import annotations

from pathlib import Path

import pytest
from client_world import World, make_world, text_of
from scripted_api import Call, ScriptedApi, Step

pytestmark = pytest.mark.client

FILE_RULE = "Never edit `greet.py` by hand: it is generated from `greet.tmpl`."
COMMAND_RULE = "Only run `make deploy` from the release branch."
ERROR_NOTE = "`deploy: cannot reach relay` means that the relay sleeps at night."


def requests(world: World, *steps: Step) -> list[str]:
    """What each request of one prompt's turn told the model."""
    before = len(world.api.requests)
    world.api.add(*steps)
    world.person.prompt("Go ahead.", tools=("Read", "Edit", "Bash"))
    world.settle()
    return [text_of(one) for one in world.api.requests[before:] if one.get("tools")]


def test_rules_and_known_errors_are_told_as_the_agent_acts_and_nothing_is_refused(tmp_path: Path) -> None:
    with ScriptedApi() as api:
        world = make_world(tmp_path, api)
        file = world.person.cwd / "greet.py"
        (world.person.cwd / "Makefile").write_text(
            "deploy:\n\t@echo 'deploy: cannot reach relay' >&2; exit 3\n"
        )
        for name, text in (("greet", FILE_RULE), ("deploys", COMMAND_RULE), ("relay", ERROR_NOTE)):
            world.person.gitmem("remember", text, "--name", name, "--scope", "local")
        # The worker of any hook keeps them ready; a session's start is one.
        requests(world, Step("Hello."))
        edits = Call("Edit", {"file_path": str(file), "old_string": "hello", "new_string": "hi"})
        first, read, edited, failed = requests(
            world,
            Step(calls=(Call("Read", {"file_path": str(file)}),)),
            Step(calls=(edits,)),
            Step(calls=(Call("Bash", {"command": "make deploy", "description": "Deploy"}),)),
            Step("Done."),
        )
        said = [f'"{text}"' for text in (FILE_RULE, COMMAND_RULE, ERROR_NOTE)]
        assert [text in first for text in said] == [False, False, False]
        assert [text in read for text in said] == [True, False, False]
        assert [edited.count(text) for text in said] == [1, 0, 0], "once"
        assert [failed.count(text) for text in said] == [1, 1, 1]
        assert 'print("hi")' in file.read_text(), "no call was refused"
