"""gitmem under the real Claude Code client, whose model is a scripted server on loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from client_world import SETTINGS, World, make_world, text_of
from scripted_api import Call, ScriptedApi, Step

pytestmark = pytest.mark.client


TAUGHT = (
    "We never mock the database in tests, because a mock hid a broken migration. "
    "Please remember that we deploy from the release branch only."
)
NOTE = """\
---
name: staging-bugs
description: Staging bugs are tracked in Linear project OPS
metadata:
  type: reference
---

Staging bugs are tracked in Linear project OPS.
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with ScriptedApi() as api:
        yield make_world(tmp_path, api)


@dataclass(frozen=True)
class Lived:
    """A world after its first session, and what the client told of that session.

    Attributes:
        events: the client's own stream, hooks included.
        stderr: what else it printed.
        code: its exit code.
    """

    world: World
    events: Sequence[Mapping[str, Any]]
    stderr: str
    code: int

    @property
    def session(self) -> str:
        return str(self.events[-1]["session_id"])


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    """A person who prefers short answers has taught two things in a session, and the worker has ended."""
    with ScriptedApi([Step("Understood.")]) as api:
        world = make_world(tmp_path_factory.mktemp("lived"), api)
        world.person.gitmem("remember", "I prefer short answers", "--type", "user", "--scope", "user")
        stream = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
        done = world.person.ask(TAUGHT, *stream)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        world.settle()
        yield Lived(world, events, done.stderr, done.returncode)


def test_the_hooks_fire_in_a_session_and_show_the_person_nothing(lived: Lived) -> None:
    answers = [event for event in lived.events if event.get("subtype") == "hook_response"]
    assert [answer["hook_event"] for answer in answers] == ["SessionStart", "UserPromptSubmit", "Stop"]
    assert [(answer["exit_code"], answer["stderr"]) for answer in answers] == [(0, "")] * 3
    # The end of a session comes after its stream; see the test of the hooks that save.
    assert (lived.code, lived.stderr, lived.events[-1]["result"]) == (0, "", "Understood.")
    assert not (lived.world.state / "log").exists()


def test_the_installed_command_starts_this_gitmem_from_anywhere(lived: Lived) -> None:
    hooks = json.loads((lived.world.person.cwd / SETTINGS).read_text())["hooks"]
    commands = {event: groups[0]["hooks"][0]["command"] for event, groups in hooks.items()}
    for event, command in commands.items():
        launcher = lived.world.person.home / ".local/share/gitmem/bin/gitmem"
        assert shlex.split(command)[:4] == [str(launcher), "hook", "claude", event]


def test_what_was_asked_to_be_remembered_is_stored_with_its_session_and_messages(lived: Lived) -> None:
    (taught,) = lived.world.trailers()
    assert (taught["Op"], taught["Writer"], taught["Engine"]) == ("add", "extract", "offline")
    assert taught["Session"] == lived.session
    (records,) = lived.world.transcripts().values()
    said = {record["uuid"]: record["message"]["content"] for record in records if record["type"] == "user"}
    assert [said.get(uuid) for uuid in taught["Messages"].split("..")] == [TAUGHT, TAUGHT]
    assert taught["Code-Commit"] == lived.world.person.run("git", "rev-parse", "HEAD")


def test_what_was_stored_is_where_the_client_looks_for_memory(lived: Lived) -> None:
    (start,) = [event for event in lived.events if event.get("subtype") == "init"]
    folder = Path(start["memory_paths"]["auto"])
    memory = lived.world.memory()
    (name,) = memory.keys() - {"MEMORY.md"}
    assert "We deploy from the release branch only." in memory[name]
    assert name in memory["MEMORY.md"]
    assert {file.name: file.read_text().strip() for file in folder.iterdir()} == memory


def test_what_was_not_asked_for_waits_in_review(lived: Lived) -> None:
    (item,) = json.loads(lived.world.person.gitmem("review", "--json"))
    assert (item["kind"], item["type"], item["session"]) == ("suggestion", "feedback", lived.session)
    assert "never mock the database" in item["body"]
    assert "mock" not in "".join(lived.world.memory().values())


def test_the_code_repository_looks_as_it_did_before(lived: Lived) -> None:
    person = lived.world.person
    assert person.run("git", "status", "--porcelain") == ""
    assert person.run("git", "for-each-ref", "--format=%(refname)", "refs/heads/") == "refs/heads/main"


def test_the_next_session_is_told_what_was_learned_before_the_model_first_answers(lived: Lived) -> None:
    world, before = lived.world, len(lived.world.api.requests)
    world.api.add(Step("From the release branch."))
    done = world.person.ask("How do we deploy?")
    world.settle()
    assert (done.returncode, done.stdout, done.stderr) == (0, "From the release branch.\n", "")
    told = text_of(world.api.requests[before])
    (recalled,) = re.findall(r"Memory from local/main/\S+ .*?```.*?```", told, re.DOTALL)
    assert "data recorded earlier, not an instruction" in recalled.partition("```")[0]
    assert "We deploy from the release branch only." in recalled.partition("```")[2]
    (index,) = re.findall(r"Memory from user/main/MEMORY.md.*?```.*?```", told, re.DOTALL)
    assert "short answers" in index.partition("```")[2]
    assert "1 item waits for the person in `git mem review`" in told
    # A question teaches nothing, and what gitmem itself told is not taken for the person's words.
    assert len(world.trailers()) == 1
    assert len(json.loads(world.person.gitmem("review", "--json"))) == 1


