"""The pre-push hook: memory goes to the remote that it is shared with, and nowhere else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from machines import Machine
from once import Once

from gitmem.app.git_hooks import fence

PRIVATE, SHARED = "refs/gitmem/project", "refs/heads/gitmem/project"


@pytest.fixture
def ann(
    tmp_path: Path,
    git,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    once: Once[int],
) -> Machine:
    """A machine with project memory, `origin` and `other`; its hooks are off but in a push."""
    one = Machine(tmp_path / "ann", monkeypatch, capsys)

    def make() -> int:
        git("init", "-q", one.code)
        git("-C", one.code, "commit", "-q", "--allow-empty", "-m", "first")
        for name in ("origin", "other"):
            git("init", "-q", "--bare", tmp_path / f"{name}.git")
            one.git("remote", "add", name, tmp_path / f"{name}.git")
            one.git("push", "-q", name, "main")
        one.run("init", "-y")
        one.learn("ports", scope="project")
        return one.now

    one.now = once("ann", make)
    return one


def push(one: Machine, *words: str, cwd: Path | None = None) -> str:
    """What a push says on stderr; empty where it succeeded."""
    one.enter()
    done = subprocess.run(
        ["git", "-C", str(cwd or one.code), "push", "-q", *words],
        capture_output=True,
        text=True,
        check=False,
        env=_hooks_on(),
    )
    assert (done.returncode == 0) == (not done.stderr), done.stderr
    return done.stderr


def _hooks_on() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "GITMEM_DISABLE"}


def refs(one: Machine, remote: str) -> set[str]:
    listed = one.git("ls-remote", remote)
    return {line.split("\t")[1] for line in listed.splitlines() if not line.endswith("HEAD")}


def test_with_sharing_off_no_name_carries_memory_away(ann: Machine) -> None:
    """It is recognised by what it holds, or by a name of either side."""
    ann.git("branch", "gitmem/foo")
    for words in (
        ("gitmem/foo:refs/heads/x",), (f"{PRIVATE}:{SHARED}",), (f"{PRIVATE}:refs/heads/x",),
        (f"{PRIVATE}~0:refs/heads/x",), (f"{PRIVATE}:{PRIVATE}",), (f"HEAD:{PRIVATE}",),
        ("main", f"{PRIVATE}:refs/tags/x"), ("--mirror",),
    ):  # fmt: skip
        said = push(ann, "origin", *words)
        assert "sharing is off here" in said and "git mem share" in said, words
        assert "--no-verify" in said, "a person can override it"
    tip = ann.git("rev-parse", PRIVATE)
    ann.git("branch", "innocent", tip)
    ann.git("tag", "-a", "-m", "x", "v1", tip)
    for words in (("--all",), ("--tags",), (f"{tip}:refs/heads/x",), ("innocent",), ("v1",)):
        assert "agent memory" in push(ann, "origin", *words), words
    assert refs(ann, "origin") == {"refs/heads/main"}


def test_head_of_a_work_tree_of_memory_is_refused(ann: Machine, tmp_path: Path) -> None:
    tree = tmp_path / "memory"
    ann.git("worktree", "add", "-q", "--detach", tree, PRIVATE)
    assert "HEAD -> refs/heads/x" in push(ann, "origin", "HEAD:refs/heads/x", cwd=tree)
    assert push(ann, "origin", "main:refs/heads/fine", cwd=tree) == ""
    assert refs(ann, "origin") == {"refs/heads/main", "refs/heads/fine"}


def test_code_is_pushed_as_ever(ann: Machine) -> None:
    ann.git("commit", "-q", "--allow-empty", "-m", "second")
    ann.git("tag", "v1")
    ann.git("branch", "about/refs/gitmem/x")
    assert push(ann, "origin", "--all") == ""
    assert push(ann, "origin", "main") == "", "nothing is new"
    assert push(ann, "origin", "--tags") == ""
    assert push(ann, "origin", "--delete", "v1") == ""


def test_while_sharing_memory_goes_to_the_shared_remote_alone(ann: Machine) -> None:
    ann.run("share", "--mode", "direct", "-y")
    ann.git("config", "gitmem.share", "review")
    assert push(ann, "origin", f"{SHARED}:refs/heads/gitmem/review") == ""
    ann.git("config", "gitmem.share", "direct")
    said = push(ann, "other", SHARED)
    assert "shared with origin alone" in said and "git mem share --remote other" in said
    assert "agent memory" in push(ann, "other", "--all")
    assert push(ann, "origin", SHARED) == ""
    assert push(ann, ann.git("remote", "get-url", "origin"), f"{SHARED}:refs/heads/gitmem/copy") == ""
    assert SHARED in refs(ann, "origin") and refs(ann, "other") == {"refs/heads/main"}
    ann.patch.delenv("GITMEM_DISABLE")  # the hook of this push, too
    ann.run("sync", "other", "-y")
    assert SHARED in refs(ann, "other"), "the person named it"


def test_what_was_taken_out_before_it_left_or_is_about_a_person_goes_with_no_plain_push(ann) -> None:
    """A sync sends the rest, rebuilt without it; a plain push cannot."""
    ann.run("share", "--mode", "direct", "-y")
    ann.run("sync", "-y")
    ann.learn("hosts", scope="project")
    ann.run("forget", "ports")
    assert push(ann, "origin", SHARED) == ""
    ann.learn("secret-plan", scope="project")
    ann.run("forget", "secret-plan")
    for words in ((SHARED,), ("--all",), ("--mirror",)):
        said = push(ann, "origin", *words)
        assert "taken out before it ever left" in said and "git mem sync" in said
    ann.run("sync", "-y")
    assert push(ann, "origin", SHARED) == ""

    ann.learn("likes", scope="project")
    told = ann.memories("project")["main/likes.md"].replace("type: project", "type: user")
    folder = ann.code / ".claude/agent-memory/reviewer"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tea.md").write_text(told)
    ann.run("save")
    assert "about a person" in push(ann, "origin", SHARED)
    ann.run("sync", "-y")
    assert "about a person" in push(ann, "origin", SHARED)


def test_memory_can_be_deleted_at_any_remote(ann: Machine) -> None:
    ann.git("push", "-q", "--no-verify", "other", f"{PRIVATE}:{SHARED}", f"{PRIVATE}:{PRIVATE}")
    assert push(ann, "other", "--delete", SHARED) == ""
    assert push(ann, "other", f":{PRIVATE}") == ""
    ann.run("share", "--mode", "direct", "-y")
    ann.git("push", "-q", "--no-verify", "other", SHARED)
    assert push(ann, "other", "--delete", SHARED) == ""
    assert refs(ann, "other") == {"refs/heads/main"}


@pytest.fixture(params=["dash", "bash", "busybox sh"])
def shell(request: pytest.FixtureRequest) -> list[str]:
    words = str(request.param).split()
    if shutil.which(words[0]) is None:
        pytest.skip(f"no {words[0]} here")
    return words


Hook = Callable[[list[str], str], subprocess.CompletedProcess[str]]


@pytest.fixture
def hook(ann: Machine, tmp_path: Path) -> Hook:
    """Runs the hook in a shell, with what a hook below it would read copied to stdout."""
    script = tmp_path / "pre-push"
    script.write_bytes(b"#!/bin/sh\nset -u\n" + fence("pre-push", (sys.executable,)) + b"cat\n")
    ann.enter()

    def run(shell: list[str], pushed: str) -> subprocess.CompletedProcess[str]:
        words = [*shell, str(script), "origin", str(tmp_path / "origin.git")]
        return subprocess.run(
            words, input=pushed, capture_output=True, text=True, cwd=ann.code, check=False, env=_hooks_on()
        )

    return run


def test_any_posix_shell_reads_the_hook_alike(ann: Machine, hook: Hook, shell: list[str], tmp_path) -> None:
    zero = "0" * 40
    code, memory = ann.git("rev-parse", "main"), ann.git("rev-parse", PRIVATE)
    fine = f"refs/heads/main {code} refs/heads/main {zero}\n(delete) {zero} {SHARED} {memory}\n"
    passed = hook(shell, fine)
    assert (passed.returncode, passed.stdout, passed.stderr) == (0, fine, "")
    nothing = hook(shell, "")
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")
    refused = hook(shell, f"{fine}HEAD {memory} refs/heads/x {zero}\n")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("gitmem: not pushed: HEAD -> refs/heads/x\n")
    assert "main" not in refused.stderr.splitlines()[0]

    name = f"refs/heads/gitmem/$(touch${{IFS}}{tmp_path}/ran)`touch${{IFS}}{tmp_path}/ran`*"
    assert hook(shell, f"{name} {memory} {name} {zero}\n").returncode == 1
    assert not (tmp_path / "ran").exists(), "a branch named to be run is only read"
