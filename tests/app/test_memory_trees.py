"""A memory branch in a work tree: it follows when clean, and no commit made in a stale one loses memory."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_ground import Ground, memory
from once import Once

from gitmem.app import steps
from gitmem.app.spool import Job
from gitmem.core.trailers import parse
from gitmem.flows.memory_trees import _NOTED, _noted, _on_branches, is_memory_tree, keep_up, stale_trees
from gitmem.flows.save import directories
from gitmem.git.command import GitCommand

Git = Callable[..., str]
ONE, TWO, THREE = ("reviewer/one.md", "reviewer/two.md", "reviewer/three.md")
TREE = "memory"


@pytest.fixture
def shared(
    ground: Ground, git: Git, tmp_path: Path, once: Once[int], request: pytest.FixtureRequest
) -> Ground:
    """Sharing is on, and the branch holds two memories."""

    def make() -> int:
        git("init", "-q", "--bare", tmp_path / "team.git")
        git("-C", ground.repo, "remote", "add", "origin", tmp_path / "team.git")
        ground.learn({ONE: memory("one"), TWO: memory("two")})
        ground.run("share", "-y")
        if tree is not None:
            git("-C", ground.repo, "worktree", "add", "-q", tree, "gitmem/project")
        return ground.now

    tree = tmp_path / TREE if "tree" in request.fixturenames else None
    ground.now = once("tree" if tree else "shared", make)
    ground.tick(0)
    ground.patch.delenv("GITMEM_DISABLE")
    return ground


@pytest.fixture
def tree(shared: Ground, tmp_path: Path) -> Path:
    """A work tree on the memory branch, which `shared` makes where a test asks for it."""
    return tmp_path / TREE


def learn(ground: Ground, files: dict[str, str | None]) -> tuple[str, ...]:
    """Something arrives on the branch; returns what is said."""
    ground.learn(files)
    return keep_up(ground.workspace, ground.edges)


def changes(git: Git, tree: Path) -> str:
    return git("-C", tree, "status", "--porcelain")


def test_a_clean_work_tree_follows_and_commands_do_it_by_themselves(shared, tree: Path, git: Git) -> None:
    assert learn(shared, {THREE: memory("three"), ONE: None}) == ()
    assert (tree / THREE).read_text() == memory("three")
    assert not (tree / ONE).exists()
    assert changes(git, tree) == ""
    assert git("-C", tree, "rev-parse", "HEAD") == shared.tip()
    shared.folder()
    shared.run("remember", "Deploy on Tuesdays only", "--agent", "reviewer", "--scope", "project")
    (shared.folder() / "mine.md").write_text(memory("mine"))
    shared.run("save")
    assert (tree / "reviewer/mine.md").exists()
    assert changes(git, tree) == ""
    shared.run("undo")
    assert not (tree / "reviewer/mine.md").exists()
    assert changes(git, tree) == ""


def test_a_commit_that_nobody_looked_at_yet_is_not_called_a_change_of_its_own(shared, tree, git) -> None:
    """Between the commit and the worker, `status` would advise to throw away what is not there."""
    keep_up(shared.workspace, shared.edges)
    (tree / ONE).write_text(memory("one", "Another fact."))
    git("-C", tree, "commit", "-q", "-a", "-m", "Correct one")
    assert stale_trees(shared.workspace) == ()


def test_a_dirty_work_tree_is_left_with_a_word(shared: Ground, tree: Path) -> None:
    """The word comes with what moved the branch, not with every command after it."""
    (tree / ONE).write_text(memory("one", "Edited here."))
    [word] = learn(shared, {THREE: memory("three")})
    assert str(tree) in word and "gitmem/project" in word and "reset --hard" in word
    assert (tree / ONE).read_text() == memory("one", "Edited here.")
    assert not (tree / THREE).exists()
    assert keep_up(shared.workspace, shared.edges) == ()
    assert [str(one) for one in stale_trees(shared.workspace)] == [word]
    subprocess.run(word.rpartition(": ")[2].split(), check=True, capture_output=True)
    keep_up(shared.workspace, shared.edges)
    assert stale_trees(shared.workspace) == (), "dropping the changes as the word says is enough"
    assert (tree / THREE).exists()


def test_the_word_reaches_the_person(shared: Ground, tree: Path) -> None:
    (tree / ONE).write_text("edited\n")
    (shared.folder() / "mine.md").write_text(memory("mine"))
    assert f"{tree} has changes of its own" in shared.run("save").err
    assert f"{tree} has changes of its own" in shared.run("status").out
    [told] = json.loads(shared.run("status", "--json").out)["stale_work_trees"]
    assert str(tree) in told


def test_one_that_was_dirty_follows_when_it_is_clean_again(shared: Ground, tree: Path, git: Git) -> None:
    (tree / ONE).write_text("edited\n")
    learn(shared, {THREE: memory("three")})
    git("-C", tree, "checkout", "-q", "--", ".")
    # To git its index still is the old state: the person need not know how to bring that forward.
    git("-C", tree, "read-tree", f"{shared.tip()}~1")
    git("-C", tree, "checkout-index", "-f", "-a")
    assert keep_up(shared.workspace, shared.edges) == ()
    assert (tree / THREE).exists()
    assert stale_trees(shared.workspace) == ()


def test_an_untracked_file_in_the_way_counts_as_a_change_and_one_beside_does_not(shared, tree, git) -> None:
    """Git itself would overwrite one that it was told to ignore."""
    (tree / "notes.txt").write_text("mine\n")
    assert learn(shared, {TWO: None}) == ()
    assert not (tree / TWO).exists() and (tree / "notes.txt").exists()
    (tree / THREE).write_text("mine\n")
    [word] = learn(shared, {THREE: memory("three")})
    assert str(tree) in word
    exclude = Path(git("-C", tree, "rev-parse", "--path-format=absolute", "--git-path", "info/exclude"))
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_text("three.md\n")
    [word] = learn(shared, {"reviewer/four.md": memory("four")})
    assert str(tree) in word
    assert (tree / THREE).read_text() == "mine\n"


def test_a_command_under_way_is_not_disturbed(shared: Ground, tree: Path, git: Git) -> None:
    lock = Path(git("-C", tree, "rev-parse", "--absolute-git-dir")) / "index.lock"
    lock.write_text("")
    assert len(learn(shared, {THREE: memory("three")})) == 1
    assert not (tree / THREE).exists()
    lock.unlink()
    assert keep_up(shared.workspace, shared.edges) == ()
    assert (tree / THREE).exists()


def stale_commit(ground: Ground, tree: Path, git: Git, *words: str) -> str:
    """Edits one memory in the work tree, lets others arrive, and commits the edit there."""
    (tree / ONE).write_text(memory("one", "The one fact.\n\nEdited here."))
    learn(ground, {THREE: memory("three"), TWO: memory("two", "The two fact.\n\nArrived.")})
    git("-C", tree, "commit", "-q", "-m", "edit", *(words or ("-a",)))
    return git("-C", tree, "rev-parse", "HEAD")


def whole(files: dict[str, str]) -> None:
    """Both the person's edit and what had arrived are there."""
    assert "Edited here." in files[ONE]
    assert "Arrived." in files[TWO]
    assert files[THREE] == memory("three")


