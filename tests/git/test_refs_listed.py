"""Refs that are listed from files are those that git lists, whatever lies there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import examples

from gitmem.core.errors import RepositoryError
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository

FORM = "--format=%(refname)%00%(objectname)%00%(symref)"


class Ground:
    """A repository whose refs are written by hand, and what git says of them."""

    def __init__(self, path: Path, prefer: str, object_format: str) -> None:
        self.command = GitCommand(dict(os.environ))
        self.command.run(["init", "-q", f"--object-format={object_format}", str(path)])
        self.git_dir = path / ".git"
        store = open_repository(path, self.command, "git" if prefer == "git" else "auto")
        assert isinstance(store, GitRepository)
        self.store: GitRepository = store
        size = store.hex_length
        self.one, self.two = "1" * size, "2" * size

    def begin(self) -> None:
        shutil.rmtree(self.git_dir / "refs")
        (self.git_dir / "refs").mkdir()
        (self.git_dir / "packed-refs").unlink(missing_ok=True)

    def loose(self, name: str, text: str) -> None:
        path = self.git_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def packed(self, *names: str, oid: str = "") -> None:
        rows = "".join(f"{oid or self.two} {name}\n" for name in sorted(names))
        head = "# pack-refs with: peeled fully-peeled sorted \n"
        (self.git_dir / "packed-refs").write_text(head + rows)

    def told(self, prefix: str) -> dict[str, str] | None:
        """What git says itself; None where it complains."""
        done = self.command.run(["for-each-ref", FORM, prefix], git_dir=self.git_dir, check=False)
        if done.returncode or "broken ref" in done.stderr:
            return None
        rows = [row.split("\0") for row in done.text.split("\n") if row]
        return {name: oid for name, oid, link in rows if not link}

    def read(self, prefix: str) -> tuple[dict[str, str] | None, bool]:
        """What gitmem says, None where it complains, and whether a process of git was asked."""
        with mock.patch.object(self.store, "_each_ref", wraps=self.store._each_ref) as asked:
            try:
                found: dict[str, str] | None = self.store.refs(prefix)
            except RepositoryError:
                found = None
        return found, asked.called


@pytest.fixture(
    scope="module",
    params=[("auto", "sha1"), ("git", "sha1"), ("git", "sha256")],
    ids=["pygit2-sha1", "git-sha1", "git-sha256"],
)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    ground = Ground(tmp_path_factory.mktemp("refs") / "work", *request.param)
    yield ground
    ground.store.close()


@pytest.fixture
def ground(made: Ground) -> Ground:
    made.begin()
    return made


def test_loose_and_packed_refs_are_listed_without_git(ground: Ground) -> None:
    one, two = ground.one, ground.two
    ground.loose("refs/a/loose", f"{one}\n")
    ground.loose("refs/a/both", f"{one}\n")
    ground.loose("refs/a/deep/er/é", f"{one}\r\n")
    ground.loose("refs/a/held.lock", "")
    ground.loose("refs/a/.DS_Store", "")
    ground.loose("refs/ab/other", "")
    (ground.git_dir / "refs/a/empty/folder").mkdir(parents=True)
    ground.packed("refs/a/both", "refs/a/packed", "refs/a/deep/packed", "refs/ab/packed", "refs/z/refs/a/x")
    wanted = {
        "refs/a/both": one, "refs/a/deep/er/é": one, "refs/a/deep/packed": two, "refs/a/loose": one,
        "refs/a/packed": two,
    }  # fmt: skip
    found, asked = ground.read("refs/a/")
    assert found == wanted == ground.told("refs/a/")
    assert list(found or ()) == list(wanted)
    assert not asked
    (ground.git_dir / "refs/a/both").unlink()
    assert ground.read("refs/a/") == (wanted | {"refs/a/both": two}, False)
    assert ground.read("refs/a/deep/") == (ground.told("refs/a/deep/"), False)
    assert ground.read("refs/none/") == ({}, False)


def test_a_ref_that_is_being_packed_is_listed_all_the_while(ground: Ground) -> None:
    """Its file may go after the folder was read; it is in `packed-refs` by then."""
    ground.loose("refs/a/x", f"{ground.one}\n")
    read = Path.read_bytes

    def pack_first(path: Path) -> bytes:
        if path.name == "x":
            ground.packed("refs/a/x", oid=ground.one)
            path.unlink()
        return read(path)

    with mock.patch.object(Path, "read_bytes", pack_first):
        assert ground.read("refs/a/") == ({"refs/a/x": ground.one}, False)


def test_a_folder_that_goes_meanwhile_holds_nothing(ground: Ground) -> None:
    ground.loose("refs/a/b/x", f"{ground.one}\n")
    scan = os.scandir

    def gone(path: Path):  # type: ignore[no-untyped-def]
        if path.name == "b":
            (path / "x").unlink()
            path.rmdir()
        return scan(path)

    with mock.patch("os.scandir", gone):
        assert ground.read("refs/a/") == ({}, False)


def test_a_symbolic_ref_is_left_out_without_asking_git(ground: Ground) -> None:
    """Every clone has one: `refs/remotes/origin/HEAD`."""
    ground.loose("refs/a/HEAD", "ref: refs/b/main\n")
    ground.loose("refs/a/main", f"{ground.one}\n")
    ground.packed("refs/a/HEAD", "refs/b/main")
    assert ground.read("refs/a/") == (ground.told("refs/a/"), False) == ({"refs/a/main": ground.one}, False)


@pytest.mark.parametrize("text", ["", "1" * 39, "0" * 40, "0" * 64, "x" * 40, " {one}\n", "{one}0\n"])
def test_a_broken_ref_is_reported(ground: Ground, text: str) -> None:
    ground.loose("refs/a/sound", f"{ground.one}\n")
    ground.loose("refs/a/broken", text.format(one=ground.one))
    ground.loose("refs/b/link", "ref: refs/a/broken\n")
    ground.packed("refs/a/broken")
    assert ground.read("refs/a/") == (None, True)
    assert ground.told("refs/a/") is None
    assert ground.read("refs/b/") == (ground.told("refs/b/"), True)
    assert ground.read("refs/c/") == ({}, False)


@pytest.mark.parametrize(
    "rows", ["{one} refs/a/x", "xx refs/a/x\n", "{one}1 refs/a/x\n", "{one} refs/a/../x\n"]
)
def test_a_damaged_list_of_packed_refs_is_git_s_to_judge(ground: Ground, rows: str) -> None:
    (ground.git_dir / "packed-refs").write_text(rows.format(one=ground.one))
    found, asked = ground.read("refs/a/")
    assert found == ground.told("refs/a/")
    assert asked


@pytest.mark.parametrize(
    "prefix", ["refs/a", "refs/a*", "refs/a?", "refs/*/b", "refs/", "refs/bisect/", ""]
)
def test_patterns_and_a_work_tree_s_own_refs_are_git_s_to_match(ground: Ground, prefix: str) -> None:
    """Up to a slash: `refs/a` has `refs/a/b`, and has no `refs/ab`."""
    for name in ("refs/a/b", "refs/ab", "refs/a-/b", "refs/bisect/bad", "refs/c/d"):
        ground.loose(name, f"{ground.one}\n")
    found, asked = ground.read(prefix)
    assert found == ground.told(prefix)
    assert bool(found) == bool(prefix)
    assert asked


def test_a_work_tree_has_its_own_refs_and_the_common_ones(ground: Ground, tmp_path: Path) -> None:
    tree = ground.store.add_tree({})
    words = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit-tree", "-m", "x", tree]
    tip = ground.command.run(words, git_dir=ground.git_dir).text
    ground.loose("refs/heads/main", f"{tip}\n")
    linked = tmp_path / "linked"
    ground.command.run(["worktree", "add", "-q", "--detach", str(linked), tip], cwd=ground.git_dir)
    store = open_repository(linked, ground.command, "git")
    ground.command.run(["update-ref", "refs/worktree/mine", tip], cwd=linked)
    assert store.refs("refs/worktree/") == {"refs/worktree/mine": tip}
    assert store.refs("refs/heads/") == {"refs/heads/main": tip}
    assert ground.store.refs("refs/worktree/") == {}
    store.close()
    ground.command.run(["worktree", "remove", str(linked)], cwd=ground.git_dir)


def test_links_and_what_cannot_be_read_are_git_s_to_follow(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text(f"{ground.one}\n")
    (ground.git_dir / "refs/a").mkdir()
    for target in ("outside", "outside/x"):
        link = ground.git_dir / "refs/a/link"
        link.symlink_to(tmp_path / target)
        assert ground.read("refs/a/") == (ground.told("refs/a/"), True)
        link.unlink()
    ground.loose("refs/b", f"{ground.one}\n")
    assert ground.read("refs/b/") == ({}, True), "a file where the folder would be"
    with mock.patch("os.scandir", side_effect=PermissionError):
        assert ground.read("refs/a/")[1]
    (ground.git_dir / "packed-refs").mkdir()
    assert ground.read("refs/c/") == (ground.told("refs/c/"), True)
    (ground.git_dir / "packed-refs").rmdir()


def test_refs_in_a_table_are_git_s_to_read(ground: Ground) -> None:
    (ground.git_dir / "reftable").mkdir()
    assert ground.read("refs/a/")[1]
    (ground.git_dir / "reftable").rmdir()


NAMES = ["a", "a/b", "a/b/c", "ab", "b", "b/c", "é", "x y", "x.lock", ".x", "x..y", "HEAD"]
TEXTS = [
    *["{one}\n"] * 12, "{one}", "{one} \t\r\n", "{one} and more\n", "{one}more\n", " {one}\n", "",
    "{zero}\n", "ref: refs/t/a\n", "ref:refs/t/b/c", "ref: refs/u/none\n", "ref: refs/t/HEAD\n",
    "ref: HEAD\n", "ref: ../outside\n",
]  # fmt: skip


@given(
    loose=st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TEXTS)),
    packed=st.sets(st.sampled_from([name for name in NAMES if name not in ("x y", "x..y", ".x")])),
    prefix=st.sampled_from(["refs/t/", "refs/t/", "refs/t/a/", "refs/t/a", "refs/t/ab/", "refs/u/"]),
)
@settings(max_examples=examples(100), deadline=None)
def test_any_files_are_listed_as_git_lists_them(
    made: Ground, loose: dict[str, str], packed: set[str], prefix: str
) -> None:
    made.begin()
    for name, text in loose.items():
        with suppress(NotADirectoryError, FileExistsError, IsADirectoryError):
            made.loose(f"refs/t/{name}", text.format(one=made.one, zero="0" * len(made.one)))
    made.packed(*(f"refs/t/{name}" for name in packed))
    assert made.read(prefix)[0] == made.told(prefix)
