"""The plugin for Claude Code: what its script starts, when it stands back, and the real client with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from client_world import ROOT, SETTINGS, World, make_world, text_of
from scripted_api import ScriptedApi, Step

import gitmem
from gitmem.app.clients import CLAUDE
from gitmem.cli.app import SUMMARIES

PLUGIN = ROOT / ".claude-plugin/gitmem"
SKILLS = {"remember", "recall", "forget", "dream", "memory-review"}
TAUGHT = "Please remember that we deploy from the release branch only."


def _json(name: str) -> dict[str, object]:
    return json.loads((PLUGIN / name).read_text("utf-8"))


def test_the_plugin_hooks_what_init_hooks() -> None:
    hooks = _json("hooks/hooks.json")["hooks"]
    assert isinstance(hooks, dict)
    found = {event: (group.get("matcher"), group["hooks"][0]) for event, (group,) in hooks.items()}
    wanted = {name: (event.matcher or None, event.seconds) for name, event in CLAUDE.events.items()}
    assert {event: (matcher, hook["timeout"]) for event, (matcher, hook) in found.items()} == wanted
    for event, (_, hook) in found.items():
        assert hook["command"] == f'sh "${{CLAUDE_PLUGIN_ROOT}}/gitmem.sh" {event}'


def test_the_plugin_is_of_this_version_and_the_marketplace_names_it() -> None:
    manifest = _json(".claude-plugin/plugin.json")
    (listed,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert manifest["version"] == gitmem.__version__
    assert (listed["name"], ROOT / listed["source"]) == (manifest["name"], PLUGIN)


def test_each_skill_calls_verbs_that_there_are_and_says_how_to_install() -> None:
    assert {folder.name for folder in (PLUGIN / "skills").iterdir()} == SKILLS
    for name in SKILLS:
        text = (PLUGIN / "skills" / name / "SKILL.md").read_text("utf-8")
        assert f"\nname: {name}\n" in text
        assert "uv tool install 'gitmem-vcs[mcp]'" in text
        called = set(re.findall(r"git mem ([a-z]+)", text))
        assert called, name
        assert called <= SUMMARIES.keys(), name


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository that keeps memory, and a `git-mem` that writes down how it was called."""
    (tmp_path / "app/.git/gitmem").mkdir(parents=True)
    (tmp_path / "app/sub").mkdir()
    program = tmp_path / "home/.local/bin/git-mem"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\necho "$*" >>"{tmp_path}/called"\ncat >>"{tmp_path}/called"\nexit 2\n')
    program.chmod(0o755)
    return tmp_path


def _run(place: Path, event: str = "Stop", cwd: str = "app") -> list[str]:
    """Runs the script as the client would; returns what it called, and with which stdin."""
    done = subprocess.run(
        ["/bin/sh", PLUGIN / "gitmem.sh", event],
        cwd=place / cwd,
        env={"HOME": str(place / "home"), "PATH": "/usr/bin:/bin"},
        input="{}",
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "a hook never fails, and is silent"
    called = place / "called"
    return called.read_text().splitlines() if called.exists() else []


@pytest.mark.parametrize("cwd", ["app", "app/sub"])
def test_a_hook_hands_the_event_on_where_memory_is_kept(place: Path, cwd: str) -> None:
    assert _run(place, cwd=cwd) == ["hook claude Stop", "{}"]


def test_a_hook_starts_nothing_where_no_memory_is_kept_or_gitmem_is_not_installed(place: Path) -> None:
    (place / "other/.git").mkdir(parents=True)
    (place / "none").mkdir()
    assert _run(place, cwd="other") == _run(place, cwd="none") == []
    (place / "home/.local/bin/git-mem").unlink()
    assert _run(place) == []


def hook_in_settings(place: Path, command: str) -> None:
    """Writes settings in which the client runs the command when the agent stops."""
    settings = place / "app" / SETTINGS
    settings.parent.mkdir()
    settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}))


def test_a_hook_stands_back_where_init_put_the_same_one(place: Path) -> None:
    """The client runs the hooks of the settings and of the plugin alike: all would be told twice."""
    hook_in_settings(place, "/opt/py/bin/python -P -m gitmem hook claude Stop || true")
    assert _run(place) == []
    assert _run(place, cwd="app/sub") == []
    assert _run(place, event="SessionEnd") == ["hook claude SessionEnd", "{}"], "which the settings lack"