def test_a_commit_in_a_stale_work_tree_takes_nothing_out(shared: Ground, tree: Path, git: Git) -> None:
    """To git it takes back all that arrived since the work tree was brought up to date."""
    made = stale_commit(shared, tree, git)
    assert THREE not in shared.tree() and "Arrived." not in shared.tree()[TWO]
    [word] = keep_up(shared.workspace, shared.edges)
    assert made[:12] in word and "git mem undo" in word
    whole(shared.tree())
    repo = shared.workspace.code
    back = repo.commit(shared.tip())
    assert back.parents == (made,)
    assert parse(back.message).op == "restore"
    assert TWO in back.message and THREE in back.message
    # The work tree shows it, and the next edit there builds on it.
    assert changes(git, tree) == "" and (tree / THREE).exists()
    (tree / THREE).unlink()
    git("-C", tree, "commit", "-qam", "meant")
    assert keep_up(shared.workspace, shared.edges) == ()
    assert THREE not in shared.tree()


@pytest.mark.parametrize("who", ["a command", "the worker"])
def test_any_command_and_the_worker_notice(shared: Ground, tree: Path, git: Git, who: str) -> None:
    made = stale_commit(shared, tree, git)
    if who == "a command":
        assert f"brought back 2 files that {made[:12]} took out" in shared.run("save").err
    else:
        steps.run(shared.repo / ".git", Job("commit", str(tree)), dict(os.environ))
    whole(shared.tree())


