"""Hook files of clients: ours go in and come out, the person's stay as they were."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from gitmem.app import client_hooks
from gitmem.app.client_hooks import HookFile, HookPlan, tree_place
from gitmem.app.clients import CLAUDE, CLIENTS, CODEX, CURSOR, GEMINI, Client
from gitmem.core.errors import RepositoryError
from gitmem.flows.context import Edges, workspace_at
from gitmem.git.command import GitCommand
from gitmem.search.action import FILE_TOOLS, SHELL_TOOLS

GIT = GitCommand(os.environ)
ARGV = ("/opt dir/gitmem's/python", "-P", "-m", "gitmem")
SETTINGS, EVENTS = CLAUDE.file, CLAUDE.events
EXCLUDE = f"/{SETTINGS}"
MINE = """{
    "model": "opus", "permissions": {"allow": ["Bash(ls)", "Edit"]},
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": [{"hooks": [{"type": "command", "command": "bell é"}]}]
    }
}"""


@pytest.fixture
def settings(repo: Path) -> Path:
    (repo / ".git" / "info" / "exclude").write_text("# mine")
    return repo / SETTINGS


def place(repo: Path, client: Client = CLAUDE) -> HookFile:
    return tree_place(client, repo, repo / ".git")


def planned(one: HookFile, argv=ARGV) -> HookPlan:
    workspace = workspace_at(Edges(os.environ, one.anchor, 0.0))
    return client_hooks.plan_hooks(one, argv, client_hooks.is_tracked(one, workspace))


def install(repo: Path, argv=ARGV, client: Client = CLAUDE) -> HookPlan:
    plan = planned(place(repo, client), argv)
    client_hooks.apply_hooks(plan, GIT)
    return plan


def remove(repo: Path, argv=ARGV, client: Client = CLAUDE) -> HookPlan:
    plan = client_hooks.plan_removal(place(repo, client), argv)
    client_hooks.apply_hooks(plan, GIT)
    return plan


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def test_the_file_is_made_with_every_event_and_a_command_of_a_word_an_argument(repo, settings) -> None:
    install(repo)
    hooks = json.loads(settings.read_text())["hooks"]
    assert set(hooks) == set(EVENTS)
    [group] = hooks["Stop"]
    (entry,) = group["hooks"]
    assert (entry["type"], entry["timeout"]) == ("command", EVENTS["Stop"].seconds)
    assert shlex.split(entry["command"]) == [*ARGV, "hook", "claude", "Stop", "||", "true"]
    assert (repo / ".git/info/exclude").read_text() == f"# mine\n{EXCLUDE}\n"
    assert client_hooks.installed(place(repo), ARGV)


def test_a_folder_with_other_things_or_that_was_there_stays(repo: Path, settings: Path) -> None:
    settings.parent.mkdir()
    install(repo)
    remove(repo)
    assert settings.parent.is_dir()
    assert not settings.exists()

    install(repo)
    (settings.parent / "agents").mkdir()
    remove(repo)
    assert list(settings.parent.iterdir()) == [settings.parent / "agents"]


def test_what_the_person_has_stays_in_order_and_comes_back_byte_for_byte(repo, settings: Path) -> None:
    write(settings, MINE)
    settings.chmod(0o640)
    assert install(repo).changes
    text = settings.read_text()
    assert not install(repo).changes and settings.read_text() == text
    merged = json.loads(text)
    assert list(merged) == ["model", "permissions", "hooks"]
    commands = [entry["hooks"][0]["command"] for entry in merged["hooks"]["Stop"]]
    assert commands == ["say done", client_hooks.command(CLAUDE, ARGV, "Stop")]
    assert "bell é" in text
    assert '\n    "model"' in text
    assert not text.endswith("\n")
    assert settings.stat().st_mode & 0o777 == 0o640
    remove(repo)
    assert settings.read_text() == MINE


def test_on_leaving_all_that_is_not_ours_is_kept(repo: Path, settings: Path) -> None:
    """What changed since, another tool's hook of the same words; and where the record is gone."""
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other hook claude Stop"}]}]}}
    for number, before in enumerate((json.loads(MINE), json.loads(MINE), theirs)):
        write(settings, json.dumps(before))
        install(repo)
        changed = {} if number else {"later": [1]}
        write(settings, json.dumps({**json.loads(settings.read_text()), **changed}))
        if number == 1:
            (repo / ".git/gitmem/client-hooks.json").unlink()
        remove(repo)
        assert json.loads(settings.read_text()) == {**before, **changed}


