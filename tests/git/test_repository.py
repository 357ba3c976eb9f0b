"""One contract for both backends, in SHA-1 and SHA-256 repositories, on real git."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import objects
from gitmem.git.by_command import LOOSE_STEPS, GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.open import create_bare, open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, EXECUTABLE, LINK, TREE, RefMoved, Repository, Signature, TreeEntry

ANN = Signature("Ann", "ann@example.com", 1763632800, 60)
BEN = Signature("Ben", "ben@example.com", 1763636400, -150)
REF = "refs/gitmem/project"
KINDS = [("auto", "sha1"), ("git", "sha1"), ("git", "sha256")]


@pytest.fixture
def command() -> GitCommand:
    return GitCommand(dict(os.environ))


@dataclass
class Ground:
    """A repository under test, and plain git beside it."""

    path: Path
    store: Repository
    command: GitCommand
    prefer: Literal["auto", "git"]

    def anew(self) -> Repository:
        """The repository as the next process opens it."""
        return open_repository(self.path, self.command, self.prefer)

    def git(self, *words: str) -> str:
        return self.command.run(words, cwd=self.path).text

    def commit(
        self, *parents: str, time: int = ANN.time, message: str = "Learn it", text: bytes = b"x\n"
    ) -> str:
        who = Signature("Ann", "ann@example.com", time)
        tree = self.store.add_tree({"m.md": TreeEntry(BLOB, self.store.add_blob(text))})
        return self.store.add_commit(tree, parents, who, who, message)


@pytest.fixture(params=KINDS, ids=["pygit2-sha1", "git-sha1", "git-sha256"])
def ground(request: pytest.FixtureRequest, tmp_path: Path, command: GitCommand) -> Iterator[Ground]:
    prefer, object_format = request.param
    path = tmp_path / "work"
    command.run(["init", "-q", f"--object-format={object_format}", str(path)])
    store = open_repository(path, command, prefer)
    kind = type(store.store).__name__  # type: ignore[attr-defined]
    assert (kind == "Pygit2Objects") == (prefer == "auto")
    yield Ground(path, store, command, prefer)
    store.close()


def loose(ground: Ground, oid: str) -> Path:
    return ground.path / ".git/objects" / oid[:2] / oid[2:]


# Objects


def test_objects_come_back_as_they_were_stored_and_plain_git_finds_them_sound(ground: Ground) -> None:
    store = ground.store
    blob = store.add_blob(b"\0\xffbytes\r\n")
    empty = store.add_tree({})
    names = ["a", "a.b", "a-b", "a0", "é", "b\udcff", "with\nline", 'quo"te']
    entries = {name: TreeEntry(BLOB, blob) for name in names}
    entries |= {
        "run": TreeEntry(EXECUTABLE, blob),
        "link": TreeEntry(LINK, blob),
        "a": TreeEntry(TREE, empty),
    }
    tree = store.add_tree(entries)
    parent = store.add_commit(empty, (), ANN, BEN, "Begin")
    tip = store.add_commit(tree, (parent,), ANN, BEN, "Learn é\n\nWhy.\n\nGitmem-Op: add\n\n")
    move_ref(store, REF, tip, None, "begin")

    assert store.blob(blob) == b"\0\xffbytes\r\n"
    assert store.tree(tree) == entries
    assert store.tree(empty) == {}
    read = store.commit(tip)
    assert (read.oid, read.tree, read.parents, read.author, read.committer) == (
        tip, tree, (parent,), ANN, BEN,
    )  # fmt: skip
    assert read.subject == "Learn é"
    assert read.message == "Learn é\n\nWhy.\n\nGitmem-Op: add\n"
    assert store.hex_length == len(blob)
    assert ground.git("fsck", "--strict") == ""
    assert ground.git("log", "-1", "--format=%an %ad %cn %cd", "--date=raw", REF) == (
        "Ann 1763632800 +0100 Ben 1763636400 -0230"
    )


def test_both_backends_name_the_same_objects_the_same(tmp_path: Path, command: GitCommand) -> None:
    made = []
    for prefer in ("auto", "git"):
        path = tmp_path / prefer
        command.run(["init", "-q", str(path)])
        store = open_repository(path, command, "git" if prefer == "git" else "auto")
        blob = store.add_blob("ü\n".encode())
        tree = store.add_tree(
            {"z": TreeEntry(BLOB, blob), "a.b": TreeEntry(BLOB, blob), "a": TreeEntry(EXECUTABLE, blob)}
        )
        tree = store.add_tree(
            {"a": TreeEntry(TREE, tree), "a.b": TreeEntry(BLOB, blob), "a-": TreeEntry(BLOB, blob)}
        )
        odd = Signature(" A <n>\nn., ", "ann@example.com", 0, -90)
        root = store.add_commit(tree, (), odd, ANN, "")
        made.append((blob, tree, root, store.add_commit(tree, (root,), ANN, odd, "\n\nLearn\n\n\n")))
        store.close()
    assert made[0] == made[1]


def test_a_commit_has_the_bytes_that_git_itself_would_write(ground: Ground) -> None:
    tree = ground.store.add_tree({})
    made = ground.store.add_commit(tree, (), ANN, ANN, "Learn\n\nWhy.")
    who = {"NAME": "Ann", "EMAIL": "ann@example.com", "DATE": "@1763632800 +0100"}
    env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
    by_git = ground.command.run(
        ["commit-tree", tree], cwd=ground.path, input=b"Learn\n\nWhy.\n", env=env
    ).text
    assert made == by_git


def test_a_name_that_git_forbids_is_never_written(ground: Ground) -> None:
    blob = ground.store.add_blob(b"x")
    for name in ("", ".", "..", ".git", ".GIT", "a/b", "a\0b", "\ud800"):
        with pytest.raises(RepositoryError):
            ground.store.add_tree({name: TreeEntry(BLOB, blob)})


def test_missing_objects_and_objects_of_another_kind_are_told(ground: Ground) -> None:
    store, nothing = ground.store, "1" * ground.store.hex_length
    blob, tip = store.add_blob(b"x"), ground.commit()
    for read in (store.blob, store.tree, store.commit):
        with pytest.raises(MissingObject, match="1111"):
            read(nothing)
    for read, oid in ((store.blob, tip), (store.tree, blob), (store.commit, blob), (store.commit, "HEAD")):
        with pytest.raises(MissingObject):
            read(oid)
    with pytest.raises(MissingObject):
        move_ref(store, REF, nothing, None, "x")
    with pytest.raises(MissingObject):
        list(store.history(nothing))
    assert store.blob(blob) == b"x"


def test_a_damaged_object_is_told_and_others_can_still_be_read(ground: Ground) -> None:
    """`git cat-file` dies of one; a whole object under another's name is only found by its hash."""
    good, bad = ground.store.add_blob(b"good" * 50), ground.store.add_blob(b"bad" * 5000)
    loose(ground, bad).chmod(0o644)
    for data in (loose(ground, bad).read_bytes()[:9], b"?" * 40, loose(ground, good).read_bytes()):
        loose(ground, bad).write_bytes(data)
        store = ground.anew()
        with pytest.raises(MissingObject, match=bad):
            store.blob(bad)
        assert store.blob(good) == b"good" * 50
        store.close()