def test_what_arrives_after_the_commit_stays_too(shared: Ground, tree: Path, git: Git) -> None:
    stale_commit(shared, tree, git)
    shared.learn({"reviewer/four.md": memory("four"), ONE: memory("one", "The one fact.\n\nLate.")})
    assert keep_up(shared.workspace, shared.edges)
    files = shared.tree()
    assert files[THREE] == memory("three") and files["reviewer/four.md"] == memory("four")
    assert "Late." in files[ONE] and "Arrived." in files[TWO]


def test_a_claim_that_joins_a_memory_forgotten_meanwhile_stays_and_the_rest_does_not(
    shared: Ground, tree: Path, git: Git
) -> None:
    told = "- The first item tells the details of it.\n"
    learn(shared, {THREE: memory("three", told, "Alpha")})
    with (tree / THREE).open("a") as file:
        file.write("- Ask Ann about the details of it.\n")
    shared.run("forget", "three", "--scope", "project")
    git("-C", tree, "commit", "-qam", "Ask Ann")
    steps.run(shared.repo / ".git", Job("commit", str(tree)), dict(os.environ))
    left = shared.tree()[THREE]
    assert "- Ask Ann about" in left
    assert "Alpha" not in left and "first item" not in left
    assert "stays forgotten: reviewer/three.md: - The first item" in shared.run("jobs").out


def test_an_amended_commit_of_gitmems_is_kept_in_history(shared: Ground, tree: Path, git: Git) -> None:
    """Amending replaces what arrived last by the old state with the edit."""
    (tree / ONE).write_text(memory("one", "The one fact.\n\nEdited here."))
    learn(shared, {THREE: memory("three"), TWO: memory("two", "The two fact.\n\nArrived.")})
    arrived = shared.tip()
    git("-C", tree, "commit", "-q", "-a", "--amend", "-m", "edit")
    assert keep_up(shared.workspace, shared.edges)
    whole(shared.tree())
    assert shared.workspace.code.is_ancestor(arrived, shared.tip())


def test_a_commit_of_one_file_leaves_the_rest_of_the_work_tree_stale(shared, tree: Path, git: Git) -> None:
    stale_commit(shared, tree, git, "--", ONE)
    keep_up(shared.workspace, shared.edges)
    whole(shared.tree())
    (tree / ONE).write_text(memory("one", "The one fact.\n\nEdited here.\n\nAnd again."))
    git("-C", tree, "commit", "-q", "-a", "-m", "the rest")
    assert TWO not in shared.tree() or "Arrived." not in shared.tree()[TWO]
    keep_up(shared.workspace, shared.edges)
    whole(shared.tree())
    assert "And again." in shared.tree()[ONE]


@pytest.mark.parametrize("how", ["stash", "stash, looked at", "reset"])
def test_stashing_and_resetting_do_not_hide_what_an_edit_builds_on(shared, tree, git, how: str) -> None:
    """A stash made in a stale work tree holds the old state as the person's change."""
    (tree / ONE).write_text(memory("one", "The one fact.\n\nEdited here."))
    learn(shared, {THREE: memory("three"), TWO: memory("two", "The two fact.\n\nArrived.")})
    git("-C", tree, "reset" if how == "reset" else "stash", "-q")
    if how != "stash":
        keep_up(shared.workspace, shared.edges)
    if how != "reset":
        git("-C", tree, "stash", "pop", "-q")
    git("-C", tree, "commit", "-q", "-a", "-m", "edit")
    assert keep_up(shared.workspace, shared.edges)
    whole(shared.tree())


def test_without_a_log_a_commit_without_trailers_is_looked_at(shared: Ground, tree: Path, git: Git) -> None:
    git("-C", shared.repo, "config", "core.logAllRefUpdates", "false")
    (Path(git("-C", tree, "rev-parse", "--absolute-git-dir")) / "logs/HEAD").unlink()
    keep_up(shared.workspace, shared.edges)
    stale_commit(shared, tree, git)
    assert keep_up(shared.workspace, shared.edges)
    whole(shared.tree())


def test_a_commit_in_a_fresh_work_tree_is_taken_as_it_is(shared: Ground, tree: Path, git: Git) -> None:
    learn(shared, {THREE: memory("three")})
    (tree / THREE).unlink()
    (tree / ONE).write_text(memory("one", "Rewritten."))
    git("-C", tree, "commit", "-qam", "mine")
    made = shared.tip()
    assert keep_up(shared.workspace, shared.edges) == ()
    assert shared.tip() == made