def test_a_file_we_made_stays_where_the_person_added_to_it(repo: Path, settings: Path) -> None:
    install(repo)
    merged = json.loads(settings.read_text())
    write(settings, json.dumps({**merged, "model": "opus"}))
    install(repo, ("/new/gitmem",))
    remove(repo, ("/new/gitmem",))
    assert json.loads(settings.read_text()) == {"model": "opus"}


def test_another_path_replaces_the_old_entries(repo: Path, settings: Path) -> None:
    write(settings, MINE)
    install(repo)
    install(repo, ("/new/gitmem",))
    text = settings.read_text()
    assert text.count("hook claude Stop") == 1
    assert "/new/gitmem hook claude Stop" in text
    remove(repo)
    assert settings.read_text() == MINE


def test_a_changed_time_limit_is_the_persons(repo: Path, settings: Path) -> None:
    install(repo)
    write(settings, settings.read_text().replace('"timeout": 5', '"timeout": 1'))
    assert not install(repo).changes


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '"x"',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        b"\xff\xfe",
        "[" * 100_000,
    ],
)
def test_a_file_that_is_not_settings_is_refused_by_name(repo, settings: Path, text: str | bytes) -> None:
    write(settings, text)
    before = settings.read_bytes()
    with pytest.raises(RepositoryError, match=r"settings\.local\.json"):
        install(repo)
    with pytest.raises(RepositoryError):
        remove(repo)
    assert settings.read_bytes() == before


def test_odd_but_valid_files_are_taken(repo: Path, settings: Path) -> None:
    for text in (
        b"", b"\xef\xbb\xbf{}\r\n", b'{"a": "\\ud800"}', b'{\n\t"hooks": {"Stop": ["odd", {}]}\n}\n',
    ):  # fmt: skip
        write(settings, text)
        install(repo)
        assert client_hooks.installed(place(repo), ARGV)
        remove(repo)
        assert settings.read_bytes() == text


@pytest.mark.parametrize("which", [".claude", SETTINGS])
def test_links_are_not_followed(repo: Path, tmp_path: Path, which: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "settings.local.json").write_text("{}")
    if which == SETTINGS:
        (repo / ".claude").mkdir()
        (repo / SETTINGS).symlink_to(outside / "settings.local.json")
    else:
        (repo / ".claude").symlink_to(outside)
    with pytest.raises(RepositoryError, match="is a link"):
        install(repo)
    assert (outside / "settings.local.json").read_text() == "{}"


def test_a_tracked_file_is_left_to_the_person(repo: Path, settings: Path, git) -> None:
    write(settings, "{}")
    git("-C", repo, "add", "-f", SETTINGS)
    plan = install(repo)
    assert "tracked" in plan.by_hand
    assert str(plan) == plan.by_hand
    assert settings.read_text() == "{}"
    assert (repo / ".git/info/exclude").read_text() == "# mine"


def test_git_goes_on_refusing_to_overwrite_a_file_of_the_persons_own(repo, settings: Path, git) -> None:
    """What is ignored it overwrites without a word, as where a teammate has committed the same name."""
    write(settings, MINE)
    before = (repo / ".git/info/exclude").read_bytes()
    install(repo)
    assert (repo / ".git/info/exclude").read_bytes() == before
    assert ".claude/" in git("-C", repo, "status", "--porcelain")
    assert not planned(place(repo)).changes


def test_a_file_that_changed_after_the_plan_is_not_overwritten(repo: Path, settings: Path) -> None:
    plan = planned(place(repo))
    write(settings, "{}")
    with pytest.raises(RepositoryError, match="changed meanwhile"):
        client_hooks.apply_hooks(plan, GIT)
    assert settings.read_text() == "{}"


def test_the_last_worktree_that_leaves_takes_the_exclude_line(repo: Path, settings: Path, git) -> None:
    other = repo.with_name("other")
    git("-C", repo, "worktree", "add", "-q", "-b", "other", other)
    install(repo)
    theirs = tree_place(CLAUDE, other, repo / ".git")
    plan = planned(theirs)
    client_hooks.apply_hooks(plan, GIT)
    remove(repo)
    assert EXCLUDE in (repo / ".git/info/exclude").read_text()
    client_hooks.apply_hooks(client_hooks.plan_removal(theirs, ARGV), GIT)
    assert EXCLUDE not in (repo / ".git/info/exclude").read_text()


JSON = [client for client in CLIENTS.values() if client.form != "plugin"]


