"""What was purged elsewhere leaves a clone however the sync that brought the news ended."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machines import Machine
from purge_ground import PROJECT, SECRET, follow, holding, is_gone, live, tip
from sync_ground import refuse

from gitmem.app import steps
from gitmem.app.spool import Job
from gitmem.ledger.epochs import epoch_of
from gitmem.ledger.erase import JOURNAL

pytestmark = pytest.mark.long

KILLED = """
import os, signal, sys
from gitmem.flows import purge as purging
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
purging.settle_carried = lambda workspace, carried, **more: die() if tuple(carried) else False
from gitmem.entry import main
sys.exit(main())
"""


def asked(machine: Machine, *, fetch: bool = True) -> str:
    """The id of the purge that waits, once it was fetched."""
    if fetch:
        machine.run("sync", "-y", code=1)
    (item,) = [one for one in machine.run("review", "--json").json if one["kind"] == "purge"]
    return str(item["id"])


def take(machine: Machine, *, fetch: bool = True) -> None:
    """Agrees to the purge that waits."""
    machine.run("review", "accept", asked(machine, fetch=fetch))


def edit(machine: Machine, text: str) -> Path:
    """Adds to a live file, without saving it."""
    where = live(machine, "hosts")
    where.write_text(f"{where.read_text()}\n{text}\n")
    return where


def test_a_sync_that_fails_at_the_remote_cleans_up_all_the_same(ann, ben, team) -> None:
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    where = edit(ben, f"Unsaved, with {SECRET}.")
    ann.run("purge", SECRET, "-y")
    hook = refuse(team, "refs/heads/gitmem/*")
    take(ben)
    assert is_gone(ben)
    ben.run("sync", "-y", code=3)
    assert is_gone(ben)
    hook.unlink()
    ben.run("sync", "-y")
    assert is_gone(ben) and "Unsaved, with [purged]." in where.read_text()


def test_what_git_pull_brought_over_a_purge_is_cleaned_up_when_agreed(ann: Machine, ben: Machine) -> None:
    """The hook after a merge has nobody to ask; what was fetched is all that the answer needs."""
    ben.learn("names", f"Names are short, {SECRET} is long.", scope="project", agent="reviewer")
    where = edit(ben, "Unsaved.")
    ann.run("purge", SECRET, "-y")
    ben.git("fetch", "-q", "origin")
    ben.enter()
    steps.run(ben.code / ".git", Job("merge", str(ben.code), args=("0",)), dict(os.environ))
    assert SECRET in live(ben, "login").read_text()
    take(ben, fetch=False)
    assert is_gone(ben) and "Unsaved." in where.read_text()


def test_a_sync_that_was_killed_after_its_merge_is_finished_by_the_next(ann: Machine, ben: Machine) -> None:
    where = edit(ben, f"Unsaved, with {SECRET}.")
    ann.run("purge", SECRET, "-y")
    ben.enter()
    environ = {**os.environ, "GITMEM_NOW": str(ben.now + 60), "PYTHONPATH": str(Path(__file__).parents[2])}
    id = asked(ben)
    words = [sys.executable, "-c", KILLED, "review", "accept", id]
    done = subprocess.run(words, cwd=ben.code, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    journal = ben.code / ".git" / JOURNAL
    assert json.loads(journal.read_text())["left"] and SECRET not in journal.read_text()
    ben.run("sync", "-y")
    assert is_gone(ben) and not journal.exists()
    assert "Unsaved, with [purged]." in where.read_text()


def test_a_partial_clone_does_not_fetch_again_what_it_erases(ann, team, machine, git) -> None:
    """The host still has the old objects until it tidies up, and git fetches what it is asked about."""
    git("--git-dir", team, "config", "uploadpack.allowFilter", "true")
    git("--git-dir", team, "config", "uploadpack.allowAnySHA1InWant", "true")
    cem = machine("cem")
    cem.git("config", "extensions.partialClone", "origin")
    cem.git("config", "remote.origin.promisor", "true")
    cem.git("config", "remote.origin.partialclonefilter", "blob:none")
    cem.run("init", "-y")
    cem.run("share", "--mode", "direct", "-y")
    cem.run("sync", "-y")
    assert holding(cem.code / ".git")
    ann.run("purge", SECRET, "-y")
    assert holding(team)
    follow(cem)
    assert is_gone(cem)


def test_a_memory_of_the_same_name_in_another_scope_stays(ann, machine, tmp_path, git) -> None:
    safe = tmp_path / "safe.git"
    git("init", "-q", "--bare", safe)
    for number in range(12):
        # One of so many that its deletion would pass for meant.
        ann.learn(f"other-{number}")
    for scope in ("user", "local"):
        ann.learn("editor", f"Known to {scope}.", scope=scope)
    ann.run("backup", safe, "-y")
    laptop = machine("laptop")
    laptop.run("init", "-y", "--backup", safe)
    laptop.run("save")
    assert "Known to local." in (laptop.auto / "editor.md").read_text()
    ann.run("purge", "editor", "--memory", "--scope", "user", "-y")
    laptop.run("backup")
    laptop.run("save")
    assert "main/editor.md" not in laptop.memories("user")
    assert "Known to local." in laptop.memories("local")["main/editor.md"]


class TestInReview:
    """Who cannot move the memory branch of the remote."""

    def test_is_told_who_can_take_it_out_there(self, ann: Machine, ben: Machine, team: Path) -> None:
        ben.run("share", "--mode", "review", "-y")
        ben.run("purge", SECRET, "-y", "--no-push")
        ran = ben.run("sync", "-y", code=3)
        assert "origin/gitmem/project still holds what was purged here" in ran.err
        assert "git mem share --mode direct" in ran.err
        ben.git("fetch", "-q", "origin")
        assert "the remote has it still" in ben.run("purge", SECRET, "-y", "--no-push", code=1).out
        ben.run("share", "--mode", "direct", "-y")
        hook = refuse(team, "refs/heads/gitmem/project")
        assert "origin/gitmem/project still holds what was purged here" in ben.run("sync", "-y", code=3).err
        hook.unlink()
        ben.run("sync", "-y")
        assert is_gone(ben)
        follow(ann)
        assert is_gone(ann) and tip(ann) == tip(ben)

    @pytest.mark.parametrize("first", ["0" * 8, "f" * 8])
    def test_follows_whoever_purged_it_there(self, ann, ben, team, git, monkeypatch, first: str) -> None:
        """Whichever of the two new epochs is the higher one."""
        ben.run("share", "--mode", "review", "-y")
        ben.learn("names", "Names are short.", scope="project", agent="reviewer")
        ben.run("sync", "-y")
        monkeypatch.setattr("secrets.token_hex", lambda _: first)
        ben.run("purge", SECRET, "-y", "--no-push")
        monkeypatch.setattr("secrets.token_hex", lambda _: "7" * 8)
        ann.run("purge", SECRET, "-y")
        ben.run("sync", "-y")
        assert is_gone(ben)
        waiting = git("--git-dir", team, "rev-parse", "refs/heads/gitmem/inbox/ann-example-com")
        published = git("--git-dir", team, "rev-parse", PROJECT)
        git("--git-dir", team, "merge-base", "--is-ancestor", published, waiting)
        assert "Names are short." in git("--git-dir", team, "show", f"{waiting}:reviewer/names.md")
        assert epoch_of(ben.workspace.code, tip(ben)) == epoch_of(ann.workspace.code, tip(ann))

    @pytest.mark.parametrize("own", [False, True])
    def test_what_only_its_inbox_held_goes_with_a_purge(self, ann, ben, team, git, own: bool) -> None:
        """No memory of the team had it: the inbox alone tells of the purge."""
        other = "amber-falcon-2290-lisbon"
        ben.run("share", "--mode", "review", "-y")
        ben.learn("key", f"The key is {other}.", scope="project", agent="reviewer")
        ben.run("sync", "-y")
        ann.run("sync", "-y")
        ann.run("purge", other, "-y")
        for text in (SECRET, "Ports start at 4000") if own else ():
            ben.run("purge", text, "-y", "--no-push")
        if own:
            ben.run("share", "--mode", "direct", "-y")
        follow(ben)
        assert other not in git("--git-dir", team, "log", "-p", "--all")
        assert "The key is [purged]." in ben.memories("project")["reviewer/key.md"]
        assert is_gone(ben, other)
