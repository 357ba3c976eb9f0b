"""Clones follow a purge that was made elsewhere: what they learned is kept, what was purged is erased."""

from __future__ import annotations

from pathlib import Path

import pytest
from machines import Machine
from purge_ground import PROJECT, SECRET, follow, holding, is_gone, live, memory, messages, tip

from gitmem.flows import purge as purging
from gitmem.ledger import purge as flow
from gitmem.ledger.epochs import epoch_of

pytestmark = pytest.mark.long


def agree(*clones: Machine) -> None:
    """Syncs until all have the same, and looks whether they do."""
    for clone in (*clones, *clones):
        follow(clone)
    assert len({tip(clone) for clone in clones}) == 1


def test_a_clone_that_only_had_it_all_is_clean_after_its_next_sync(ann: Machine, ben: Machine) -> None:
    ann.run("purge", SECRET, "-y")
    follow(ben)
    assert tip(ben) == tip(ann)
    assert is_gone(ben)
    assert "[purged]" in live(ben, "login").read_text()
    ben.git("fsck", "--strict", "--no-dangling")


def test_what_a_clone_had_forgotten_does_not_come_back(ann: Machine, ben: Machine) -> None:
    ben.learn("fg", f"Forgotten: {SECRET}.", scope="project", agent="reviewer")
    ben.run("save")
    ben.run("forget", "fg")
    ben.run("sync", "-y")
    ann.run("purge", SECRET, "-y")
    follow(ben)
    ben.run("save")
    assert is_gone(ben)
    assert "reviewer/fg.md" not in ben.memories("project")


def test_what_a_clone_had_not_pushed_is_replayed_commit_by_commit(ann: Machine, ben: Machine) -> None:
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ben.learn("more", f"Ben also wrote {SECRET} down.", scope="project", agent="reviewer")
    own = messages(ben)[:2]
    ann.learn("late", "Learned before the purge.", scope="project", agent="reviewer")
    ann.run("purge", SECRET, "-y")
    follow(ben)
    assert is_gone(ben)
    kept = messages(ben)
    assert [line for line in kept if line in own] == own
    found = ben.memories("project")
    assert "Names are short." in found["reviewer/names.md"]
    assert "Ben also wrote [purged] down." in found["reviewer/more.md"]
    agree(ann, ben)
    assert is_gone(ann)
    assert "Learned before the purge." in ben.memories("project")["reviewer/late.md"]


@pytest.mark.parametrize("private", [False, True])
def test_what_stands_in_private_memory_too_is_said_and_left_alone(ann, ben, private: bool) -> None:
    """It is the person's own: nobody else's purge reaches into it, but they had better know."""
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ben.learn("mine", f"I keep {SECRET if private else 'nothing'} here.")
    before = ben.memories()
    ann.run("purge", SECRET, "-y")
    said = follow(ben)
    assert "1 commit of yours carried over" in said
    assert ("stands in your own memory" in said) is private
    assert ben.memories() == before


def test_an_edit_of_the_memory_that_held_it_is_kept_without_the_text(ann: Machine, ben: Machine) -> None:
    ben.learn(
        "login", f"The password is {SECRET}.\n\nAsk Ben for access.\n\nOr ask Cem.",
        scope="project", agent="reviewer",
    )  # fmt: skip
    ann.run("purge", SECRET, "-y")
    agree(ben, ann)
    text = ann.memories("project")["reviewer/login.md"]
    assert "Or ask Cem." in text and "The password is [purged]." in text and "disputed" not in text
    assert is_gone(ann) and is_gone(ben)


def test_a_deletion_that_was_not_pushed_stays_a_deletion(ann: Machine, ben: Machine) -> None:
    ben.run("forget", "hosts")
    ann.run("purge", SECRET, "-y")
    agree(ben, ann)
    assert "reviewer/hosts.md" not in ann.memories("project")