def test_objects_are_found_after_git_packed_them(ground: Ground) -> None:
    tip = ground.commit()
    move_ref(ground.store, REF, tip, None, "x")
    tree = ground.store.commit(tip).tree
    ground.git("gc", "-q")
    assert not loose(ground, tree).exists()
    assert ground.store.blob(ground.store.tree(tree)["m.md"].oid) == b"x\n"
    assert ground.store.ref(REF) == tip
    second = ground.commit(tip)
    move_ref(ground.store, REF, second, tip, "y")
    assert ground.store.ref(REF) == second == ground.git("rev-parse", REF)


@given(
    entries=st.dictionaries(
        st.binary(min_size=1, max_size=9).filter(lambda raw: not {0, 47} & set(raw)),
        st.sampled_from([BLOB, EXECUTABLE, LINK, TREE]),
    )
)
def test_a_tree_survives_being_written_and_read(entries: dict[bytes, int]) -> None:
    names = {
        raw.decode("utf-8", "surrogateescape"): TreeEntry(mode, "ab" * 20) for raw, mode in entries.items()
    }
    allowed = {k: v for k, v in names.items() if k not in (".", "..") and k.lower() != ".git"}
    assert objects.parse_tree(objects.encode_tree(allowed, 40), 40, "x") == allowed


