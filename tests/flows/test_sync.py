"""Sharing by git: what leaves, what is refused, and that racing clones lose nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from planted_secrets import GITHUB

from gitmem.core.attributes import BRANCH_TEXT
from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land, root_commit
from gitmem.ledger.share import plan_share, start_from_remote, turn_off, turn_on
from gitmem.ledger.sync import Options, Synced, sync
from gitmem.ledger.workspace import (
    PRIVATE_REF,
    SHARED_REF,
    Surroundings,
    Workspace,
    open_workspace,
    store_project_id,
)
from gitmem.search.catalog import Catalog

ANN = Signature("Ann", "ann@example.com", 1_790_000_000)
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: {1}\n---\n\n{2}\n"
PROJECT = "refs/heads/gitmem/project"


@pytest.fixture
def bare(repo: Path, tmp_path: Path, git) -> Path:
    """A remote that holds the code."""
    path = tmp_path / "team.git"
    git("clone", "-q", "--bare", repo, path)
    return path


class Clone:
    """One person's clone, with gitmem on."""

    def __init__(self, path: Path, home: Path, who: str) -> None:
        self.path = path
        environ = {**os.environ, "GIT_CONFIG_GLOBAL": str(home / ".gitconfig")}
        around = Surroundings(
            GitCommand(environ), home, home / f".local/{who}", home / ".claude", Catalog.open
        )
        subprocess.run(
            ["git", "-C", path, "config", "user.email", f"{who}@example.com"], check=True, env=environ
        )
        (path / ".git/gitmem").mkdir(exist_ok=True)
        self.workspace: Workspace = store_project_id(open_workspace(around, path))

    def learn(
        self, name: str, text: str = "A fact.", type: str = "project", agent: str = "reviewer"
    ) -> str:
        scope = self.workspace.scope("project")
        edits = {f"{agent}/{name}.md": MEMORY.format(name, type, text).encode()}
        done = land(scope, lambda _: Write(edits, f"Add {name}", Provenance(op="add")), ANN)
        assert done is not None
        return done.commit

    def unlearn(self, name: str) -> None:
        scope = self.workspace.scope("project")
        edits = {f"reviewer/{name}.md": None}
        land(scope, lambda _: Write(edits, f"Forget {name}", Provenance(op="delete")), ANN)

    def share(self, mode: str = "direct") -> None:
        plan = plan_share(self.workspace, mode)  # type: ignore[arg-type]
        turn_on(self.workspace, plan, ANN)

    def sync(self, **changes: Any) -> Synced:
        options = Options(ask=lambda _: True, pause=lambda _: None, now=0.0)
        return sync(self.workspace, replace(options, **changes))

    def memories(self) -> dict[str, str]:
        scope = self.workspace.scope("project")
        tip = scope.repo.ref(scope.ref)
        files = read_files(scope.repo, scope.repo.commit(tip).tree) if tip else {}
        return {path: data.decode() for path, data in files.items() if path.endswith(".md")}


@pytest.fixture
def clone(bare: Path, tmp_path: Path, home: Path, git):
    """Makes clones by name."""

    def make(who: str, *words: str) -> Clone:
        git("clone", "-q", *words, bare.as_uri(), tmp_path / who)
        return Clone(tmp_path / who, home, who)

    return make


