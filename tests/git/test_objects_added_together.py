"""Objects that are added together are on disk at the end or not at all, and cost no process."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from gitmem.core.errors import MissingObject
from gitmem.git.command import GitCommand, GitResult
from gitmem.git.open import open_repository
from gitmem.git.repository import BLOB, Repository, Signature, TreeEntry

ANN = Signature("Ann", "ann@example.com", 1763632800, 60)


class Counting(GitCommand):
    """The git command, noting what it is asked."""

    asked: list[str] = []  # noqa: RUF012 - one test at a time

    def run(self, args, **given) -> GitResult:
        self.asked.append(args[0])
        return super().run(args, **given)


@pytest.fixture(params=["auto sha1", "git sha1", "git sha256"])
def repo(request: pytest.FixtureRequest, tmp_path: Path) -> Repository:
    prefer, object_format = request.param.split()
    command = Counting(dict(os.environ))
    command.run(["init", "-q", f"--object-format={object_format}", str(tmp_path)])
    command.asked.clear()
    return open_repository(tmp_path, command, prefer)


def grow(repo: Repository, texts: list[bytes]) -> str:
    entries = {f"{number}.md": TreeEntry(BLOB, repo.add_blob(text)) for number, text in enumerate(texts)}
    return repo.add_commit(repo.add_tree(entries), (), ANN, ANN, "Learn\n")


def test_they_are_read_inside_and_stand_on_disk_at_the_end(repo: Repository, tmp_path: Path) -> None:
    chance = random.Random(5)
    sizes = (0, 1, 40_000)
    texts = [chance.randbytes(size) for size in sizes]
    with repo.together():
        commit = grow(repo, texts)
        tree = repo.tree(repo.commit(commit).tree)
        assert [repo.blob(entry.oid) for entry in tree.values()] == texts
    git = GitCommand(dict(os.environ))
    assert git.run(["cat-file", "-t", commit], cwd=tmp_path).text == "commit"
    for entry, text in zip(tree.values(), texts, strict=True):
        assert git.run(["cat-file", "blob", entry.oid], cwd=tmp_path).stdout == text
    assert git.run(["fsck", "--strict"], cwd=tmp_path).returncode == 0


def test_they_cost_no_process(repo: Repository) -> None:
    """Of a repository that is not as `git init` leaves most, git tells the settings, once."""
    Counting.asked.clear()
    repo.add_blob(b"the first\n")
    assert Counting.asked == (["config"] if repo.hex_length == 64 else [])
    Counting.asked.clear()
    with repo.together():
        grow(repo, [b"%d\n" % number for number in range(50)])
    assert Counting.asked == []


@pytest.mark.parametrize("repo", ["git sha1", "git sha256"], indirect=True)
def test_what_was_not_finished_is_not_there(repo: Repository) -> None:
    """Libgit2 writes at once and leaves loose objects behind, which git prunes in time."""
    with pytest.raises(RuntimeError), repo.together():
        commit = grow(repo, [b"half\n"])
        raise RuntimeError
    with pytest.raises(MissingObject):
        repo.commit(commit)


def test_one_inside_another_ends_with_the_outer_one(repo: Repository) -> None:
    with repo.together():
        with repo.together():
            first = repo.add_blob(b"inner\n")
        commit = grow(repo, [b"outer\n"])
        assert repo.blob(first) == b"inner\n"
    assert repo.commit(commit).message == "Learn\n"
    assert repo.blob(first) == b"inner\n"