def test_a_linked_work_tree_is_its_repositorys(place: Path) -> None:
    (place / "tree").mkdir()
    (place / "tree/.git").write_text(f"gitdir: {place}/app/.git/worktrees/tree\n")
    assert _run(place, cwd="tree") == ["hook claude Stop", "{}"]
    hook_in_settings(place, "gitmem hook claude Stop || true")
    (place / "called").unlink()
    assert _run(place, cwd="tree") == [], "newer clients read the main work tree's settings, too"


@pytest.fixture
def installed(tmp_path: Path) -> Iterator[World]:
    """A person who installed the plugin from this checkout, and ran `git mem init`."""
    with ScriptedApi([Step("Understood."), Step("From release.")]) as api:
        world = make_world(tmp_path, api)
        person = world.person
        program = person.home / ".local/bin/git-mem"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -P -m gitmem "$@"\n')
        program.chmod(0o755)
        person.run(person.program, "plugin", "marketplace", "add", str(ROOT))
        person.run(person.program, "plugin", "install", "gitmem@gitmem")
        yield world


@pytest.mark.client
@pytest.mark.parametrize("path", [ROOT, PLUGIN], ids=["marketplace", "plugin"])
def test_the_client_finds_nothing_to_say_against_it(tmp_path: Path, path: Path) -> None:
    with ScriptedApi() as api:
        person = make_world(tmp_path, api).person
        told = person.run(person.program, "plugin", "validate", "--strict", str(path))
        assert "Validation passed" in told


@pytest.mark.client
@pytest.mark.parametrize("hooked", [True, False], ids=["beside init", "alone"])
def test_a_session_is_told_once_and_learned_from_once(installed: World, hooked: bool) -> None:
    """On the wire: with the hooks of `init` beside it, and with the plugin's alone."""
    world = installed
    if not hooked:
        (world.person.cwd / SETTINGS).unlink()
    stream = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
    first = world.person.ask(TAUGHT, *stream)
    answers = [json.loads(line) for line in first.stdout.splitlines()]
    hooks = [answer for answer in answers if answer.get("subtype") == "hook_response"]
    assert {answer["hook_event"] for answer in hooks} == {"SessionStart", "UserPromptSubmit", "Stop"}
    assert len(hooks) == (6 if hooked else 3)
    assert all((hook["exit_code"], hook["stderr"]) == (0, "") for hook in hooks)
    world.settle()
    (learned,) = world.trailers()
    assert learned["Op"] == "add"
    before = len(world.api.requests)
    world.person.ask("How do we deploy?")
    world.settle()
    told = text_of(world.api.requests[before])
    assert len(re.findall(r"Memory from local/main/(?!MEMORY)\S+ ", told)) == 1, told
    assert len(re.findall(r"Memory from \S+/MEMORY.md", told)) <= 1
    assert len(world.trailers()) == 1


@pytest.mark.client
def test_the_client_offers_the_skills_and_the_server(installed: World) -> None:
    done = installed.person.ask("Hello", "--output-format", "stream-json", "--verbose")
    (start,) = [one for one in map(json.loads, done.stdout.splitlines()) if one.get("subtype") == "init"]
    assert {f"gitmem:{name}" for name in SKILLS} <= {*start["slash_commands"], *start.get("skills", ())}
    (server,) = [
        line
        for line in installed.person.run(installed.person.program, "mcp", "list").splitlines()
        if line.startswith("plugin:gitmem:gitmem:")
    ]
    assert server.endswith("Connected")


@pytest.mark.client
def test_the_plugin_is_silent_without_gitmem_and_without_memory(installed: World) -> None:
    world = installed
    (world.person.cwd / SETTINGS).unlink()
    (world.person.home / ".local/bin/git-mem").unlink()
    stream = ("--output-format", "stream-json", "--verbose", "--include-hook-events")
    done = world.person.ask("Hello", *stream)
    events = map(json.loads, done.stdout.splitlines())
    hooks = [event for event in events if event.get("subtype") == "hook_response"]
    assert (done.returncode, done.stderr) == (0, "")
    assert [(one["exit_code"], one["stdout"], one["stderr"]) for one in hooks] == [(0, "", "")] * len(hooks)
    assert hooks