def remote_refs(git, bare: Path) -> dict[str, str]:
    rows = git("-C", bare, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(row.split() for row in rows)


def test_sharing_turns_the_ref_into_a_branch_and_back_and_without_it_nothing_is_synced(clone) -> None:
    ann = clone("ann")
    known = ann.learn("ports")
    with pytest.raises(CheckFailed, match="Sharing is off") as caught:
        ann.sync()
    assert (caught.value.exit_code, caught.value.hint) == (1, "Turn it on: git mem share")
    ann.share()
    repo = ann.workspace.code
    assert repo.ref(PRIVATE_REF) is None
    assert repo.is_ancestor(known, repo.ref(SHARED_REF))
    assert ann.workspace.sharing == "direct"
    files = read_files(repo, repo.commit(repo.ref(SHARED_REF)).tree)
    assert files[".gitattributes"].decode() == BRANCH_TEXT
    assert turn_off(ann.workspace)
    assert (repo.ref(SHARED_REF), ann.workspace.sharing) == (None, "off")
    assert repo.is_ancestor(known, repo.ref(PRIVATE_REF))
    assert not turn_off(ann.workspace)


def test_the_plan_names_every_memory_that_leaves_and_writes_nothing(clone) -> None:
    ann = clone("ann")
    ann.learn("ports")
    ann.learn("hosts", agent="main")
    ann.learn("likes-tea", type="user")
    before = ann.workspace.code.refs("refs/")
    plan = plan_share(ann.workspace)
    assert [str(memory) for memory in plan.leaves] == ["main/hosts", "reviewer/ports"]
    assert [str(memory) for memory in plan.personal] == ["reviewer/likes-tea"]
    assert (plan.mode, plan.before) == ("review", "off")
    assert ann.workspace.code.refs("refs/") == before


def test_a_writer_that_began_before_sharing_is_folded_in(clone) -> None:
    """It holds the old ref's name, and would otherwise write where nobody looks any more."""
    ann = clone("ann")
    ann.share()
    scope = replace(ann.workspace.scope("project"), ref=PRIVATE_REF)
    edits = {"main/late.md": b"late\n"}
    land(scope, lambda _: Write(edits, "Add late", Provenance(op="add")), ANN)
    ann.sync()
    assert "main/late.md" in ann.memories()
    assert ann.workspace.code.ref(PRIVATE_REF) is None


@pytest.mark.parametrize("words", [(), ("--single-branch", "--depth", "1")])
def test_two_clones_exchange_memories_without_a_conflict(clone, words: tuple[str, ...]) -> None:
    ann, ben = clone("ann"), clone("ben", *words)
    ann.share()
    ben.share()
    ann.learn("ports")
    ben.learn("hosts")
    assert (ann.sync().pushed, ann.sync().pushed) == (1, 0)
    done = ben.sync()
    assert (done.fetched, done.merged, done.pushed, done.branch) == (1, 0, 1, PROJECT)
    assert ann.sync().fetched == 1
    assert ann.memories() == ben.memories()
    assert ann.workspace.code.ref(SHARED_REF) == ben.workspace.code.ref(SHARED_REF)


def test_only_memory_refs_are_pushed_and_the_persons_own_pre_push_hook_is_heard(clone, bare, git) -> None:
    ann = clone("ann")
    ann.share()
    ann.learn("ports")
    git("-C", ann.path, "config", "push.followTags", "true")
    git("-C", ann.path, "tag", "-a", "-m", "x", "v1", SHARED_REF)
    git("-C", ann.path, "branch", "mine")
    before = remote_refs(git, bare)
    hook = ann.path / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RepositoryError, match="not today"):
        ann.sync()
    hook.unlink()
    ann.sync()
    assert set(remote_refs(git, bare)) - set(before) == {PROJECT}


def test_an_empty_remote_is_never_pushed_to(repo: Path, tmp_path: Path, home: Path, git) -> None:
    """A host may make the first branch it gets the default branch."""
    git("init", "-q", "--bare", tmp_path / "empty.git")
    git("-C", repo, "remote", "add", "origin", tmp_path / "empty.git")
    ann = Clone(repo, home, "ann")
    ann.share()
    ann.learn("ports")
    with pytest.raises(RepositoryError, match="no branch yet") as caught:
        ann.sync()
    assert "git push origin HEAD" in caught.value.hint
    assert remote_refs(git, tmp_path / "empty.git") == {}


def test_a_secret_is_not_pushed_and_once_it_is_taken_out_keeps_nothing_else_here(clone, bare, git) -> None:
    """Plain git may commit past the guard of a save; history that leaves is rebuilt without it."""
    ann = clone("ann")
    ann.share()
    ann.learn("key", GITHUB)
    with pytest.raises(CheckFailed, match=r"reviewer/key\.md holds a secret"):
        ann.sync()
    assert PROJECT not in remote_refs(git, bare)
    ann.learn("key", "Taken out.")
    assert ann.sync().pushed == 1
    there = git("-C", bare, "log", "-p", "--format=%B", PROJECT)
    assert "Taken out." in there and GITHUB not in there