@given(st.binary(max_size=200))
def test_reading_any_bytes_as_an_object_gives_a_value_or_a_plain_error(data: bytes) -> None:
    for read in (lambda: objects.parse_tree(data, 40, "x"), lambda: objects.parse_commit(data, "x")):
        try:
            read()
        except MissingObject as error:
            assert "damaged" in error.message
    objects.parse_reflog(data)
    assert objects.parse_signature(data).time >= 0


def test_a_tree_with_one_name_twice_is_damaged() -> None:
    """Reading it as a mapping would drop one of the two without a word."""
    row = b"100644 a\0" + b"\1" * 20
    with pytest.raises(MissingObject):
        objects.parse_tree(row + row, 40, "x")


# Refs


def test_a_ref_moves_only_from_where_it_was_read(ground: Ground) -> None:
    store = ground.store
    one = ground.commit()
    two = ground.commit(one)
    assert store.ref(REF) is None
    with pytest.raises(RefMoved):
        move_ref(store, REF, two, one, "not there")
    move_ref(store, REF, one, None, "created")
    with pytest.raises(RefMoved):
        move_ref(store, REF, two, None, "there already")
    with pytest.raises(RefMoved):
        move_ref(store, REF, one, two, "elsewhere")
    assert store.ref(REF) == one
    move_ref(store, REF, two, one, "moved")
    move_ref(store, REF, two, two, "stays")
    with pytest.raises(RefMoved):
        move_ref(store, REF, one, one, "is not there")
    with pytest.raises(RefMoved):
        move_ref(store, REF, None, one, "elsewhere")
    assert store.ref(REF) == two
    move_ref(store, REF, None, two, "deleted")
    assert store.ref(REF) is None
    with pytest.raises(RefMoved):
        move_ref(store, REF, None, two, "gone")


def test_every_move_is_in_the_reflog_whatever_the_settings(ground: Ground) -> None:
    one = ground.commit()
    two = ground.commit(one)
    three = ground.commit(two)
    for setting, place in product(("", "false", "true", "always"), ("refs/gitmem/", "refs/heads/gitmem/")):
        if setting:
            ground.git("config", "core.logAllRefUpdates", setting)
        store, name = ground.anew(), f"{place}{setting or 'unset'}"
        assert store.reflog(name) == ()
        move_ref(store, name, one, None, "remember: a\n\tb")
        move_ref(store, name, two, one, "")
        move_ref(store, name, three, two, "undo é")
        moves = store.reflog(name)
        told = ["undo é", "gitmem", "remember: a b"]
        assert [(m.old, m.new) for m in moves] == [(two, three), (one, two), (None, one)], name
        assert (
            [m.message for m in moves] == ground.git("log", "-g", "--format=%gs", name).split("\n") == told
        )
        assert {(m.who.name, m.who.email) for m in moves} == {("Ann", "ann@example.com")}
        assert all(m.who.time > ANN.time for m in moves)
        store.close()


def test_the_reflog_read_by_command_is_the_one_in_the_file(tmp_path: Path, command: GitCommand) -> None:
    """Only git itself can read the log of a repository with the reftable format."""
    from gitmem.git.by_command import GitRepository
    from gitmem.git.command import layout

    create_bare(tmp_path / "bare", command)
    store = GitRepository(command, layout(command, tmp_path / "bare"))
    tree, tip = store.add_tree({}), None
    for number in range(3):
        new = store.add_commit(tree, (tip,) if tip else (), ANN, ANN, f"{number}")
        move_ref(store, REF, new, tip, f"move {number}")
        tip = new
    assert len(store.reflog(REF)) == 3
    assert store._reflog_by_command(REF) == store.reflog(REF)
    assert store._reflog_by_command("refs/gitmem/none") == ()
    store.close()