def test_unsaved_live_edits_are_kept_and_lose_the_text(ann: Machine, ben: Machine) -> None:
    where = live(ben, "login")
    where.write_text(where.read_text() + "\nWritten by an agent, unsaved.\n")
    ann.run("purge", SECRET, "-y")
    follow(ben)
    assert "Written by an agent, unsaved." in where.read_text() and "[purged]" in where.read_text()
    assert is_gone(ben)


def test_live_files_of_other_work_trees_lose_the_text(ann: Machine, ben: Machine, tmp_path: Path) -> None:
    other = tmp_path / "ben" / "other"
    ben.git("worktree", "add", "-q", "--detach", other)
    ben.run("save", cwd=other)
    where = other / ".claude/agent-memory/reviewer/login.md"
    if not where.exists():
        where.parent.mkdir(parents=True, exist_ok=True)
        ben.run("save", cwd=other)
    assert SECRET in where.read_text()
    ann.run("purge", SECRET, "-y")
    follow(ben)
    assert is_gone(ben)
    ben.run("save", cwd=other)
    assert "[purged]" in where.read_text() and is_gone(ben)


def test_edits_of_a_memory_that_was_purged_whole_are_not_carried_and_told(ann, ben) -> None:
    ben.learn("login", f"The password is {SECRET}.\n\nBen's edit.", scope="project", agent="reviewer")
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ann.run("purge", "login", "--memory", "-y")
    said = follow(ben)
    assert "reviewer/login.md" in said and "Ben's edit" not in said
    found = ben.memories("project")
    assert "reviewer/login.md" not in found and "Names are short." in found["reviewer/names.md"]
    assert not live(ben, "login").exists()
    assert holding(ben.code / ".git") == []


def test_a_clone_on_the_old_epoch_cannot_push(ann: Machine, ben: Machine, team: Path, git) -> None:
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    ann.run("purge", SECRET, "-y")
    before = git("--git-dir", team, "rev-parse", PROJECT)
    ben.git("push", "--no-verify", "origin", f"{PROJECT}:{PROJECT}", check=False)
    assert git("--git-dir", team, "rev-parse", PROJECT) == before
    ben.run("sync", "--push", "-y", code=1)
    assert git("--git-dir", team, "rev-parse", PROJECT) == before


def test_side_branches_of_a_clone_come_along(ann: Machine, ben: Machine) -> None:
    base = tip(ben)
    ben.git("worktree", "add", "-q", "--detach", ben.home / "wt", base)
    (ben.home / "wt/reviewer/dreamt.md").write_text(memory("dreamt", f"A dream with {SECRET}."))
    ben.git("-C", ben.home / "wt", "add", "-A")
    ben.git("-C", ben.home / "wt", "commit", "-qm", "Dream")
    dream = ben.git("-C", ben.home / "wt", "rev-parse", "HEAD")
    ben.git("worktree", "remove", "--force", ben.home / "wt")
    ben.git("update-ref", "refs/heads/gitmem/dream/d-7", dream)
    ann.run("purge", SECRET, "-y")
    follow(ben)
    repo = ben.workspace.code
    now = repo.ref("refs/heads/gitmem/dream/d-7") or ""
    assert epoch_of(repo, now) == epoch_of(repo, tip(ben))
    assert "A dream with [purged]." in ben.git("show", f"{now}:reviewer/dreamt.md")
    assert is_gone(ben)


def test_two_purges_at_once_are_both_done_everywhere(ann: Machine, ben: Machine) -> None:
    other = "amber-falcon-2290-lisbon"
    ben.learn("key", f"The key is {other}.", scope="project", agent="reviewer")
    agree(ben, ann)
    push, raced = flow.Remote.push_all, []

    def slow(remote, moves):
        if not raced:
            raced.append(1)
            ben.run("purge", other, "-y")
            ann.enter()
            ann.patch.chdir(ann.code)
        return push(remote, moves)

    ann.patch.setattr(flow.Remote, "push_all", slow)
    ann.run("purge", SECRET, "-y")
    agree(ann, ben)
    for clone in (ann, ben):
        assert is_gone(clone) and is_gone(clone, other)
    assert "The key is [purged]." in ann.memories("project")["reviewer/key.md"]