def test_no_process_runs_where_there_is_one_work_tree(shared: Ground) -> None:
    workspace, edges = shared.workspace, shared.edges
    assert workspace.scopes

    def refuse(*given: object, **named: object) -> None:
        raise AssertionError(f"a process was started: {given}")

    shared.patch.setattr(GitCommand, "run", refuse)
    shared.patch.setattr(GitCommand, "start", refuse)
    assert keep_up(workspace, edges) == ()
    assert stale_trees(workspace) == ()


def test_a_work_tree_that_shows_memory_gets_no_live_directories(shared: Ground, tree: Path, git) -> None:
    """Its post-checkout hook would lay agents' folders out in the middle of the memory."""
    assert is_memory_tree(tree) and not is_memory_tree(shared.repo)
    steps.run(shared.repo / ".git", Job("checkout", str(tree)), dict(os.environ))
    assert not (tree / ".claude").exists()
    assert changes(git, tree) == ""
    shared.folder()
    shared.run("-C", tree, "save")
    assert not (tree / ".claude").exists()
    everywhere = directories(shared.workspace, everywhere=True)
    assert [live.path for live in everywhere] == [shared.folder()]


def test_private_memory_in_a_work_tree_follows_too(ground: Ground, git: Git, tmp_path: Path) -> None:
    ground.learn({"main/one.md": memory("one")}, scope="user")
    private = ground.workspace.private_path
    git(f"--git-dir={private}", "worktree", "add", "-q", tmp_path / "mine", "user")
    assert [scope.name for scope, found in _on_branches(ground.workspace) if found] == ["user"]
    ground.learn({"main/two.md": memory("two")}, scope="user")
    assert keep_up(ground.workspace, ground.edges) == ()
    assert (tmp_path / "mine/main/two.md").exists()


def test_a_branch_of_the_main_work_tree_counts(shared: Ground, git: Git) -> None:
    git("-C", shared.repo, "checkout", "-q", "gitmem/project")
    learn(shared, {THREE: memory("three")})
    assert (shared.repo / THREE).exists()
    stale_commit(shared, shared.repo, git)
    keep_up(shared.workspace, shared.edges)
    files = shared.tree()
    assert "Edited here." in files[ONE] and "Arrived." in files[TWO]


def test_a_removed_or_switched_work_tree_is_forgotten(shared: Ground, tree: Path, git, tmp_path) -> None:
    learn(shared, {THREE: memory("three")})
    assert _noted(shared.workspace.scope("project"))
    git("-C", tree, "checkout", "-q", "--detach")
    keep_up(shared.workspace, shared.edges)
    assert not _noted(shared.workspace.scope("project"))
    git("-C", tree, "checkout", "-q", "gitmem/project")
    learn(shared, {"reviewer/four.md": memory("four")})
    assert (tree / "reviewer/four.md").exists()
    git("-C", shared.repo, "worktree", "move", tree, tmp_path / "moved")
    learn(shared, {"reviewer/five.md": memory("five")})
    assert (tmp_path / "moved/reviewer/five.md").exists()
    git("-C", shared.repo, "worktree", "remove", tmp_path / "moved")
    assert learn(shared, {"reviewer/six.md": memory("six")}) == ()
    assert not _noted(shared.workspace.scope("project"))


@pytest.mark.parametrize("value", [["x"], {"x": 1}, {"x": {"base": "b"}}])
def test_a_note_that_another_version_wrote_is_begun_anew(shared: Ground, tree: Path, value: object) -> None:
    scope = shared.workspace.scope("project")
    assert _NOTED.put(scope.state, scope.ref, value)
    assert learn(shared, {THREE: memory("three")}) == ()
    assert (tree / THREE).exists() and [*_noted(scope)]


def test_another_repository_where_a_work_tree_was_is_left_alone(shared: Ground, tree: Path, git) -> None:
    """Git goes on to list the work tree, and its branch."""
    shutil.rmtree(tree)
    git("init", "-q", tree)
    assert learn(shared, {THREE: memory("three")}) == ()
    assert list(tree.iterdir()) == [tree / ".git"]
    assert stale_trees(shared.workspace) == ()