@pytest.mark.parametrize("prefer", ["auto", "git"])
def test_a_bare_repository_keeps_reflogs(tmp_path: Path, command: GitCommand, prefer: str) -> None:
    command.run(["init", "-q", "--bare", str(tmp_path / "bare")])
    store = open_repository(tmp_path / "bare", command, "git" if prefer == "git" else "auto")
    tree = store.add_tree({})
    one = store.add_commit(tree, (), ANN, ANN, "one")
    two = store.add_commit(tree, (one,), ANN, ANN, "two")
    move_ref(store, "refs/heads/user", one, None, "first")
    move_ref(store, "refs/heads/user", two, one, "second")
    assert [move.message for move in store.reflog("refs/heads/user")] == ["second", "first"]
    store.close()


def test_refs_are_listed_by_prefix(ground: Ground) -> None:
    tip = ground.commit()
    for name in (REF, "refs/gitmem/dream/1", "refs/gitmem-other/x", "refs/heads/é"):
        move_ref(ground.store, name, tip, None, "x")
    assert ground.store.refs("refs/gitmem/") == {REF: tip, "refs/gitmem/dream/1": tip}
    assert ground.store.refs("refs/gitmem/dream/") == {"refs/gitmem/dream/1": tip}
    assert ground.store.refs("refs/none/") == {}
    assert ground.store.ref("refs/heads/é") == tip


def test_a_branch_with_a_ref_s_name_is_not_taken_for_it(ground: Ground) -> None:
    """`git rev-parse refs/gitmem/project` falls back to `refs/heads/refs/gitmem/project`."""
    move_ref(ground.store, f"refs/heads/{REF}", ground.commit(), None, "x")
    assert ground.store.ref(REF) is None


def test_a_name_that_is_no_full_ref_is_refused(ground: Ground) -> None:
    store, tip = ground.store, ground.commit()
    names = (
        "HEAD", "refs", "refs/", "project", "refs/a/../../../x", "refs/a b", "refs/a/b.lock",
        "refs/a\nb/c",
    )  # fmt: skip
    for name in names:
        for call in (store.ref, store.reflog, lambda one: move_ref(store, one, tip, None, "x")):
            with pytest.raises(RepositoryError, match="ref name"):
                call(name)


def test_a_lock_left_behind_is_named_in_the_hint(ground: Ground) -> None:
    """A killed git or libgit2 leaves one, and every later write fails until a person deletes it."""
    one = ground.commit()
    two = ground.commit(one)
    lock = ground.path / ".git" / f"{REF}.lock"
    for old, new in ((None, one), (one, two), (two, None)):
        lock.parent.mkdir(parents=True, exist_ok=True)
        lock.write_bytes(b"")
        with pytest.raises(RepositoryError) as caught:
            move_ref(ground.store, REF, new, old, "x")
        assert not isinstance(caught.value, RefMoved)
        assert str(lock) in caught.value.hint
        assert ground.store.ref(REF) == old
        lock.unlink()
        move_ref(ground.store, REF, new, old, "x")
        assert ground.store.ref(REF) == new


def test_a_ref_that_a_crash_emptied_is_reported_not_taken_for_missing(ground: Ground) -> None:
    tip = ground.commit()
    move_ref(ground.store, REF, tip, None, "x")
    (ground.path / ".git" / REF).write_bytes(b"")
    with pytest.raises(RepositoryError, match=REF):
        ground.store.ref(REF)
    with pytest.raises(RepositoryError, match=REF):
        ground.store.refs("refs/gitmem/")


def test_a_branch_in_the_way_is_told(ground: Ground) -> None:
    tip = ground.commit()
    move_ref(ground.store, "refs/heads/gitmem", tip, None, "x")
    with pytest.raises(RepositoryError, match="refs/heads/gitmem") as caught:
        move_ref(ground.store, "refs/heads/gitmem/project", tip, None, "x")
    assert "git branch -m" in caught.value.hint


# Revisions and histories


def test_revisions_are_git_s_own_syntax_and_never_options(ground: Ground) -> None:
    one = ground.commit(message="Find me")
    two = ground.commit(one, message="Second")
    move_ref(ground.store, "refs/heads/main", one, None, "x")
    move_ref(ground.store, "refs/heads/main", two, one, "y")
    ground.git("tag", "-a", "-m", "marked", "v1", one)
    resolve = ground.store.resolve
    assert [resolve(r) for r in ("main", "HEAD", two, two[:9], "refs/heads/main")] == [two] * 5
    assert [resolve(r) for r in ("main~1", "v1", "main@{1}", ":/Find", "main^{/Find}")] == [one] * 5
    blob = ground.store.tree(ground.store.commit(two).tree)["m.md"].oid
    odd = [
        "", "none", "main:m.md", blob, "main..v1", "^main", "--all", "-h", "a\0b", "main\nv1", "main~9",
        ":/no",
    ]  # fmt: skip
    assert [resolve(r) for r in odd] == [None] * len(odd)


