"""A scope holds a great deal, and no tree of a few kilobytes makes it more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from slices import often

from gitmem.core.limits import OTHER_BYTES
from gitmem.core.names import FORMAT_FILE, FORMAT_TEXT
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import BLOB, TREE, Repository, Signature, TreeEntry
from gitmem.ledger import arrival
from gitmem.ledger.arrival import TooLarge, check_caps, take_in
from gitmem.ledger.consent import Peer
from gitmem.ledger.land import root_commit
from gitmem.ledger.merge import set_aside

REF = "refs/gitmem/project"
WHO = Signature("Ann", "ann@example.com", 1_795_000_000)
Git = Callable[..., str]


@pytest.fixture(params=often(["auto", "git"], "git"))
def objects(request: pytest.FixtureRequest, repo: Path) -> Repository:
    return open_repository(repo, GitCommand(dict(os.environ)), prefer=request.param)


def _bomb(repo: Repository, levels: int, width: int, bottom: dict[str, TreeEntry]) -> str:
    """A tree that stands for `width ** levels` folders and takes `levels` objects."""
    with repo.together():
        tree = repo.add_tree(bottom)
        for _ in range(levels):
            tree = repo.add_tree({f"d{number}": TreeEntry(TREE, tree) for number in range(width)})
    return tree


def _file(repo: Repository, data: bytes) -> TreeEntry:
    with repo.together():
        return TreeEntry(BLOB, repo.add_blob(data))


def _commit_of(repo: Repository, tree: str) -> str:
    entries = {**repo.tree(tree), FORMAT_FILE: _file(repo, FORMAT_TEXT)}
    with repo.together():
        root = root_commit(repo)
        return repo.add_commit(repo.add_tree(entries), (root,), WHO, WHO, "Add\n")


def test_what_is_too_much_is_refused_without_being_expanded_or_read(objects: Repository) -> None:
    """10^15 files in 16 objects: listing them would never end, nor opening as many folders without any."""
    small, large = ({"a.md": _file(objects, data)} for data in (b"A.\n", b"word " * 800_000))
    with objects.together():
        empty = {"a": TreeEntry(TREE, objects.add_tree({}))}
    check_caps(objects, _bomb(objects, 1, 3, small), "it")
    for levels, width, bottom, told in (
        (15, 10, small, "1,000,000,000,000,000 files"),
        (2, 20, large, "bytes"),
        (1, arrival.SCOPE_AGENTS + 1, small, "agents"),
        (321, 1, small, "more than 320 deep, as 'd0/d0/"),
        (15, 10, empty, "folders, and 1,000,000 are the most"),
    ):
        with pytest.raises(TooLarge, match=told):
            check_caps(objects, _bomb(objects, levels, width, bottom), "it")
    commit = _commit_of(objects, _bomb(objects, 15, 10, small))
    with pytest.raises(TooLarge):
        take_in(objects, REF, commit, "gitmem sync", frozenset(), Peer("origin", "", 0.0))
    assert objects.ref(REF) is None


def test_a_file_that_is_too_large_or_lies_too_deep_is_set_aside_and_named(objects: Repository) -> None:
    inner = {"a.md": _file(objects, b"x" * (OTHER_BYTES + 1)), "b.md": _file(objects, b"B.\n")}
    for levels, name, told in (
        (1, "a.md", "is too large: it has 4,194,305 bytes, and 4,194,304 are the most"),
        (21, "b.md", "the path has more than 20 parts"),
    ):
        tree = _bomb(objects, levels, 1, inner)
        check_caps(objects, tree, "it")
        paths = {"d0/" * levels + one for one in ("b.md", name)}
        assert set_aside(objects, [tree], paths) == {"d0/" * levels + name: told}


def test_one_that_reads_as_another_that_nobody_changed_is_set_aside(objects: Repository) -> None:
    file = _file(objects, b"A.\n")
    tree = _bomb(objects, 1, 1, {"s.md": file, "\u017f.md": file, "b.md": file})
    (agent,) = objects.tree(tree)
    for changed in ({"\u017f.md"}, {"\u017f.md", "b.md"}):
        assert set_aside(objects, [tree], {f"{agent}/{name}" for name in changed}).keys() == {
            f"{agent}/\u017f.md"
        }
    assert set_aside(objects, [tree], {f"{agent}/s.md"}) == {}
