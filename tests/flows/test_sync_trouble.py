"""Sync where something is wrong: no network, an interrupt, a secret; and hooks that need no network."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from planted_secrets import GITHUB
from servers import HttpServer, http_server
from sync_ground import PROJECT, Team, live, teach, team

from gitmem.app import steps
from gitmem.app.spool import Job
from gitmem.git.remote import explain_remote, is_protection

__all__ = ["team"]

ROOT = Path(__file__).parents[2]


def test_without_a_network_all_stays_and_the_hint_says_so(team: Team) -> None:
    server = HttpServer(team.served)
    try:
        ann = team.person("ann", f"{server.url}/team.git")
    finally:
        server.close()
    teach(ann, "ports")
    failed = ann.run("sync", "-y", code=3)
    assert "origin cannot be used" in failed.err and "hint: Nothing is lost" in failed.err
    assert "reviewer/ports.md" in ann.memories("project")


def test_a_repository_that_is_gone_says_where_the_remote_leads(team: Team) -> None:
    (ann,) = team.people(ann="direct")
    team.bare.rename(team.served / "gone.git")
    assert "git remote set-url origin URL" in ann.run("sync", code=3).err


@pytest.mark.parametrize(
    ("said", "message", "hint"),
    [
        (
            "ssh: Could not resolve hostname h: Name or service not known\nfatal: Could not read",
            "ssh: Could",
            "Nothing is lost",
        ),
        (
            "Host key verification failed.\nfatal: Could not read from remote repository.",
            "Host key",
            "does not know this host",
        ),
        (
            "fatal: could not read Username for 'https://h': terminal prompts disabled",
            "could not read Username",
            "credential helper",
        ),
        (
            "fatal: unable to access 'https://h/': The requested URL returned error: 403",
            "unable to access",
            "You may not",
        ),
        (
            "ERROR: Repository not found.\nfatal: Could not read from remote repository.",
            "ERROR: Repository",
            "git remote -v",
        ),
        (
            "fatal: unable to access 'https://h/': SSL certificate problem",
            "unable to access",
            "certificate",
        ),
        ("fatal: something new", "something new", ""),
    ],
)
def test_known_failures_have_a_hint(said: str, message: str, hint: str) -> None:
    told = explain_remote(said, "origin")
    assert told[0].startswith(message)
    assert hint in told[1] and bool(hint) == bool(told[1])


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("[remote rejected] (protected branch hook declined)", True),
        ("[remote rejected] (pre-receive hook declined)", True),
        ("[remote rejected] (push declined due to repository rule violations)", True),
        ("[remote rejected] (prohibited by Gerrit: not permitted: update)", True),
        ("[remote rejected] (branch is currently checked out)", False),
        ("[remote rejected] (shallow update not allowed)", False),
        ("[rejected] (non-fast-forward)", False),
    ],
)
def test_a_protection_is_told_from_other_refusals(verdict: str, expected: bool) -> None:
    assert is_protection(verdict) is expected


def test_an_interrupt_leaves_refs_sound_and_the_next_sync_finishes(team: Team, tmp_path: Path) -> None:
    """The remote's hook waits while the signal comes, so it arrives in the midst of a push."""
    (ann,) = team.people(ann="direct")
    teach(ann, "ports")
    ann.run("save")
    before = ann.git("rev-parse", PROJECT)
    inside, go = tmp_path / "inside", tmp_path / "go"
    os.mkfifo(inside)
    os.mkfifo(go)
    hook = team.bare / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho here >{inside}\nread line <{go}\nexit 0\n")
    hook.chmod(0o755)
    ann.enter()
    started = subprocess.Popen(
        [sys.executable, "-m", "gitmem", "sync", "-y"],
        cwd=ann.code,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert inside.read_text() == "here\n"
    # As a terminal does it: gitmem and its git are told, and so is a remote on this machine.
    os.killpg(started.pid, signal.SIGINT)
    out, said = started.communicate(timeout=60)
    assert started.returncode == 130, said
    assert "Traceback" not in said + out
    hook.unlink()
    assert ann.git("rev-parse", PROJECT) == before
    # Those below .git/gitmem are kernel locks, which end with their process.
    git_dir = ann.code / ".git"
    left = [path.relative_to(git_dir) for path in git_dir.rglob("*.lock")]
    assert not [path for path in left if path.parts[0] != "gitmem"]
    ann.git("fsck", "--strict")
    ann.run("sync", "-y")
    assert "reviewer/ports.md" in team.files()


def test_the_work_after_a_merge_uses_what_was_fetched_and_never_the_network(team: Team) -> None:
    with http_server(team.served) as server:
        ann, ben = (team.person(who, f"{server.url}/team.git") for who in ("ann", "ben"))
        teach(ann, "ports")
        ann.run("sync", "-y")
        ben.git("pull", "-q")
        ben.git("fetch", "-q", "origin", "+refs/heads/gitmem/*:refs/remotes/origin/gitmem/*")
        asked = len(server.requests)
        ben.enter()
        steps.run(ben.code / ".git", Job("merge", str(ben.code), args=("0",)), dict(os.environ))
        assert len(server.requests) == asked
        assert "ports.md" in live(ben)
        theirs = ben.git("rev-parse", "origin/gitmem/project")
        assert ben.git("merge-base", PROJECT, theirs) == theirs


def test_after_a_merge_a_newer_format_is_left_alone_with_a_word_in_the_log(team: Team) -> None:
    (ann,) = team.people(ann="direct")
    blob = ann.git("hash-object", "-w", team.folder / "seed/README")
    tree = team.git("-C", ann.code, "mktree", input=f"100644 blob {blob}\tx.md\n")
    ann.git("update-ref", "refs/remotes/origin/gitmem/project", ann.git("commit-tree", tree, "-m", "x"))
    before = ann.git("rev-parse", PROJECT)
    ann.enter()
    steps.run(ann.code / ".git", Job("merge", str(ann.code), args=("0",)), dict(os.environ))
    assert ann.git("rev-parse", PROJECT) == before
    logs = [path.read_bytes() for path in (ann.code / ".git/gitmem").rglob("*log*") if path.is_file()]
    assert any(b" merge: " in text and b"which is no memory" in text for text in logs), logs


def test_a_secret_from_elsewhere_is_reported_and_hidden_from_recall(team: Team) -> None:
    ann, ben = team.people(ann="direct", ben="direct")
    teach(ann, "deploy-key", "Rotate it each spring.")
    ann.run("sync", "-y")
    tree = team.folder / "plain"
    team.git("clone", "-q", "-b", "gitmem/project", team.bare, tree)
    path = tree / "reviewer/deploy-key.md"
    path.write_text(path.read_text() + f"\nThe deploy token is {GITHUB}\n")
    team.git("-C", tree, "commit", "-qam", "Add by plain git")
    team.git("-C", tree, "push", "-q")
    done = ben.run("sync", "-y")
    assert "reviewer/deploy-key.md" in done.err and "rotated" in done.err
    assert GITHUB not in done.err + done.out
    recalled = ben.run("recall", "--agent", "reviewer", "rotate deploy key each spring")
    assert "Rotate it each spring" in recalled.out
    assert GITHUB not in recalled.out
    assert "deploy-key.md" in live(ben)