def test_history_shows_children_before_parents_and_newest_first(ground: Ground) -> None:
    """Clocks differ between machines: a child may be older than its parent, and still comes first."""
    root = ground.commit(time=1000, message="root")
    left = ground.commit(root, time=1010, message="left")
    right = ground.commit(root, time=1030, message="right")
    late = ground.commit(left, time=1040, message="left again")
    early = ground.commit(right, time=900, message="skewed")
    tip = ground.commit(late, early, time=1050, message="merge")
    move_ref(ground.store, REF, tip, None, "x")
    subjects = [commit.subject for commit in ground.store.history(tip)]
    assert subjects == ["merge", "left again", "left", "skewed", "right", "root"]
    assert subjects == ground.git("log", "--date-order", "--format=%s", REF).split("\n")
    assert next(ground.store.history(tip)).parents == (late, early)


def test_a_history_with_a_hole_is_told(ground: Ground) -> None:
    root = ground.commit()
    middle = ground.commit(root)
    tip = ground.commit(middle)
    loose(ground, root).unlink()
    with pytest.raises(MissingObject):
        list(ground.store.history(tip))


def test_merge_bases_are_all_of_the_best_and_none_without_common_history(ground: Ground) -> None:
    store = ground.store
    root = ground.commit(message="root")
    left, right = ground.commit(root, message="left"), ground.commit(root, message="right")
    one, other = ground.commit(left, right, message="1"), ground.commit(right, left, message="2")
    stranger = ground.commit(message="stranger", text=b"other\n")
    assert store.merge_bases(left, right) == (root,)
    assert store.merge_bases(left, one) == store.merge_bases(one, left) == (left,)
    assert store.merge_bases(one, other) == store.merge_bases(other, one) == tuple(sorted((left, right)))
    assert store.merge_bases(tip := one, tip) == (one,)
    assert store.merge_bases(one, stranger) == ()
    assert store.is_ancestor(root, one)
    assert store.is_ancestor(one, one)
    assert not store.is_ancestor(one, root)
    assert not store.is_ancestor(stranger, one)
    with pytest.raises(MissingObject):
        store.merge_bases(one, "1" * store.hex_length)
    with pytest.raises(MissingObject):
        store.is_ancestor("1" * store.hex_length, one)


def test_a_long_history_is_left_to_git(ground: Ground) -> None:
    first = last = ground.commit()
    for number in range(LOOSE_STEPS):
        last = ground.commit(last, message=str(number))
    assert ground.store.is_ancestor(first, last)
    assert not ground.store.is_ancestor(last, first)
    assert ground.store.merge_bases(first, last) == (first,)
    where = layout(ground.command, ground.path)
    unable = GitRepository(GitCommand(ground.command.environ, "no-such-git"), where)
    with pytest.raises(RepositoryError, match="was not found"):
        unable.is_ancestor(first, last)


# Surroundings


def test_nothing_of_the_person_s_work_tree_index_or_head_is_touched(ground: Ground) -> None:
    (ground.path / "code").write_text("code\n")
    ground.git("add", "code")
    git_dir = ground.path / ".git"
    before = {name: (git_dir / name).read_bytes() for name in ("HEAD", "index")}
    move_ref(ground.store, REF, ground.commit(), None, "x")
    assert {name: (git_dir / name).read_bytes() for name in before} == before
    assert sorted(p.name for p in ground.path.iterdir()) == [".git", "code"]


