"""The demo holds what it claims, says so where it does not, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gitmem.app.demo import (
    SESSION,
    SPOKEN,
    STEPS,
    TWINS,
    DemoCommand,
    Person,
    make_stage,
    record_session,
    run_demo,
)
from gitmem.core.errors import CheckFailed
from gitmem.transcripts.claude_code import read_session
from gitmem.transcripts.claude_home import sessions_of

ROOT = Path(__file__).parents[2]
VERBS = (
    *("init", "log", "recall", "review", "remember", "forget", "undo", "save", "dream", "restore"),
    *("snapshot create", "share", "sync", "status"),
)


@pytest.mark.long
def test_the_demo_holds_and_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    """The one run of all of it: the real commands, with nothing but a PATH and an empty HOME."""
    for path in home.iterdir():
        path.unlink()
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gitmem", "demo"],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TMPDIR": str(temporary),
            "PYTHONPATH": str(ROOT),
        },
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(STEPS)} steps in " in done.stdout
    for verb in VERBS:
        assert f"$ git mem {verb}" in done.stdout, verb
    assert list(home.iterdir()) == []
    assert list(temporary.iterdir()) == []


@pytest.mark.long
def test_what_the_demo_shows_is_there_in_the_end(tmp_path: Path, git) -> None:
    """Looked at with plain git and on disk: a demo that only prints could show what is not there."""
    stage = tmp_path.resolve() / "kept"
    run_demo(os.environ, lambda _: None, stage)
    you, mate, remote = stage / "you/app", stage / "teammate/app", stage / "remote.git"
    assert len({git("-C", at, "rev-parse", "gitmem/project^{tree}") for at in (you, mate, remote)}) == 1
    shared = git("-C", remote, "grep", "-h", "", "gitmem/project")
    assert "Thursdays" in shared and "Wednesdays" not in shared and "disputed" not in shared
    private = f"--git-dir={stage / 'you/.local/share/gitmem/private.git'}"
    taught = git(private, "log", "-p", "--glob=refs/heads/local")
    assert "staging database" in taught and "mock the database" in taught
    assert "Gitmem-Writer: extract" in taught and f"Gitmem-Session: {SESSION}" in taught
    assert "staging database" not in git("-C", remote, "log", "-p", "--all"), "private memory left"
    (ref,) = git(private, "for-each-ref", "--format=%(refname)", "refs/heads/local").split()
    names = git(private, "ls-tree", "-r", "--name-only", ref)
    assert all(f"main/{name}.md" in names for name in TWINS) and "main/archive/" in names
    assert "mock the database" in (you / "CLAUDE.md").read_text()
    assert "`orders.py`" in (you / "LAYOUT.md").read_text()
    snapshot = mate / ".claude/agent-memory-snapshots/main"
    assert "Tuesdays" in (snapshot / "deploy-day.md").read_text()


def shown(tmp_path: Path, *steps: DemoCommand) -> list[str]:
    lines: list[str] = []
    run_demo(os.environ, lines.append, tmp_path / "kept", steps)
    return lines


def test_a_command_that_fails_fails_the_demo_and_names_the_step(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match=r"step 2 \(git checkout nowhere\): exit status 1") as caught:
        shown(tmp_path, DemoCommand("git status"), DemoCommand("git checkout nowhere"))
    assert caught.value.exit_code == 1


def test_a_step_that_does_not_say_what_the_next_one_needs_fails_the_demo(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match=r"step 1 \(git status\): it does not say"):
        shown(
            tmp_path,
            DemoCommand("git status", learns="(?P<id>no such words)"),
            DemoCommand("git show {id}"),
        )


def test_a_step_uses_what_an_earlier_one_found_out(tmp_path: Path) -> None:
    steps = (
        DemoCommand("git rev-parse HEAD", "The first.", learns=r"(?P<head>\w+)"),
        DemoCommand("git cat-file -t {head}"),
    )
    lines = shown(tmp_path, *steps)
    assert "# The first." in lines and "commit" in lines
    assert lines[-1] == f"kept in {tmp_path / 'kept'}"


def test_a_folder_that_holds_something_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(CheckFailed, match="is not empty"):
        run_demo(os.environ, print, tmp_path)
    assert (tmp_path / "mine").read_text() == "precious"


def test_nothing_of_the_callers_environment_reaches_the_commands(tmp_path: Path) -> None:
    stage = make_stage(tmp_path, {**os.environ, "GIT_DIR": "/nowhere", "ANTHROPIC_API_KEY": "k"})
    for person in (stage.you, stage.mate):
        assert not {"GIT_DIR", "ANTHROPIC_API_KEY"} & set(person.environ)
        assert person.environ["HOME"].startswith(str(tmp_path.resolve()))


def test_the_recorded_session_reads_as_one_of_the_clients(tmp_path: Path) -> None:
    """The demo must not pass for the reason that its own form of transcript is easier than the real one."""
    config, clone = tmp_path / ".claude", (tmp_path / "app").resolve()
    clone.mkdir()
    record_session(Person("$", tmp_path, clone, {}))
    [file] = sessions_of(config, [clone])
    session = read_session(file.path)
    assert session.skipped == 0
    assert session.cwd == str(clone)
    said = [message.text for message in session.messages if message.role == "person"]
    assert said == [words for words, _ in SPOKEN]