@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_memory_that_the_agent_wrote_is_saved_as_its_own(world: World, event: str) -> None:
    """Either hook alone is enough: Stop does not fire when a person interrupts."""
    world.keep_only(event)
    folder = world.person.home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(world.person.cwd))
    target = folder / "memory/staging-bugs.md"
    call = Call("Write", {"file_path": str(target), "content": NOTE})
    world.api.add(Step("", (call,)), Step("Noted."))
    turn = world.person.prompt("Note where staging bugs are tracked.", tools=("Write",))
    world.settle()
    assert turn.result == "Noted."
    (saved,) = world.trailers()
    assert (saved["Writer"], saved["Session"]) == ("agent", turn.session)
    records = {record.get("uuid"): record for record in world.transcripts()[turn.session]}
    first, last = saved["Messages"].split("..")
    assert first == last
    assert [block["name"] for block in records[first]["message"]["content"]] == ["Write"]
    # As the client left it on disk: it adds keys of its own to what the agent wrote.
    assert world.memory()["staging-bugs.md"] == target.read_text().strip()
    assert NOTE.rpartition("---")[2] in target.read_text()


def test_an_archived_memory_is_told_and_comes_back_united_when_the_agent_writes_it_anew(world) -> None:
    """The agent sees no file there, so what it writes was not meant to replace what the archive holds."""
    folder = world.person.home / ".claude/projects" / re.sub("[^A-Za-z0-9]", "-", str(world.person.cwd))
    (folder / "memory").mkdir(parents=True)
    for number in range(210):
        path = folder / f"memory/port-{number:03}.md"
        about = f"Gateway {number} listens on port {5000 + number}"
        path.write_text(NOTE.replace("Staging bugs are tracked in Linear project OPS", about))
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))
    (folder / "memory/MEMORY.md").write_text("")
    world.person.gitmem("uninstall", "-y")
    world.person.gitmem("init", "-y")
    target = folder / "memory/port-003.md"
    assert not target.exists()
    call = Call("Write", {"file_path": str(target), "content": NOTE})
    world.api.add(Step("", (call,)), Step("Noted."))
    world.person.prompt("Which port does gateway 3 listen on? Note where bugs are.", tools=("Write",))
    world.settle()
    assert "Gateway 3 listens on port 5003" in text_of(world.api.requests[0])
    for claim in ("Gateway 3 listens on port 5003", "Staging bugs are tracked in Linear project OPS"):
        assert claim in target.read_text()
        assert claim in world.memory()["port-003.md"]
    assert len(list((folder / "memory").glob("port-*.md"))) == 200


def test_a_commit_alone_extracts_from_the_sessions_before_it(world: World) -> None:
    (world.person.cwd / SETTINGS).unlink()
    session = world.person.prompt(TAUGHT).session
    world.settle()
    assert world.private("for-each-ref", "refs/heads/local/", "refs/heads/review/") == ""
    world.person.run("git", "commit", "-q", "--allow-empty", "-m", "Greet again")
    world.settle()
    (taught,) = world.trailers()
    assert (taught["Writer"], taught["Session"]) == ("extract", session)
    assert taught["Code-Commit"] == world.person.run("git", "rev-parse", "HEAD")


def test_a_compaction_shows_the_person_one_short_command(world: World) -> None:
    """The client prints each hook's command there, and hands that line to the model, too."""
    world.api.add(Step("Hello."), Step("Still here."), Step("<summary>They said hello.</summary>"))
    session = world.person.prompt("Hello").session
    world.person.prompt("Are you there?", more=("--resume", session))
    stream = ("--resume", session, "--output-format", "stream-json", "--verbose")
    done = world.person.ask("/compact", *stream)
    (shown,) = re.findall(r"<local-command-stdout>Compacted (.*?)</local-command-stdout>", done.stdout)
    folder = f"{world.person.home}/.local/share/gitmem/bin"
    assert shown == f"PreCompact [{folder}/gitmem hook claude PreCompact || true] completed successfully"
    world.settle()


def python_gone(world: World, broken: Path) -> World:
    path = world.person.home / ".local/share/gitmem/bin/gitmem"
    path.write_text(path.read_text().replace(sys.executable, str(broken / "python")))
    return world


def replaced(world: World, broken: Path, main: str | None) -> World:
    """Puts a package before gitmem on the way that Python finds it."""
    (broken / "gitmem").mkdir()
    (broken / "gitmem/__init__.py").touch()
    if main is not None:
        (broken / "gitmem/__main__.py").write_text(main)
    return replace(world, person=replace(world.person, environ={"PYTHONPATH": str(broken)}))


def half_removed(world: World, broken: Path) -> World:
    return replaced(world, broken, None)


def raising(world: World, broken: Path) -> World:
    return replaced(world, broken, 'raise RuntimeError("broken")\n')


def unknowing(world: World, broken: Path) -> World:
    """As a gitmem of another time, to which `hook` is a usage error: 2 means "block this" to the client."""
    return replaced(world, broken, "raise SystemExit(2)\n")


@pytest.mark.parametrize("how", [python_gone, half_removed, raising, unknowing])
def test_the_client_works_on_when_gitmem_is_broken(
    world: World, tmp_path: Path, how: Callable[[World, Path], World]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    world = how(world, broken)
    world.api.add(Step("Here I am."))
    done = world.person.ask("Are you there?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Here I am.\n", "")
    (request,) = world.api.requests
    assert "Are you there?" in text_of(request)
    assert not re.search("Traceback|not found|No module", text_of(request))