@pytest.mark.parametrize("prefer", ["auto", "git"])
def test_git_s_own_variables_in_the_environment_do_not_lead_elsewhere(
    tmp_path: Path, repo: Path, git, monkeypatch: pytest.MonkeyPatch, prefer: str
) -> None:
    """A hook runs with GIT_DIR and GIT_INDEX_FILE of the repository that is being committed to."""
    git("init", "-q", tmp_path / "foreign")
    hostile = {
        "GIT_DIR": str(tmp_path / "foreign/.git"),
        "GIT_WORK_TREE": str(tmp_path / "foreign"),
        "GIT_INDEX_FILE": str(tmp_path / "hostile-index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "foreign/.git/objects"),
        "GIT_COMMON_DIR": str(tmp_path / "foreign/.git"),
        "GIT_NAMESPACE": "elsewhere",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.logAllRefUpdates",
        "GIT_CONFIG_VALUE_0": "never mind",
    }
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    store = open_repository(repo, GitCommand(dict(os.environ)), "git" if prefer == "git" else "auto")
    tip = store.add_commit(store.add_tree({}), (), ANN, ANN, "x")
    move_ref(store, REF, tip, None, "x")
    assert store.git_dir == repo / ".git"
    assert store.ref(REF) == tip
    assert store.resolve("HEAD")
    assert (repo / ".git" / REF).is_file()
    assert not list((tmp_path / "foreign/.git/objects").glob("??"))
    assert not (tmp_path / "hostile-index").exists()
    store.close()


def test_a_linked_work_tree_has_its_own_head_and_the_common_refs(tmp_path, repo, git, command) -> None:
    git("-C", repo, "worktree", "add", "-q", "--detach", tmp_path / "linked")
    git("-C", tmp_path / "linked", "commit", "-q", "--allow-empty", "-m", "second")
    for prefer in ("auto", "git"):
        store = open_repository(tmp_path / "linked", command, "git" if prefer == "git" else "auto")
        assert store.git_dir == repo / ".git"
        assert store.resolve("HEAD") == git("-C", tmp_path / "linked", "rev-parse", "HEAD")
        tip = store.add_commit(store.add_tree({}), (), ANN, ANN, prefer)
        move_ref(store, f"refs/gitmem/{prefer}", tip, None, "x")
        assert git("-C", repo, "rev-parse", f"refs/gitmem/{prefer}") == tip
        assert [move.new for move in store.reflog(f"refs/gitmem/{prefer}")] == [tip]
        store.close()


def test_a_shallow_clone_has_the_history_that_it_has(tmp_path: Path, repo: Path, git, command) -> None:
    for number in range(3):
        git("-C", repo, "commit", "-q", "--allow-empty", "-m", f"{number}")
    git("clone", "-q", "--depth=2", f"file://{repo}", tmp_path / "shallow")
    for prefer in ("auto", "git"):
        store = open_repository(tmp_path / "shallow", command, "git" if prefer == "git" else "auto")
        tip = store.resolve("HEAD")
        assert tip
        assert [commit.subject for commit in store.history(tip)] == ["2", "1"]
        store.close()


def test_what_was_asked_while_a_fetch_completed_a_shallow_clone_is_asked_again(
    tmp_path: Path, repo: Path, git, command: GitCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer is of the history before, though nothing is cut short by the time that it comes."""
    first = git("-C", repo, "rev-parse", "HEAD")
    for number in range(3):
        git("-C", repo, "commit", "-q", "--allow-empty", "-m", f"{number}")
    git("clone", "-q", "--depth=2", f"file://{repo}", tmp_path / "shallow")
    git("-C", tmp_path / "shallow", "fetch", "-q", "--depth=1", "origin", first)
    store = GitRepository(command, layout(command, tmp_path / "shallow"))
    tip, ask = store.resolve("HEAD"), store._run

    def and_complete(*words: str, check: bool = True):  # type: ignore[no-untyped-def]
        answer = ask(*words, check=check)
        git("-C", tmp_path / "shallow", "fetch", "-q", "--unshallow")
        return answer

    assert tip is not None
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(store, "_run", and_complete)
        assert not store.is_ancestor(first, tip)
    assert store.is_ancestor(first, tip)


def test_a_partial_clone_fetches_what_it_lacks(tmp_path: Path, repo: Path, git, command) -> None:
    """Libgit2 cannot, so git does."""
    git("-C", repo, "config", "uploadpack.allowFilter", "true")
    git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo}", tmp_path / "partial")
    store = open_repository(tmp_path / "partial", command)
    tip = store.resolve("HEAD")
    assert tip
    assert store.blob(store.tree(store.commit(tip).tree)["README"].oid) == b"code\n"
    store.close()


def test_preferring_git_never_loads_libgit2(repo: Path) -> None:
    code = (
        "import os, sys, pathlib\n"
        "from gitmem.git.command import GitCommand\n"
        "from gitmem.git.open import open_repository\n"
        "store = open_repository(pathlib.Path(sys.argv[1]), GitCommand(dict(os.environ)), 'git')\n"
        "print(store.resolve('HEAD'), 'pygit2' in sys.modules, 'psutil' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, repo], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1:] == ["False", "False"]


def test_what_is_no_repository_is_told(tmp_path: Path, command: GitCommand) -> None:
    with pytest.raises(RepositoryError, match="not a git repository") as caught:
        open_repository(tmp_path, command)
    assert "git init" in caught.value.hint
    with pytest.raises(RepositoryError, match="No such folder"):
        open_repository(tmp_path / "none", command)
    with pytest.raises(RepositoryError, match="Not a git repository"):
        open_repository(tmp_path / "none", command, bare=True)


def test_a_folder_of_someone_else_is_not_used_until_trusted(repo: Path, command: GitCommand) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for path in (repo, repo / ".git"):
        os.chown(path, 12345, 12345)
    with pytest.raises(RepositoryError, match="dubious ownership") as caught:
        open_repository(repo, command)
    assert "safe.directory" in caught.value.hint
    trusting = repo.parent / "trusting"
    trusting.write_text(f"[safe]\n\tdirectory = {repo}\n")
    store = open_repository(repo, GitCommand(dict(os.environ) | {"GIT_CONFIG_GLOBAL": str(trusting)}))
    assert store.resolve("HEAD")
    store.close()


def test_the_private_repository_is_for_its_owner_alone_and_made_once(tmp_path: Path, command) -> None:
    command.run(["config", "--global", "safe.bareRepository", "explicit"])
    path = tmp_path / "data/gitmem/private.git"
    create_bare(path, command)
    store = open_repository(path, command, bare=True)
    move_ref(store, "refs/heads/user", store.add_commit(store.add_tree({}), (), ANN, ANN, "x"), None, "x")
    path.chmod(0o755)
    create_bare(path, command)
    assert path.stat().st_mode & 0o777 == 0o700
    assert not (path / "hooks").exists()
    assert len(store.reflog("refs/heads/user")) == 1
    assert command.run(["log", "--format=%s"], git_dir=path).text == "x"
    store.close()
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match="file"):
        create_bare(tmp_path / "file", command)


WRITE = """\
import os, pathlib, sys
from gitmem.core.errors import RepositoryError
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.open import open_repository
from gitmem.git.refs import move_ref
from gitmem.git.repository import Signature
store = open_repository(pathlib.Path(sys.argv[1]), GitCommand(dict(os.environ)), sys.argv[2])
ann = Signature("Ann", "ann@example.com", 1)
calls = {
    "blob": lambda: store.add_blob(b"new"),
    "ref": lambda: move_ref(store, "refs/gitmem/project", store.resolve("HEAD"), None, "x"),
}
for name, call in calls.items():
    try:
        call()
        print(name, "written")
    except RepositoryError as error:
        print(name, "refused:", error.message, "|", error.hint)
"""


@pytest.mark.parametrize("prefer", ["auto", "git"])
def test_a_read_only_repository_is_told(repo: Path, prefer: str) -> None:
    words = [sys.executable, "-c", WRITE, str(repo), prefer]
    if os.geteuid() == 0:
        if not shutil.which("setpriv"):
            pytest.skip("root may write everywhere")
        words = ["setpriv", "--inh-caps=-all", "--bounding-set=-all", *words]
    for folder in [repo / ".git", *(p for p in (repo / ".git").rglob("*") if p.is_dir())]:
        folder.chmod(0o555)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    for folder in [repo / ".git", *(p for p in (repo / ".git").rglob("*") if p.is_dir())]:
        folder.chmod(0o755)
    lines = done.stdout.strip().split("\n")
    assert [line.split()[:2] for line in lines] == [["blob", "refused:"], ["ref", "refused:"]], lines
    assert all("writable" in line for line in lines)
