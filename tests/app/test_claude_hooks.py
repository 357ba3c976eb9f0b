"""Claude Code's settings of a worktree: ours go in and come out, the person's stay as they were."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from gitmem.core.errors import RepositoryError
from gitmem.git.command import GitCommand
from gitmem.integrations import claude_hooks
from gitmem.integrations.claude_hooks import EVENTS, EXCLUDE, SETTINGS, SettingsPlan

ARGV = ("/opt dir/gitmem's/python", "-P", "-m", "gitmem")
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


def install(repo: Path, argv=ARGV) -> SettingsPlan:
    plan = claude_hooks.plan_claude_hooks(repo, repo / ".git", argv, GitCommand(os.environ))
    claude_hooks.apply_settings(plan)
    return plan


def remove(repo: Path, argv=ARGV) -> SettingsPlan:
    plan = claude_hooks.plan_claude_removal(repo, repo / ".git", argv)
    claude_hooks.apply_settings(plan)
    return plan


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def test_the_file_is_made_with_every_event(repo: Path, settings: Path) -> None:
    install(repo)
    hooks = json.loads(settings.read_text())["hooks"]
    assert set(hooks) == set(EVENTS)
    [group] = hooks["Stop"]
    assert group["hooks"] == [
        {"type": "command", "command": claude_hooks.command(ARGV, "Stop"), "timeout": EVENTS["Stop"]}
    ]
    assert claude_hooks.command(ARGV, "Stop").endswith("gitmem hook claude Stop || true")
    assert (repo / ".git/info/exclude").read_text() == f"# mine\n{EXCLUDE}\n"
    assert claude_hooks.installed(repo, ARGV)


def test_the_command_is_one_word_per_argument_for_a_shell(repo: Path) -> None:
    import shlex

    assert shlex.split(claude_hooks.command(ARGV, "Stop")) == [
        *ARGV,
        "hook",
        "claude",
        "Stop",
        "||",
        "true",
    ]


def test_leaving_takes_away_what_was_made(repo: Path, settings: Path) -> None:
    install(repo)
    remove(repo)
    assert not settings.parent.exists()
    assert (repo / ".git/info/exclude").read_text() == "# mine\n"
    assert not (repo / ".git/gitmem/claude-hooks.json").exists()


def test_a_folder_with_other_things_stays(repo: Path, settings: Path) -> None:
    install(repo)
    (settings.parent / "agents").mkdir()
    remove(repo)
    assert list(settings.parent.iterdir()) == [settings.parent / "agents"]


def test_a_folder_that_was_there_stays(repo: Path, settings: Path) -> None:
    settings.parent.mkdir()
    install(repo)
    remove(repo)
    assert settings.parent.is_dir()
    assert not settings.exists()


def test_twice_changes_nothing(repo: Path, settings: Path) -> None:
    write(settings, MINE)
    assert install(repo).changes
    before = settings.read_bytes()
    assert not install(repo).changes
    assert settings.read_bytes() == before


def test_what_the_person_has_stays_in_order_and_comes_back_byte_for_byte(
    repo: Path, settings: Path
) -> None:
    write(settings, MINE)
    settings.chmod(0o640)
    install(repo)
    text = settings.read_text()
    merged = json.loads(text)
    assert list(merged) == ["model", "permissions", "hooks"]
    assert [entry["hooks"][0]["command"] for entry in merged["hooks"]["Stop"]] == [
        "say done",
        claude_hooks.command(ARGV, "Stop"),
    ]
    assert "bell é" in text
    assert '\n    "model"' in text
    assert not text.endswith("\n")
    assert settings.stat().st_mode & 0o777 == 0o640
    remove(repo)
    assert settings.read_text() == MINE


def test_what_changed_after_installing_is_kept_on_leaving(repo: Path, settings: Path) -> None:
    write(settings, MINE)
    install(repo)
    merged = json.loads(settings.read_text())
    merged["later"] = [1]
    write(settings, json.dumps(merged))
    remove(repo)
    assert json.loads(settings.read_text()) == {**json.loads(MINE), "later": [1]}


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


def test_leaving_without_the_record_takes_out_ours_alone(repo: Path, settings: Path) -> None:
    write(settings, MINE)
    install(repo)
    (repo / ".git/gitmem/claude-hooks.json").unlink()
    remove(repo)
    assert json.loads(settings.read_text()) == json.loads(MINE)


def test_another_tools_hook_of_the_same_words_stays(repo: Path, settings: Path) -> None:
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "other hook claude Stop"}]}]}}
    write(settings, json.dumps(theirs))
    install(repo)
    remove(repo)
    assert json.loads(settings.read_text()) == theirs


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
def test_a_file_that_is_not_settings_is_refused_by_name(
    repo: Path, settings: Path, text: str | bytes
) -> None:
    write(settings, text)
    before = settings.read_bytes()
    with pytest.raises(RepositoryError, match=r"settings\.local\.json"):
        install(repo)
    with pytest.raises(RepositoryError):
        remove(repo)
    assert settings.read_bytes() == before


def test_odd_but_valid_files_are_taken(repo: Path, settings: Path) -> None:
    for text in (
        b"",
        b"\xef\xbb\xbf{}\r\n",
        b'{"a": "\\ud800"}',
        b'{\n\t"hooks": {"Stop": ["odd", {}]}\n}\n',
    ):
        write(settings, text)
        install(repo)
        assert claude_hooks.installed(repo, ARGV)
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


def test_a_file_that_changed_after_the_plan_is_not_overwritten(repo: Path, settings: Path) -> None:
    plan = claude_hooks.plan_claude_hooks(repo, repo / ".git", ARGV, GitCommand(os.environ))
    write(settings, "{}")
    with pytest.raises(RepositoryError, match="changed meanwhile"):
        claude_hooks.apply_settings(plan)
    assert settings.read_text() == "{}"


def test_the_last_worktree_that_leaves_takes_the_exclude_line(repo: Path, settings: Path, git) -> None:
    other = repo.with_name("other")
    git("-C", repo, "worktree", "add", "-q", "-b", "other", other)
    install(repo)
    plan = claude_hooks.plan_claude_hooks(other, repo / ".git", ARGV, GitCommand(os.environ))
    claude_hooks.apply_settings(plan)
    remove(repo)
    assert EXCLUDE in (repo / ".git/info/exclude").read_text()
    claude_hooks.apply_settings(claude_hooks.plan_claude_removal(other, repo / ".git", ARGV))
    assert EXCLUDE not in (repo / ".git/info/exclude").read_text()
