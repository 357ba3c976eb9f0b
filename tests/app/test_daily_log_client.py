"""The daily log under the real client: from what was said, over a line and a dream, to a memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_world import World, make_world, text_of
from scripted_api import ScriptedApi, Step

from gitmem.core.daily_log import PATTERN

pytestmark = pytest.mark.client

TAUGHT = "Please remember that we deploy from the release branch only, because main is not tested on ARM."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ScriptedApi([Step("Understood.")]) as api:
        made = make_world(tmp_path, api)
        made.person.run("git", "config", "gitmem.mode", "log")
        yield made


def test_what_was_said_reaches_a_memory_that_blame_leads_back_from(world: World) -> None:
    person = world.person
    session = person.prompt(TAUGHT).session
    world.settle()
    (path,) = world.memory()
    assert path.startswith("logs/")
    (line,) = world.memory()[path].splitlines()
    assert "release branch only" in line

    world.api.add(Step("From the release branch."))
    person.ask("How do we deploy?")
    world.settle()
    told = text_of(world.api.requests[-1])
    assert "release branch only" in told
    (named,) = [row for row in told.splitlines() if PATTERN in row]
    assert Path(path).stem not in named

    person.gitmem("dream", "--force", "--scope", "local")
    (dream,) = [item for item in json.loads(person.gitmem("review", "--json")) if item["kind"] == "dream"]
    person.gitmem("review", "accept", dream["id"])
    files = world.memory()
    (name,) = files.keys() - {"MEMORY.md", path}
    assert "release branch only" in files[name]
    assert files[path].splitlines() == [line]

    (records,) = [rows for id, rows in world.transcripts().items() if id == session]
    (message,) = [row["uuid"] for row in records if row["type"] == "user"]
    blamed = person.gitmem("blame", name.removesuffix(".md"), "--json")
    assert path in blamed
    assert session in blamed
    assert message in blamed
