"""Inboxes and dreams at the remote: what a host is asked to merge, and what a sync does for it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from machines import MEMORY, Machine
from sync_ground import PROJECT, Team, live, refuse, teach, team

from gitmem.core.trailers import Provenance
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import write_tree
from gitmem.ledger import sync as sync_module
from gitmem.ledger.land import Ref, Write, land, root_commit
from gitmem.ledger.side_branches import (
    Landing,
    adds_nothing,
    find_landing,
    outstanding,
    record_landing,
    records_under,
    with_base,
)

__all__ = ["team"]

ANN_INBOX = "refs/heads/gitmem/inbox/ann-example-com"
HOSTILE = "refs/heads/gitmem/inbox/a-hostile-one"
DREAM = "refs/heads/gitmem/dream/d-1234567890"
WHO = Signature("Ann", "ann@example.com", 1_795_000_000)


def put(repo: Repository, files: Mapping[str, str], *parents: str, message: str = "Learn\n") -> str:
    """Commits a whole tree."""
    tree = write_tree(repo, None, {path: text.encode() for path, text in files.items()})
    return repo.add_commit(tree, parents or (root_commit(repo),), WHO, WHO, message)


@pytest.fixture
def store(repo: Path) -> Repository:
    return open_repository(repo, GitCommand(dict(os.environ)))


def dream(one: Machine, edits: dict[str, bytes]) -> None:
    """Parks a dream of one change, and pushes it as a request does."""
    repo = one.workspace.code
    move_ref(repo, DREAM, repo.ref(PROJECT), None, "dream")
    land(Ref(repo, DREAM), lambda _: Write(edits, "Dream", Provenance(op="dream", writer="dream")), WHO)
    one.git("push", "-q", "origin", DREAM)


def test_a_record_is_found_by_what_was_built_on_the_ground_that_it_names(store: Repository) -> None:
    base = put(store, {"main/a.md": "One.\n"})
    asked = put(store, {"main/a.md": "One.\n", "main/b.md": "Two.\n"}, base)
    squashed = put(store, {"main/a.md": "One.\n", "main/b.md": "Two.\n", "main/d.md": "Four.\n"}, base)
    memory = record_landing(store, squashed, Landing((asked,), (), base), ANN_INBOX)
    for ground, found in ((asked, (memory,)), (base, ())):
        side = put(store, {"main/c.md": "Three.\n"}, ground)
        assert records_under(store, memory, squashed, side) == found


@pytest.mark.parametrize(("undone", "waits"), [("a", 0), ("b", 1)])
def test_what_an_undo_took_back_waits_again_and_nothing_else(store, undone: str, waits: int) -> None:
    """A memory that the team took, and deleted since, is asked for no more, whatever else was undone."""
    base = put(store, {"main/0.md": "Nought.\n"})
    side = put(store, {"main/0.md": "Nought.\n", "main/b.md": "Two.\n"}, base)
    commits = {"a": put(store, {"main/0.md": "Nought.\n", "main/a.md": "One.\n"}, base)}
    whole = {"main/0.md": "Nought.\n", "main/a.md": "One.\n", "main/b.md": "Two.\n"}
    commits["b"] = put(store, whole, commits["a"])
    if undone == "a":
        del whole["main/b.md"]
        commits["c"] = put(store, whole, commits["b"])
    del whole[f"main/{undone}.md"]
    said = f"Undo\n\nGitmem-Undoes: {commits[undone]}\n"
    memory = put(store, whole, [*commits.values()][-1], message=said)
    assert len(outstanding(store, memory, side, base)) == waits


@pytest.mark.parametrize(
    ("stands", "landed"),
    [("Staging runs on three hosts.", True), ("Staging runs", False), ("Ask Ann.", False)],
)
def test_what_a_host_took_in_other_words_says_most_of_the_same(store, stands: str, landed: bool) -> None:
    base = put(store, {"main/a.md": "One.\n"})
    asked = put(store, {"main/a.md": "One.\n\nStaging runs on two hosts.\n"}, base)
    memory = put(store, {"main/a.md": f"One.\n\n{stands}\n"}, base)
    assert (find_landing(store, memory, asked, None) is not None) is landed


def test_what_was_emptied_at_the_host_or_asks_for_nothing_has_not_landed(store: Repository) -> None:
    base = put(store, {"main/a.md": "One.\n"})
    asked = put(store, {"main/a.md": "One.\n", "main/b.md": "Two.\n"}, base)
    emptied = put(store, {"main/a.md": "One.\n"}, asked)
    memory = put(store, {"main/a.md": "One.\n", "main/c.md": "Three.\n"}, base)
    assert find_landing(store, memory, asked, emptied) is None
    assert find_landing(store, memory, emptied, None) is None


def test_the_commands_say_in_one_line_what_they_did(team: Team) -> None:
    ann, ben = team.people(ann="", ben="direct")
    teach(ann, "ports")
    assert "git mem share" in ann.run("sync", code=1).err
    assert "reviewer/ports" in ann.run("share", "--mode", "direct", code=1).err
    shared = ann.run("share", "--mode", "direct", "-y")
    assert shared.out == "project memory is shared with origin (direct); git mem sync sends it\n"
    assert "undo: git mem share --off" in shared.err
    value = ann.run("sync", "--json").json
    told = {"remote": "origin", "dry_run": False, "fetched": 0, "merged": 0, "pushed": 1, "lost_races": 0}
    told |= {"branch": PROJECT, "switched_to_review": None}
    empty = {"leaves", "held", "secrets", "buried", "split", "updated", "removed", "landed", "set_aside"}
    empty |= {"carried", "purged_text_in_private", "doubts", "left_to_host", "sent"}
    assert {key: value[key] for key in value.keys() - empty} == told
    assert not any(value[key] for key in value.keys() & empty)
    assert ann.run("sync").out == "origin: 0 fetched, 0 merged, 0 pushed\n"
    teach(ben, "hosts")
    ben.run("sync", "-y")
    fetched = ann.run("sync")
    assert fetched.out == "origin: 1 fetched, 0 merged, 0 pushed\n"
    ann.run(*fetched.err.split("undo: git mem ")[1].split())
    assert {"reviewer/ports.md"} == {path for path in ann.memories("project") if "MEMORY" not in path}
    ann.run("share", "--off")


def test_a_request_never_changes_the_index_and_holds_the_base(team: Team) -> None:
    """On that file hosts, which know no merge driver, would conflict."""
    ann, ben = team.people(ann="review", ben="direct")
    teach(ben, "hosts")
    ben.run("sync", "-y")
    teach(ann, "ports")
    ann.run("sync", "-y")
    teach(ben, "names")
    ben.run("sync", "-y")
    ann.run("sync")
    refs = team.refs()
    differs = team.git("-C", team.bare, "diff", "--name-only", f"{PROJECT}...{ANN_INBOX}").split()
    assert differs == ["reviewer/ports.md"]
    assert team.git("-C", team.bare, "merge-base", PROJECT, ANN_INBOX) == refs[PROJECT]


def test_sharing_before_anything_was_learned_asks_nobody(team: Team) -> None:
    ann = team.people(ann="review")[0]
    for _ in range(2):
        ann.run("sync")
        assert {*team.refs()} == {"refs/heads/main", PROJECT}
    assert "nothing waits for you" in ann.run("review").err


@pytest.mark.parametrize("verb", ["undo", "forget"])
def test_what_is_taken_back_before_anybody_decided_is_asked_for_no_longer(team: Team, verb: str) -> None:
    """What somebody would still merge at the host came from nowhere, and the list named a closed branch."""
    ann = team.people(ann="review")[0]
    ann.run("remember", "--scope", "project", "--name", "ports", "Staging listens on 8080.")
    ann.run("sync", "-y")
    assert ANN_INBOX in team.refs()
    ann.run(verb, *(["ports"] if verb == "forget" else []))
    done = ann.run("sync")
    assert "removed gitmem/inbox/ann-example-com, which has nothing left to ask" in done.err
    assert "waits" not in done.out
    assert ANN_INBOX not in team.refs()
    ann.run("sync")
    assert "nothing waits for you" in ann.run("review").err
    assert "ports" in ann.run("log", "ports", "--oneline").out


def test_what_landed_is_not_asked_for_again_where_nobody_may_delete_its_branch(team: Team) -> None:
    """Whatever the team learned next, the sync pushed a branch that asks for nothing, and said it waits."""
    ann, ben = team.people(ann="review", ben="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    team.git("-C", team.bare, "config", "receive.denyDeletes", "true")
    team.git("-C", team.bare, "update-ref", PROJECT, ANN_INBOX)
    asked = team.refs()[ANN_INBOX]
    for name in ("hosts", "names"):
        teach(ben, name)
        ben.run("sync", "-y")
        assert "waits" not in ann.run("sync", "-y").out
        assert team.refs()[ANN_INBOX] == asked


def test_in_direct_mode_others_requests_get_the_base_but_nothing_of_them_enters(team: Team) -> None:
    """A branch that cannot be read keeps no other from being tended, and stays as it is."""
    ann, ben = team.people(ann="review", ben="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    blob = team.git("-C", team.bare, "hash-object", "-w", "--stdin", input="x")
    tree = team.git("-C", team.bare, "mktree", input=f"100644 blob {blob}\ta:b.md\n")
    hostile = team.git("-C", team.bare, "commit-tree", tree, "-m", "x")
    team.git("-C", team.bare, "update-ref", HOSTILE, hostile)
    teach(ben, "hosts")
    done = json.loads(ben.run("sync", "-y", "--json").out)
    assert done["updated"] == [ANN_INBOX] and team.refs()[HOSTILE] == hostile
    assert "ports.md" not in live(ben) and "reviewer/ports.md" not in team.files()
    assert team.files(ANN_INBOX) >= {"reviewer/ports.md", "reviewer/hosts.md"}
    assert team.git("-C", team.bare, "merge-base", PROJECT, ANN_INBOX) == team.refs()[PROJECT]
    assert json.loads(ben.run("sync", "--json").out)["updated"] == []


def test_a_dream_that_a_host_deleted_unmerged_stays_here_for_review(team: Team) -> None:
    (ann,) = team.people(ann="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    dream(ann, {"reviewer/ports.md": b"---\nname: ports\ndescription: x\ntype: project\n---\n\nDreamt.\n"})
    ann.run("sync")
    team.git("-C", team.bare, "update-ref", "-d", DREAM)
    assert json.loads(ann.run("sync", "--json").out)["removed"] == []
    assert ann.git("for-each-ref", DREAM)


def test_two_clones_bring_a_request_up_to_date_in_the_same_commit(team: Team) -> None:
    ann, ben = team.people(ann="review", ben="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    teach(ben, "hosts")
    ben.run("sync", "-y", "--push")
    for one in (ann, ben):
        one.git("fetch", "-q", "origin", "+refs/heads/gitmem/*:refs/remotes/origin/gitmem/*")
    tips = []
    for one in (ann, ben):
        repo = one.workspace.code
        side, base = (
            one.git("rev-parse", f"origin/gitmem/{name}") for name in ("inbox/ann-example-com", "project")
        )
        tips.append(with_base(repo, side, base))
        assert not adds_nothing(repo, side, base)
        assert with_base(repo, tips[-1], base) == tips[-1]
        assert with_base(repo, base, tips[-1]) == tips[-1]
    assert len(set(tips)) == 1


def test_a_dry_run_tells_what_it_would_do_and_moves_nothing(team: Team) -> None:
    ann, ben = team.people(ann="review", ben="direct")
    teach(ann, "ports")
    ann.run("sync", "-y")
    teach(ben, "hosts")
    ben.run("sync", "-y", "--push")
    teach(ann, "names")
    ann.run("save")
    before = team.refs(), ann.git("for-each-ref", "refs/heads/")
    done = json.loads(ann.run("sync", "-n", "--json").out)
    assert (done["dry_run"], done["fetched"], done["branch"]) == (True, 1, ANN_INBOX)
    assert [memory["name"] for memory in done["leaves"]] == ["names"] and done["held"] == []
    assert (team.refs(), ann.git("for-each-ref", "refs/heads/")) == before
    told = ann.run("sync", "-n").out
    assert "would leave for the first time: reviewer/names" in told
    assert (
        "1 pushed to gitmem/inbox/ann-example-com, where it waits for review (you are asked first)" in told
    )


def test_a_sync_says_what_it_brought_to_decide_on_once(team: Team) -> None:
    ann, ben = team.people(ann="review", ben="direct")
    for name in ("ports", "hosts"):
        teach(ann, name)
        ann.run("sync", "-y")
        assert "waits for you: gitmem/inbox/ann-example-com: " in ben.run("sync").err
        assert "waits for you" not in ben.run("sync").err


def test_a_protected_branch_turns_this_clone_to_review_and_loses_nothing(team: Team) -> None:
    (ann,) = team.people(ann="direct")
    teach(ann, "hosts")
    ann.run("sync", "-y")
    refuse(team.bare, "refs/heads/gitmem/project")
    teach(ann, "ports")
    done = ann.run("sync", "-y")
    assert "1 pushed to gitmem/inbox/ann-example-com, where it waits for review" in done.out
    [said] = [line for line in done.err.splitlines() if "protects gitmem/project" in line]
    assert "protected here" in said and "undo: git mem share --mode direct" in said
    assert ann.git("config", "gitmem.share") == "review"
    assert "reviewer/ports.md" in team.files(ANN_INBOX)
    assert json.loads(ann.run("sync", "--json").out)["branch"] is None


def test_what_was_held_back_does_not_leave_by_another_mode(team: Team) -> None:
    """Nothing is named by that command, so nobody has agreed to anything."""
    (ann,) = team.people(ann="review")
    teach(ann, "ports")
    ann.run("sync", code=1)
    ann.run("share", "--mode", "direct")
    assert "Held back: reviewer/ports" in ann.run("sync", code=1).err
    assert PROJECT not in team.refs()


def test_a_remote_that_refuses_every_branch_changes_no_setting(team: Team) -> None:
    """Then it is about what is pushed, or about who pushes, and review would not help."""
    (ann,) = team.people(ann="direct")
    refuse(team.bare, "*")
    teach(ann, "ports")
    failed = ann.run("sync", "-y", code=3)
    assert "refused gitmem/project" in failed.err and "protected here" in failed.err
    assert ann.git("config", "gitmem.share") == "direct"


@pytest.mark.long
def test_what_lost_too_many_races_is_folded_in_by_the_writers_next_sync(team: Team) -> None:
    ann, ben = team.people(ann="direct", ben="direct")
    push, others = sync_module.Remote.push, iter(range(99))

    def race(self, oid, branch, expected=None):
        if branch == PROJECT and self.cwd == ann.code:
            teach(ben, f"quick-{next(others)}")
            ben.run("sync", "-y")
            ann.enter()
        return push(self, oid, branch, expected)

    team.patch.setattr(sync_module.Remote, "push", race)
    team.patch.setattr("gitmem.git.remote.PushPatience.__call__", lambda self, lost: None)
    teach(ann, "slow")
    ann.run("save")
    workspace = ann.workspace
    pauses: list[int] = []
    options = sync_module.Options(ask=lambda _: True, pause=pauses.append, now=0.0)
    done = sync_module.sync(workspace, options)
    assert (done.lost, done.branch, pauses) == (8, ANN_INBOX, [*range(1, 9)])
    team.patch.setattr(sync_module.Remote, "push", push)
    ben.run("sync")
    assert "slow.md" not in live(ben), "others' inboxes are for review"
    ann.run("sync")
    assert ANN_INBOX not in team.refs()
    ben.run("sync")
    assert "slow.md" in live(ben)


def test_sync_tidies_what_a_host_merged_and_sends_it(team: Team) -> None:
    """A host's merge, and an edit on the web."""
    (ann,) = team.people(ann="direct")
    teach(ann, "port")
    ann.run("sync", "-y")
    host = team.folder / "host"
    team.git("clone", "-q", "-b", "gitmem/project", team.bare, host)
    for branch, name in (("gitmem/project", "one"), ("edit", "two")):
        team.git("-C", host, "checkout", "-q", "-B", branch, "origin/gitmem/project")
        (host / f"reviewer/{name}.md").write_text(MEMORY.format(name, f"Fact {name}."))
        team.git("-C", host, "add", "-A")
        team.git("-C", host, "commit", "-qm", f"Add {name} on the web")
    team.git("-C", host, "checkout", "-q", "gitmem/project")
    team.git("-C", host, "merge", "-q", "--no-edit", "edit")
    team.git("-C", host, "push", "-q", "origin", "gitmem/project")
    ann.run("sync", "-y")
    assert team.git("-C", team.bare, "log", "-1", "--format=%s", PROJECT) == "Tidy memory after a merge"
    listed = team.git("-C", team.bare, "show", f"{PROJECT}:reviewer/MEMORY.md")
    assert all(f"({name}.md)" in listed for name in ("port", "one", "two"))
    before = team.refs()[PROJECT]
    ann.run("sync", "-y")
    assert team.refs()[PROJECT] == before, "tidying again changes nothing"
