"""`status` and `doctor` name clients whose hooks do not run, and only those."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gitmem.app.client_faults import ClientFault, client_faults, trusted_hash, version_of
from gitmem.app.client_hooks import entries_of, tree_place
from gitmem.app.clients import CLAUDE, CODEX, GEMINI
from gitmem.app.context import real_edges
from gitmem.app.launcher import Launcher
from gitmem.flows.context import initialised_at

Look = Callable[..., list[tuple[str, str]]]


@pytest.fixture
def look(repo: Path, tmp_path: Path) -> Look:
    def looked() -> list[tuple[str, str]]:
        workspace = initialised_at(real_edges(repo))
        found: tuple[ClientFault, ...] = client_faults(
            workspace, os.environ, Launcher(workspace.around.data).argv, tmp_path / "machine"
        )
        return [(one.client.name, one.kind) for one in found]

    return looked


def trust(home: Path, repo: Path, *, hooks: bool = True, project: bool = True) -> None:
    lines = [f"[projects.{json.dumps(str(repo))}]", 'trust_level = "trusted"'] if project else []
    for event, group, number, entry, matcher in entries_of(tree_place(CODEX, repo, repo / ".git")):
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
        key = f"{repo / CODEX.file}:{snake}:{group}:{number}"
        lines += [f"[hooks.state.{json.dumps(key)}]"]
        lines += [f"trusted_hash = {json.dumps(trusted_hash(snake, entry, matcher))}"] if hooks else []
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/config.toml").write_text("\n".join(lines))


def test_hooks_that_run_are_no_news(gitmem, repo: Path, home: Path, look: Look) -> None:
    gitmem("init", "-y", "--client", "claude", "--client", "codex", "--client", "gemini")
    trust(home, repo)
    assert look() == []
    assert "hooks" not in gitmem("status").out
    assert gitmem("doctor").out == "all is well\n"


def test_the_hash_that_codex_itself_gave() -> None:
    """Seen in 0.169, `hooks/list` of its app server."""
    entry = {"type": "command", "command": "echo hi || true", "timeout": 10}
    wanted = "sha256:a390ae6a3a22af7143cb1349d71d6856acfa9e4d0c0f4b88634caeb65a2c314c"
    assert trusted_hash("stop", entry, None) == wanted
    wanted = "sha256:7fda84c43910122306217789c3e0becb4637e34f02d963de935a6490ccbd57d1"
    assert trusted_hash("pre_tool_use", entry, "Bash") == wanted


def test_codex_hooks_that_nobody_trusted_are_named(gitmem, repo: Path, home: Path, look: Look) -> None:
    """Codex passes over them without a word."""
    gitmem("init", "-y", "--client", "codex")
    for way in ("no project", "no hooks", "another command"):
        trust(home, repo, hooks=way != "no hooks", project=way != "no project")
        config = home / ".codex/config.toml"
        if way == "no project":
            config.write_text(f'{config.read_text()}\n[projects."/elsewhere"]\ntrust_level = "trusted"\n')
        if way == "another command":
            config.write_text(config.read_text().replace("sha256:", "sha256:0"))
        assert look() == [("codex", "untrusted")], way
    told = gitmem("doctor", ok=False)
    assert told.code == 1 and "trust" in told.out
    assert "Codex CLI" in gitmem("status").out


def test_what_keeps_hooks_from_running_is_named(gitmem, repo, home, tmp_path: Path, look: Look) -> None:
    gitmem("init", "-y", "--client", "claude", "--client", "gemini")
    assert look() == []
    managed = tmp_path / "machine/etc/claude-code/managed-settings.json"
    for client, file, text, kind in (
        (CLAUDE, home / ".claude/settings.json", {"disableAllHooks": True}, "off"),
        (CLAUDE, repo / ".claude/settings.json", {"disableAllHooks": True}, "off"),
        (CLAUDE, managed, {"allowManagedHooksOnly": True}, "overridden"),
        (GEMINI, home / ".gemini/settings.json", {"hooksConfig": {"enabled": False}}, "off"),
        (GEMINI, home / ".gemini/settings.json", {"hooksConfig": {"disabled": ["gitmem"]}}, "off"),
    ):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(text))
        assert look() == [(client.name, kind)], file
        file.unlink()
    assert gitmem("status", "--json").json["clients"] == []
    (repo / CLAUDE.file).unlink()
    assert look() == [("claude", "missing")]
    (one,) = gitmem("status", "--json").json["clients"]
    assert (one["client"], one["kind"]) == ("claude", "missing"), "as it is now"


def test_a_client_older_than_any_that_was_tried_is_named(gitmem, repo, tmp_path, look, monkeypatch) -> None:
    gitmem("init", "-y", "--client", "gemini")
    package = tmp_path / "node_modules/@google/gemini-cli"
    program = package / "bundle/gemini.js"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "gemini").symlink_to(program)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    for version, wanted in (("0.9.1", [("gemini", "old")]), (GEMINI.oldest, []), ("1.0.0-beta.1", [])):
        (package / "package.json").write_text(json.dumps({"name": GEMINI.package, "version": version}))
        assert look() == wanted
    assert version_of(folder / "gemini", "another") == ""


def test_a_tracked_file_is_left_and_naming_the_client_uses_the_persons_own(gitmem, git, repo, home) -> None:
    """A settings file of the team's is not the person's to change."""
    (repo / ".gemini").mkdir()
    (repo / ".gemini/settings.json").write_text("{}")
    git("-C", repo, "add", "-A")
    git("-C", repo, "commit", "-q", "-m", "Settings")
    (home / ".gemini").mkdir()
    told = gitmem("init", "-y").err
    assert "tracked by the code" in told and "git mem init --client gemini" in told
    assert not (home / ".gemini/settings.json").exists()
    told = gitmem("init", "-y", "--client", "gemini").err
    assert "for all your repositories" in told
    assert "hook gemini BeforeAgent" in (home / ".gemini/settings.json").read_text()
    assert "nothing changed" in gitmem("init", "-y").out
    assert (repo / ".gemini/settings.json").read_text() == "{}"
    gitmem("uninstall", "-y")
    assert not (home / ".gemini/settings.json").exists()


def test_init_adds_hooks_for_the_clients_that_are_here(gitmem, repo: Path, home: Path) -> None:
    (home / ".codex").mkdir()
    (home / ".qwen").mkdir()
    told = gitmem("init", "-n").out
    assert "(Codex CLI)" in told and "(Qwen Code)" in told and "(Cursor)" not in told
    gitmem("init", "-y")
    assert (repo / ".codex/hooks.json").is_file() and (repo / ".qwen/settings.json").is_file()
    assert gitmem("init", "--client", "nobody", ok=False).code == 2
    gitmem("uninstall", "-y")
    assert not (repo / ".codex").exists() and not (repo / ".qwen").exists()
