"""Sharing by git: what leaves, what is refused, and that racing clones lose nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from machines import MEMORY, Machine
from planted_secrets import GITHUB
from sync_ground import PROJECT, Team, team

from gitmem.core.attributes import BRANCH_TEXT
from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.trailers import Provenance
from gitmem.git.repository import Signature
from gitmem.git.trees import read_files
from gitmem.ledger.land import Write, land, root_commit
from gitmem.ledger.share import plan_share, start_from_remote, turn_off
from gitmem.ledger.sync import Options, Synced
from gitmem.ledger.sync import sync as sync_memory
from gitmem.ledger.workspace import PRIVATE_REF, SHARED_REF

__all__ = ["team"]
ANN = Signature("Ann", "ann@example.com", 1_790_000_000)


def learn(
    one: Machine, name: str, text: str | None = "A fact.", type: str = "project", agent: str = "reviewer"
) -> str:
    """Commits a project memory; None deletes it."""
    data = MEMORY.format(name, text).replace("type: project", f"type: {type}").encode()
    edits = {f"{agent}/{name}.md": data if text is not None else None}
    write = Write(edits, f"Add {name}", Provenance(op="add"))
    done = land(one.workspace.scope("project"), lambda _: write, ANN)
    assert done is not None
    return done.commit


def sync(one: Machine, **changes: Any) -> Synced:
    options = Options(ask=lambda _: True, pause=lambda _: None, now=0.0)
    return sync_memory(one.workspace, replace(options, **changes))


def test_sharing_turns_the_ref_into_a_branch_and_back_and_without_it_nothing_is_synced(team: Team) -> None:
    (ann,) = team.people(ann="")
    known = learn(ann, "ports")
    with pytest.raises(CheckFailed, match="Sharing is off") as caught:
        sync(ann)
    assert (caught.value.exit_code, caught.value.hint) == (1, "Turn it on: git mem share")
    ann.run("share", "--mode", "direct", "-y")
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


def test_the_plan_names_every_memory_that_leaves_and_writes_nothing(team: Team) -> None:
    (ann,) = team.people(ann="")
    learn(ann, "ports")
    learn(ann, "hosts", agent="main")
    learn(ann, "likes-tea", type="user")
    before = ann.workspace.code.refs("refs/")
    plan = plan_share(ann.workspace)
    assert [str(memory) for memory in plan.leaves] == ["main/hosts", "reviewer/ports"]
    assert [str(memory) for memory in plan.personal] == ["reviewer/likes-tea"]
    assert (plan.mode, plan.before) == ("review", "off")
    assert ann.workspace.code.refs("refs/") == before


def test_a_writer_that_began_before_sharing_is_folded_in(team: Team) -> None:
    """It holds the old ref's name, and would otherwise write where nobody looks any more."""
    (ann,) = team.people(ann="direct")
    scope = replace(ann.workspace.scope("project"), ref=PRIVATE_REF)
    edits = {"main/late.md": b"late\n"}
    land(scope, lambda _: Write(edits, "Add late", Provenance(op="add")), ANN)
    sync(ann)
    assert "main/late.md" in ann.memories("project")
    assert ann.workspace.code.ref(PRIVATE_REF) is None


def test_only_memory_refs_are_pushed_and_the_persons_own_pre_push_hook_is_heard(team: Team) -> None:
    (ann,) = team.people(ann="direct")
    learn(ann, "ports")
    ann.git("config", "push.followTags", "true")
    ann.git("tag", "-a", "-m", "x", "v1", SHARED_REF)
    ann.git("branch", "mine")
    before = team.refs()
    hook = ann.code / ".git/hooks/pre-push"
    hook.write_text("#!/bin/sh\necho not today >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RepositoryError, match="not today"):
        sync(ann)
    hook.unlink()
    sync(ann)
    assert set(team.refs()) - set(before) == {PROJECT}


def test_a_secret_is_not_pushed_and_once_it_is_taken_out_keeps_nothing_else_here(team: Team) -> None:
    """Plain git may commit past the guard of a save; history that leaves is rebuilt without it."""
    (ann,) = team.people(ann="direct")
    learn(ann, "key", GITHUB)
    with pytest.raises(CheckFailed, match=r"reviewer/key\.md holds a secret"):
        sync(ann)
    assert PROJECT not in team.refs()
    learn(ann, "key", "Taken out.")
    assert sync(ann).pushed == 1
    there = team.git("-C", team.bare, "log", "-p", "--format=%B", PROJECT)
    assert "Taken out." in there and GITHUB not in there


def test_what_leaves_for_the_first_time_is_asked_for_and_held_back_otherwise(team: Team) -> None:
    (ann,) = team.people(ann="")
    learn(ann, "agreed-to")
    ann.run("share", "--mode", "direct", "-y")
    asked: list[str] = []

    def no(leaves) -> bool:
        asked.extend(map(str, leaves))
        return False

    assert sync(ann, ask=no).pushed == 1
    learn(ann, "new")
    done = sync(ann, ask=no)
    assert asked == ["reviewer/new"]
    assert ([str(memory) for memory in done.held], done.pushed, done.branch) == (["reviewer/new"], 0, "")
    before = team.refs()
    assert sync(ann).pushed == 1
    learn(ann, "new", "Changed.")
    assert sync(ann, ask=no).pushed == 1
    assert asked == ["reviewer/new"]
    assert before != team.refs()
    learn(ann, "new", None)
    learn(ann, "other")
    sync(ann)
    learn(ann, "new", "Something else.")
    assert [str(memory) for memory in sync(ann, ask=no).held] == ["reviewer/new"]
    learn(ann, "new", "Changed.")
    assert sync(ann, ask=no).pushed == 1, "it was taken out, and came back as it was"


def test_pull_sends_nothing_and_push_takes_nothing_in(team: Team) -> None:
    ann, ben = team.people(ann="direct", ben="direct")
    learn(ann, "ports")
    sync(ann, pull=False)
    learn(ben, "hosts")
    with pytest.raises(CheckFailed, match="has memory that is not here"):
        sync(ben, pull=False)
    before = team.refs()
    assert sync(ben, push=False).fetched == 1
    assert team.refs() == before


def test_in_review_mode_the_memory_branch_is_left_to_others(team: Team) -> None:
    ann, ben = team.people(ann="review", ben="direct")
    learn(ann, "ports")
    done = sync(ann)
    refs = team.refs()
    assert done.branch == "refs/heads/gitmem/inbox/ann-example-com"
    assert done.in_inbox
    assert refs[done.branch] == ann.workspace.code.ref(SHARED_REF)
    # A request needs a base: the fixed, empty commit.
    assert refs[PROJECT] == root_commit(ann.workspace.code)
    assert sync(ann).branch == ""
    sync(ben)
    assert "reviewer/ports.md" not in ben.memories("project")


def test_a_fresh_clone_starts_from_the_remotes_memory_and_one_with_its_own_does_not(team: Team) -> None:
    ann, ben, cem = team.people(ann="", ben="", cem="")
    assert not start_from_remote(ann.workspace)
    ann.run("share", "--mode", "direct", "-y")
    learn(ann, "ports")
    sync(ann)
    for one in (ben, cem):
        one.git("fetch", "-q")
    assert start_from_remote(ben.workspace)
    assert (ben.workspace.sharing, ben.memories("project")) == ("review", ann.memories("project"))
    assert not start_from_remote(ben.workspace)
    learn(cem, "mine")
    assert not start_from_remote(cem.workspace)
    assert cem.workspace.sharing == "off"