def test_what_leaves_for_the_first_time_is_asked_for_and_held_back_otherwise(clone, bare, git) -> None:
    ann = clone("ann")
    ann.learn("agreed-to")
    ann.share()
    asked: list[str] = []

    def no(leaves) -> bool:
        asked.extend(map(str, leaves))
        return False

    assert ann.sync(ask=no).pushed == 1
    ann.learn("new")
    done = ann.sync(ask=no)
    assert asked == ["reviewer/new"]
    assert ([str(memory) for memory in done.held], done.pushed, done.branch) == (["reviewer/new"], 0, "")
    before = remote_refs(git, bare)
    assert ann.sync().pushed == 1
    ann.learn("new", "Changed.")
    assert ann.sync(ask=no).pushed == 1
    assert asked == ["reviewer/new"]
    assert before != remote_refs(git, bare)
    ann.unlearn("new")
    ann.learn("other")
    ann.sync()
    ann.learn("new", "Something else.")
    assert [str(memory) for memory in ann.sync(ask=no).held] == ["reviewer/new"]
    ann.learn("new", "Changed.")
    assert ann.sync(ask=no).pushed == 1, "it was taken out, and came back as it was"


def test_pull_sends_nothing_and_push_takes_nothing_in(clone, bare: Path, git) -> None:
    ann, ben = clone("ann"), clone("ben")
    ann.share()
    ben.share()
    ann.learn("ports")
    ann.sync(pull=False)
    ben.learn("hosts")
    with pytest.raises(CheckFailed, match="has memory that is not here"):
        ben.sync(pull=False)
    before = remote_refs(git, bare)
    assert ben.sync(push=False).fetched == 1
    assert remote_refs(git, bare) == before


def test_in_review_mode_the_memory_branch_is_left_to_others(clone, bare: Path, git) -> None:
    ann = clone("ann")
    ann.share("review")
    ann.learn("ports")
    done = ann.sync()
    refs = remote_refs(git, bare)
    assert done.branch == "refs/heads/gitmem/inbox/ann-example-com"
    assert done.in_inbox
    assert refs[done.branch] == ann.workspace.code.ref(SHARED_REF)
    # A request needs a base: the fixed, empty commit.
    assert refs[PROJECT] == root_commit(ann.workspace.code)
    assert ann.sync().branch == ""
    ben = clone("ben")
    ben.share()
    ben.sync()
    assert "reviewer/ports.md" not in ben.memories()


def test_gitmems_own_pre_push_hook_lets_a_sync_pass(clone, bare: Path, git) -> None:
    from gitmem.app.git_hooks import apply, plan_git_hooks, read_setup

    ann = clone("ann")
    argv = (sys.executable, "-m", "gitmem")
    setup = read_setup(ann.workspace.git, ann.path)
    apply(plan_git_hooks(ann.path / ".git", argv, setup), ann.workspace.git)
    ann.learn("ports")
    refused = subprocess.run(
        ["git", "-C", ann.path, "push", "-q", "origin", f"{PRIVATE_REF}:{PROJECT}"], capture_output=True
    )
    assert refused.returncode != 0
    ann.share()
    assert ann.sync().branch == PROJECT
    assert PROJECT in remote_refs(git, bare)


def test_a_fresh_clone_starts_from_the_remotes_memory_and_one_with_its_own_does_not(clone) -> None:
    ann = clone("ann")
    assert not start_from_remote(ann.workspace)
    ann.share()
    ann.learn("ports")
    ann.sync()
    ben, cem = clone("ben"), clone("cem")
    assert start_from_remote(ben.workspace)
    assert (ben.workspace.sharing, ben.memories()) == ("review", ann.memories())
    assert not start_from_remote(ben.workspace)
    cem.learn("mine")
    assert not start_from_remote(cem.workspace)
    assert cem.workspace.sharing == "off"
