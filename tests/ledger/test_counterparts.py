"""Which commit of one epoch became which of another: what may differ between two, and what that tells."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.core.purge import Purge
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, Repository, Signature, TreeEntry
from gitmem.git.trees import write_tree
from gitmem.ledger.counterparts import match, replaced
from gitmem.ledger.land import root_commit

UNDO = "Undo\n\nGitmem-Op: undo\n"
SECRET, OTHER = "copper-lynx-8812-quito", "green-stork-1172-lima"
ANN = Signature("Ann", "ann@example.com", 1_790_000_000, 60)
NOTHING = Purge()
NAMES = ("oriole", "lynx", "heron", "egret", "bison", "yak-of-tibet")
LATER = ("[purged]", "copper-[purged]", "copper-[purged]-quito", "copper-lynx-[purged]")
TOLD, CLEAN = {"main/a.md": f"It is {SECRET}.\n"}, {"main/a.md": "It is [purged].\n"}


@pytest.fixture
def store(repo: Path) -> Repository:
    return open_repository(repo, GitCommand(dict(os.environ)))


def commit(
    store: Repository,
    files: dict[str, str],
    *parents: str,
    message: str = "Learn\n",
    who: Signature = ANN,
    by: Signature = ANN,
) -> str:
    tree = write_tree(store, None, {path: text.encode() for path, text in files.items()})
    return store.add_commit(tree, parents or (root_commit(store),), who, by, message)


@pytest.mark.parametrize(
    ("mine", "theirs", "there", "here"),
    [
        (TOLD, CLEAN, Purge(frozenset({SECRET})), NOTHING),
        (CLEAN, TOLD, NOTHING, Purge(frozenset({SECRET}))),
        (TOLD | {"main/b.md": "B"}, TOLD, Purge(memories=frozenset({"main/b.md"})), NOTHING),
        (TOLD, TOLD | {"x/y/b.md": "B"}, NOTHING, Purge(memories=frozenset({"x/y/b.md"}))),
        (TOLD | {"main/MEMORY.md": "1"}, TOLD | {"main/MEMORY.md": "2"}, NOTHING, NOTHING),
        (TOLD | {"main/.tombstones": "1"}, TOLD | {"main/.tombstones": "2"}, NOTHING, NOTHING),
        (TOLD | {".gitmem": "1"}, TOLD | {".gitmem": "2"}, NOTHING, NOTHING),
        (TOLD | {".gitmem": "1"}, TOLD, NOTHING, NOTHING),
        (
            {f"main/use-{SECRET}.md": "A"},
            {"main/use-purged.md": "A"},
            Purge(frozenset(), frozenset({f"main/use-{SECRET}.md"})),
            Purge(frozenset(), frozenset({"main/use-purged.md"})),
        ),
        (
            {"main/a.md": f"{SECRET} and [purged]\nx\n"},
            {"main/a.md": f"[purged] and {OTHER}\nx\n"},
            None,
            None,
        ),
        (
            {"main/a.md": f"name: [purged] b\n{SECRET}\nand [purged]\n"},
            {"main/a.md": f'name: "[purged] b"\n[purged]\nand {OTHER}\n'},
            Purge(frozenset({SECRET})),
            Purge(frozenset({OTHER})),
        ),
        ({f"main/{SECRET}.md": "A"}, {"main/[purged].md": "A"}, Purge(frozenset({SECRET})), NOTHING),
        ({"main/[purged].md": "A"}, {f"main/{SECRET}.md": "A"}, NOTHING, Purge(frozenset({SECRET}))),
        (
            {f"main/{name}.md": "A" for name in NAMES},
            {"main/[purged].md": "A"},
            Purge(frozenset({"bison"}), frozenset(f"main/{name}.md" for name in NAMES if name != "bison")),
            NOTHING,
        ),
        (
            {f"main/{SECRET}.md": "A"},
            {f"main/{name}.md": "A" for name in ("[purged]-quito", *LATER)},
            Purge(frozenset({"copper-lynx-8812"})),
            Purge(frozenset(), frozenset(f"main/{name}.md" for name in LATER)),
        ),
        (
            {"main/a.md": "It is Copper Lynx.\n", "main/copper-lynx.md": "A"},
            {"main/a.md": "It is [purged].\n", "main/[purged].md": "A"},
            Purge(frozenset({"Copper Lynx"})),
            NOTHING,
        ),
        (
            TOLD | {"main/b.md": f"Or {SECRET} it is.\n", "main/c.md": f"Or {OTHER} it is.\n"},
            CLEAN | {"main/b.md": "Or [purged].\n", "main/c.md": "Or [purged] it is.\n"},
            Purge(frozenset({SECRET, OTHER})),
            NOTHING,
        ),
        ({"main/a.md": "A"}, {"main/a.md": "B"}, None, None),
        ({"main/a.md": f"{SECRET}\nx\n"}, {"main/a.md": "[purged]\ny\n"}, None, None),
        ({"main/a.md": f"{SECRET}\nx\ny\n"}, {"main/a.md": f"[purged]\n{OTHER}\n"}, None, None),
    ],
)
def test_trees_differ_where_something_was_purged_and_nowhere_else(
    store: Repository, mine: dict[str, str], theirs: dict[str, str], there: Purge | None, here: Purge | None
) -> None:
    one, other = (commit(store, files) for files in (mine, theirs))
    found = match(store, one, other)
    if there is None:
        assert (found.pairs, found.own, found.frontier) == ({}, (one,), root_commit(store))
        assert (found.there, found.here) == (NOTHING, NOTHING)
    else:
        assert (found.pairs, found.own, found.frontier) == ({one: other}, (), one)
        assert (found.there, found.here) == (there, here)


@pytest.mark.parametrize(
    ("mine", "theirs", "alike"),
    [
        ({"message": f"Learn {SECRET}\n"}, {"message": "Learn [purged]\n"}, True),
        ({"message": "Learn\n"}, {"message": "Teach\n"}, False),
        ({"message": "Back before 0123456789ab\n"}, {"message": "Back before ba9876543210\n"}, True),
        ({"message": f"{UNDO}Gitmem-Undoes: x\n"}, {"message": UNDO}, True),
        (
            {"message": "It is main/a.md#0123456789ab\n"},
            {"message": "It is main/a.md#ba9876543210\n"},
            True,
        ),
        ({"who": ANN}, {"who": Signature("Ben", ANN.email, ANN.time, 60)}, False),
        ({"who": ANN}, {"who": Signature("Ann", ANN.email, ANN.time + 1, 60)}, False),
        ({"by": ANN}, {"by": Signature("Ben", ANN.email, ANN.time, 60)}, False),
    ],
)
def test_a_counterpart_was_made_by_the_same_at_the_same_time_and_says_the_same(
    store: Repository, mine: dict[str, object], theirs: dict[str, object], alike: bool
) -> None:
    one, other = commit(store, TOLD, **mine), commit(store, CLEAN, **theirs)  # type: ignore[arg-type]
    assert match(store, one, other).pairs == ({one: other} if alike else {})


def test_what_stands_on_a_counterpart_is_one_and_each_is_so_once(store: Repository) -> None:
    """What has no counterpart has none above it, either."""
    more = {"main/b.md": "B\n"}
    one, other = commit(store, TOLD), commit(store, CLEAN)
    two, twin = commit(store, TOLD | more, one), commit(store, CLEAN | more, other)
    own = commit(store, TOLD | {"main/b.md": "B, too\n"}, two)
    last = commit(store, TOLD | more, own)
    fresh = commit(store, CLEAN | more, twin)
    found = match(store, last, fresh)
    assert found.pairs == {one: other, two: twin} and found.frontier == two
    assert found.own == (own, last)
    assert replaced(store, found, own) == (own,) and replaced(store, found, last) == (own, last)
    assert replaced(store, found, two) == replaced(store, found, None) == replaced(store, found, "") == ()
    both = match(store, commit(store, TOLD, one, message="x\n"), commit(store, CLEAN, other, message="x\n"))
    assert len(both.pairs) == 2


def test_a_file_that_changed_its_kind_is_another_and_a_name_may_be_any_bytes(store: Repository) -> None:
    blob = store.add_blob(b"A\n")

    def tree(**rows: TreeEntry) -> str:
        folder = TreeEntry(
            TREE, store.add_tree({name.replace("_", "\udcff."): row for name, row in rows.items()})
        )
        root = store.add_tree({"main": folder})
        return store.add_commit(root, (root_commit(store),), ANN, ANN, "Learn\n")

    plain, run = TreeEntry(BLOB, blob), TreeEntry(EXECUTABLE, blob)
    assert match(store, tree(a_md=plain), tree(a_md=run)).pairs == {}
    one, other = tree(a_md=plain, b_md=plain), tree(a_md=plain)
    found = match(store, one, other)
    assert found.pairs == {one: other} and found.there.memories == {"main/b\udcff.md"}