@pytest.mark.parametrize("client", CLIENTS.values(), ids=lambda one: one.name)
def test_what_was_there_comes_back_byte_for_byte_for_every_client(repo: Path, client: Client) -> None:
    """And where nothing was there, nothing is left."""
    path = repo / client.file
    exclude = repo / ".git/info/exclude"
    exclude.write_text("# mine\n")
    listed = sorted(repo.iterdir())
    assert install(repo, client=client).changes
    assert client_hooks.installed(place(repo, client), ARGV)
    assert not install(repo, client=client).changes
    assert f"/{client.file}" in exclude.read_text()
    remove(repo, client=client)
    assert sorted(repo.iterdir()) == listed
    assert exclude.read_text() == "# mine\n"
    assert not (repo / ".git/gitmem/client-hooks.json").exists()
    if client.form == "plugin":
        return
    path.parent.mkdir()
    text = json.dumps({**client.top, "mine": [1], "hooks": {"other": []}}, indent=3)
    path.write_text(text)
    install(repo, client=client)
    assert json.loads(path.read_text())["mine"] == [1]
    remove(repo, client=client)
    assert path.read_text() == text


@pytest.mark.parametrize("client", JSON, ids=lambda one: one.name)
def test_time_limits_are_in_the_clients_unit(repo: Path, client: Client) -> None:
    """Gemini and Qwen count milliseconds: ten of those would end every hook."""
    install(repo, client=client)
    hooks = json.loads((repo / client.file).read_text())["hooks"]
    assert set(hooks) == set(client.events)
    for name, (group,) in hooks.items():
        entry = group if client.form == "flat" else group["hooks"][0]
        assert entry["timeout"] == client.events[name].seconds * (1000 if client.units == 1000 else 1)
        assert entry["command"] == client_hooks.command(client, ARGV, name)
        # Cursor's are documented fields alone.
        assert client is not CURSOR or group.keys() <= {"command", "timeout", "matcher"}


def test_hooks_that_people_wrote_for_another_client_by_hand_are_replaced(repo: Path) -> None:
    """They ran Claude Code's, which knows nothing of the text that Gemini puts before a prompt."""
    path = repo / GEMINI.file
    path.parent.mkdir()
    old = {"type": "command", "command": "/old/gitmem hook claude UserPromptSubmit"}
    path.write_text(json.dumps({"hooks": {"BeforeAgent": [{"hooks": [old]}]}}))
    install(repo, client=GEMINI)
    ((entry,),) = [group["hooks"] for group in json.loads(path.read_text())["hooks"]["BeforeAgent"]]
    assert entry["command"] == client_hooks.command(GEMINI, ARGV, "BeforeAgent")


@pytest.mark.parametrize("text", [None, '{"hooks":   {}}', '{"mine": [1]}'])
def test_what_a_client_adds_to_its_file_does_not_keep_it_there(repo: Path, text: str | None) -> None:
    """Qwen Code notes the version of its settings in every file that it reads."""
    client = CLIENTS["qwen"]
    path = repo / client.file
    if text is not None:
        path.parent.mkdir()
        path.write_text(text)
    install(repo, client=client)
    path.write_text(json.dumps({**json.loads(path.read_text()), "$version": 4}))
    remove(repo, client=client)
    assert (path.read_text() if path.exists() else None) == text


def test_a_plugin_of_somebody_elses_is_left_alone(repo: Path) -> None:
    client = CLIENTS["opencode"]
    path = repo / client.file
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = 1\n")
    with pytest.raises(RepositoryError, match="not gitmem's"):
        install(repo, client=client)
    remove(repo, client=client)
    assert path.read_text() == "export const Mine = 1\n"


def test_a_file_in_the_home_stays_until_the_last_repository_leaves(tmp_path: Path, home: Path) -> None:
    """It serves all of them."""
    folder, data = home / ".codex", home / ".local/share/gitmem"
    folder.mkdir()
    places = [client_hooks.own_place(CODEX, folder, data, tmp_path / name) for name in ("a", "b")]
    for one in places:
        plan = client_hooks.plan_hooks(one, ARGV, False)
        assert plan.changes
        client_hooks.apply_hooks(plan, GIT)
        assert not client_hooks.plan_hooks(one, ARGV, False).changes
    assert client_hooks.clients_of(data / "state", str(tmp_path / "b")) == (CODEX,)
    for one, there in zip(places, (True, False), strict=True):
        client_hooks.apply_hooks(client_hooks.plan_removal(one, ARGV), GIT)
        assert (folder / "hooks.json").exists() == there
    assert folder.is_dir()


def test_a_tool_that_memory_is_held_against_is_asked_about_by_every_client() -> None:
    """A matcher that names a tool under no name of the table would wake gitmem for nothing."""
    for client in CLIENTS.values():
        tools = {*FILE_TOOLS, *SHELL_TOOLS} if client is CLAUDE else set(client.tools)
        matchers = [event.matcher for event in client.events.values() if event.means == "PreToolUse"]
        assert matchers, client.name
        assert all(not one or set(one.split("|")) == tools for one in matchers), client.name