def test_two_purges_that_did_not_know_of_one_another_are_both_done(ann: Machine, ben: Machine) -> None:
    """Both were made while the remote was out of reach."""
    other = "amber-falcon-2290-lisbon"
    ben.learn("key", f"The key is {other}.", scope="project", agent="reviewer")
    agree(ben, ann)
    ann.run("purge", SECRET, "-y", "--no-push")
    ben.run("purge", other, "-y", "--no-push")
    ben.learn("names", "Names are short.", scope="project", agent="reviewer")
    agree(ann, ben)
    for clone in (ann, ben):
        assert is_gone(clone) and is_gone(clone, other)
        assert "Names are short." in clone.memories("project")["reviewer/names.md"]


def test_a_writer_at_the_remote_between_fetch_and_push_is_taken_along(ann: Machine, ben: Machine) -> None:
    push, raced = flow.Remote.push_all, []
    ben.learn("quick", f"Quicker, with {SECRET}.", scope="project", agent="reviewer")

    def slow(remote, moves):
        if not raced:
            raced.append(1)
            follow(ben)
            ann.enter()
            ann.patch.chdir(ann.code)
        return push(remote, moves)

    ann.patch.setattr(flow.Remote, "push_all", slow)
    ann.run("purge", SECRET, "-y")
    assert "Quicker, with [purged]." in ann.memories("project")["reviewer/quick.md"]
    assert is_gone(ann)
    agree(ben, ann)
    assert is_gone(ben)


def test_a_purge_that_was_not_pushed_takes_what_came_meanwhile(ann: Machine, ben: Machine) -> None:
    """The remote is at the lower epoch: theirs is replayed on ours."""
    ann.run("purge", SECRET, "-y", "--no-push")
    ben.learn("names", f"Names are short, {SECRET} is long.", scope="project", agent="reviewer")
    follow(ben)
    agree(ann, ben)
    assert "Names are short, [purged] is long." in ann.memories("project")["reviewer/names.md"]
    assert is_gone(ann) and is_gone(ben)


def test_a_second_purge_follows_the_first(ann: Machine, ben: Machine) -> None:
    ann.run("purge", SECRET, "-y")
    ann.run("purge", "Ports start at 4000", "-y")
    follow(ben)
    assert is_gone(ben) and is_gone(ben, "Ports start at 4000")
    assert epoch_of(ben.workspace.code, tip(ben)).number == 2


def test_a_work_tree_on_the_memory_branch_follows(ann: Machine, ben: Machine, tmp_path: Path) -> None:
    tree = tmp_path / "ben" / "memory"
    ben.git("worktree", "add", "-q", tree, "gitmem/project")
    ben.run("save")
    ann.run("purge", SECRET, "-y")
    follow(ben)
    assert "[purged]" in (tree / "reviewer/login.md").read_text()
    assert ben.git("-C", tree, "status", "--porcelain") == ""
    assert is_gone(ben)


def test_a_name_that_held_the_text_does_not_come_back_from_live_files(ann: Machine, ben: Machine) -> None:
    """An agent's hook may lay memory out under its new name before the old file is looked at."""
    ann.learn(f"note-{SECRET}", "A fact.", scope="project", agent="reviewer")
    follow(ann)
    follow(ben)
    old = live(ben, f"note-{SECRET}")
    old.write_text(old.read_text() + "\nUnsaved.\n")
    ann.run("purge", SECRET, "-y")

    def lay_out(*_: object) -> None:
        new = live(ben, "note-[purged]")
        if not old.exists():
            return
        new.write_text(old.read_text().replace(SECRET, "[purged]") + "\nWritten there.\n")

    ann.patch.setattr(purging, "keep_up", lay_out)
    follow(ben)
    agree(ben, ann)
    assert is_gone(ben) and is_gone(ann)
    texts = "".join(text for path, text in ann.memories("project").items() if "note-" in path)
    assert "Unsaved." in texts and "Written there." in texts
