"""One path deep in a tree, and the history of some paths: both backends, and histories with holes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_repository import MemoryRepository
from test_repository import Ground, command, ground, loose

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.git import history, objects
from gitmem.git.by_command import LOOSE_STEPS, GitRepository
from gitmem.git.command import GitCommand, layout
from gitmem.git.open import create_bare, open_repository
from gitmem.git.repository import (
    BLOB,
    EXECUTABLE,
    LINK,
    SUBMODULE,
    TREE,
    Repository,
    Signature,
    Touch,
    TreeEntry,
)
from gitmem.git.trees import write_tree

__all__ = ["command", "ground"]

START = 1_763_632_800


class Line:
    """Commits made one after the other, an hour apart."""

    def __init__(self, store: Repository) -> None:
        self.store = store
        self.time = START

    def put(self, files: dict[str, str | None], *parents: str, message: str = "Learn") -> str:
        """Commits the first parent's tree with these files in it."""
        self.time += 3600
        tree = self.store.commit(parents[0]).tree if parents else None
        edits = {path: None if text is None else text.encode() for path, text in files.items()}
        who = Signature("Ann", "ann@example.com", self.time)
        return self.store.add_commit(write_tree(self.store, tree, edits), parents, who, who, message)


@pytest.fixture
def line(ground: Ground) -> Line:
    return Line(ground.store)


def test_an_entry_is_found_at_any_depth(line: Line) -> None:
    store = line.store
    tip = line.put({"main/archive/ab/old.md": "o", "main/a.md": "a", "main/é\n.md": "e", "top": "t"})
    tree = store.commit(tip).tree
    inner = store.tree(store.tree(tree)["main"].oid)
    assert store.entry(tree, "main/a.md") == inner["a.md"] == TreeEntry(BLOB, store.add_blob(b"a"))
    assert store.entry(tree, "main/é\n.md") == inner["é\n.md"]
    assert store.entry(tree, "main") == store.tree(tree)["main"]
    found = store.entry(tree, "main/archive/ab/old.md")
    assert found is not None and store.blob(found.oid) == b"o"
    for path in ("main/b.md", "main/a.md/x", "nowhere/a.md", "a.md", "top/x", "", "main/", "main//a.md"):
        assert store.entry(tree, path) is None, path


def test_an_entry_behind_a_damaged_tree_is_an_error_that_comes_at_once(ground: Ground, line: Line) -> None:
    """Libgit2 would never return from a loose object that was cut short."""
    tree = line.store.commit(line.put({"main/a.md": "a"})).tree
    inner = line.store.tree(tree)["main"].oid
    spot = loose(ground, inner)
    spot.chmod(0o600)
    spot.write_bytes(spot.read_bytes()[:20])
    with pytest.raises(MissingObject):
        line.store.entry(tree, "main/a.md")
    assert line.store.entry(tree, "other/a.md") is None


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=6).filter(
            lambda name: name not in (".", "..") and name.lower() != ".git"
        ),
        st.tuples(st.sampled_from([BLOB, TREE]), st.binary(min_size=20, max_size=20)),
        max_size=8,
    )
)
def test_one_line_of_a_tree_is_that_of_the_whole(rows: dict[str, tuple[int, bytes]]) -> None:
    """Names may stand in the bytes of an object's name too."""
    entries = {name: TreeEntry(mode, raw.hex()) for name, (mode, raw) in rows.items()}
    data = objects.encode_tree(entries, 40)
    for name in [*entries, "absent", ""]:
        assert objects.tree_entry(data, name, 40, "x") == objects.parse_tree(data, 40, "x").get(name)


def test_a_name_inside_an_objects_name_is_no_entry() -> None:
    hidden = b" x\0".ljust(20, b"y").hex()
    data = objects.encode_tree({"a": TreeEntry(BLOB, hidden)}, 40)
    assert objects.tree_entry(data, "x", 40, "t") is None
    with pytest.raises(MissingObject):
        objects.tree_entry(data[:-1] + b"\0 x\0", "x", 40, "t")


def test_touching_names_the_commits_that_changed_a_path_and_what_they_changed(line: Line) -> None:
    store = line.store
    first = line.put({"main/a.md": "1", "main/b.md": "1"})
    second = line.put({"main/b.md": "2", "other/a.md": "1"}, first)
    third = line.put({"main/a.md": "3", "main/b.md": "3"}, second)
    gone = line.put({"main/a.md": None}, third)
    assert list(store.touching(gone, ["main/a.md"])) == [
        Touch(gone, ("main/a.md",)),
        Touch(third, ("main/a.md",)),
        Touch(first, ("main/a.md",)),
    ]
    assert [touch.commit for touch in store.touching(gone, ["other"])] == [second]
    assert [touch.paths for touch in store.touching(gone, ["*/a.md"])] == [
        ("main/a.md",), ("main/a.md",), ("other/a.md",), ("main/a.md",),
    ]  # fmt: skip
    assert [touch.paths for touch in store.touching(gone)][2] == ("main/b.md", "other/a.md")
    assert list(store.touching(gone, ["main/c.md"])) == []


@pytest.mark.parametrize("path", ["main/*.md", ":(glob)main/a.md", "main/[ab].md", "--all", "ä/\udcff.md"])
def test_a_path_is_taken_literally(line: Line, path: str) -> None:
    other = line.put({"main/a.md": "1"})
    named = line.put({f"x/{path}": "1", path: "1"}, other)
    line.put({"main/a.md": "2"}, named)
    assert [touch.commit for touch in line.store.touching(named, [path])] == [named]
    assert [touch.commit for touch in line.store.touching(named, [f"*/{path}"])] == [named]
    assert list(line.store.lineage(named, [path])) == [named]


def test_a_merge_touches_only_what_no_parent_has(line: Line) -> None:
    base = line.put({"main/a.md": "1", "main/b.md": "1"})
    ours = line.put({"main/a.md": "2"}, base)
    theirs = line.put({"main/b.md": "2"}, base)
    clean = line.put({"main/b.md": "2"}, ours, theirs)
    mixed = line.put({"main/a.md": "3", "main/b.md": "2"}, clean, theirs)
    assert [touch.commit for touch in line.store.touching(mixed, ["main/a.md"])] == [mixed, ours, base]
    touched = {touch.commit: touch.paths for touch in line.store.touching(mixed)}
    assert touched[clean] == () and touched[mixed] == ("main/a.md",)


def test_lineage_leaves_all_else_out_and_keeps_how_the_rest_descends(line: Line) -> None:
    base = line.put({"main/a.md": "1", "main/b.md": "1"})
    ours = line.put({"main/a.md": "2"}, line.put({"main/b.md": "2"}, base))
    theirs = line.put({"main/a.md": "3"}, base)
    merge = line.put({"main/a.md": "2"}, ours, theirs)
    tip = line.put({"main/b.md": "4"}, merge)
    expected = {merge: (ours, theirs), theirs: (base,), ours: (base,), base: ()}
    assert line.store.lineage(tip, ["main/a.md"]) == expected
    assert line.store.lineage(tip, ["main/c.md"]) == {}


def test_lineage_keeps_a_merge_that_threw_one_side_away(line: Line) -> None:
    """Else the file would seem to be there after it."""
    base = line.put({"main/b.md": "1"})
    kept = line.put({"main/a.md": "1"}, base)
    dropped = line.put({}, base, kept)
    again = line.put({"main/a.md": "1"}, dropped)
    graph = line.store.lineage(again, ["main/a.md"])
    assert graph[dropped] == (kept,) and graph[again] == (dropped,)
    tip = line.put({"main/b.md": "2"}, dropped)
    assert next(iter(line.store.lineage(tip, ["main/a.md"]))) == dropped


def test_configuration_does_not_change_what_a_walk_gives(ground: Ground, line: Line) -> None:
    for setting in (
        ("core.worktree", ".."), ("log.showSignature", "true"), ("log.follow", "true"),
        ("log.showRoot", "false"), ("diff.renames", "copies"), ("diff.relative", "true"),
        ("format.pretty", "fuller"), ("color.ui", "always"), ("core.quotePath", "true"),
    ):  # fmt: skip
        ground.git("config", *setting)
    first = line.put({"main/ä.md": "a long enough text\n" * 9})
    moved = line.put({"main/ä.md": None, "main/b.md": "a long enough text\n" * 9}, first)
    assert list(line.store.touching(moved, ["main/ä.md"])) == [
        Touch(moved, ("main/ä.md",)),
        Touch(first, ("main/ä.md",)),
    ]
    assert next(line.store.touching(moved)).paths == ("main/b.md", "main/ä.md")
    assert line.store.lineage(moved, ["main/ä.md"]) == {moved: (first,), first: ()}


def test_history_until_a_moment_begins_there(line: Line) -> None:
    first = line.put({"a": "1"})
    second = line.put({"a": "2"}, first)
    third = line.put({"a": "3"}, second)
    times = [START + hours * 3600 for hours in (1, 2, 3)]
    assert [commit.oid for commit in line.store.history(third, until=times[1])] == [second, first]
    assert [commit.oid for commit in line.store.history(third, until=times[0] - 1)] == []
    assert [commit.oid for commit in line.store.history(third)] == [third, second, first]


def test_a_shallow_clone_ends_history(ground: Ground, line: Line) -> None:
    first = line.put({"main/a.md": "1"})
    second = line.put({"main/b.md": "1"}, first)
    third = line.put({"main/a.md": "2"}, second)
    (ground.path / ".git/shallow").write_text(f"{second}\n")
    loose(ground, first).unlink()
    assert [touch.commit for touch in history.touching(line.store, third, ["main/a.md"])] == [third, second]
    assert history.lineage(line.store, third, ["main/a.md"]) == {third: (second,), second: ()}


@pytest.mark.parametrize("kind", ["commit", "tree"])
def test_a_missing_object_ends_history_and_no_more(ground: Ground, line: Line, kind: str) -> None:
    first = line.put({"main/a.md": "1"})
    second = line.put({"main/a.md": "2"}, first)
    third = line.put({"main/b.md": "3"}, second)
    fourth = line.put({"main/a.md": "4"}, third)
    lost = first if kind == "commit" else line.store.commit(first).tree
    shutil.copy(loose(ground, lost), ground.path / "kept")
    loose(ground, lost).unlink()
    store = ground.anew()
    touched = [touch.commit for touch in history.touching(store, fourth, ["main/a.md"])]
    assert touched[:1] == [fourth] and set(touched) <= {fourth, second}
    graph = history.lineage(store, fourth, ["main/a.md"])
    store.close()
    assert next(iter(graph)) == fourth and third not in graph and first not in graph


FILES = st.dictionaries(st.sampled_from(["m/a.md", "m/b.md"]), st.sampled_from("123"), max_size=2)


@given(st.lists(st.tuples(FILES, st.integers(0, 8), st.none() | st.integers(0, 8)), min_size=1, max_size=9))
def test_between_two_commits_of_a_lineage_a_path_stays_as_it_was(
    steps: list[tuple[dict[str, str], int, int | None]],
) -> None:
    """The law that blame stands on, for the walk that is used where git gives up."""

    class Torn(MemoryRepository):
        def lineage(self, tip: str, paths: object) -> dict[str, tuple[str, ...]]:
            raise MissingObject("torn")

    repo = Torn()
    made: list[str] = []
    for number, (files, one, other) in enumerate(steps):
        parents = [made[one % len(made)]] if made else []
        if made and other is not None and made[other % len(made)] not in parents:
            parents.append(made[other % len(made)])
        made.append(repo.put(files, *parents, time=START + number))
    tip = made[-1]
    graph = history.lineage(repo, tip, ["m/a.md"])  # type: ignore[arg-type]

    def content(oid: str) -> str | None:
        folder = repo.trees[repo.commits[oid].tree].get("m")
        entry = repo.trees[folder.oid].get("a.md") if folder else None
        return entry.oid if entry else None

    if graph:
        assert content(next(iter(graph))) == content(tip)
    for oid, kept in graph.items():
        real = repo.commits[oid].parents
        assert {content(p) for p in kept} - {None} == {content(p) for p in real} - {None}
    seen: set[str] = set()
    for oid, kept in graph.items():
        assert not seen & set(kept), "children come first"
        seen.add(oid)


@given(st.lists(st.lists(st.integers(0, 11), max_size=3), min_size=2, max_size=12))
def test_how_commits_are_related_and_follow_is_as_git_says_and_costs_no_process(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[int]]
) -> None:
    """Each commit has some of those before it as its parents; many were made at one time."""
    folder = tmp_path_factory.mktemp("related") / "r.git"
    git = GitCommand(dict(os.environ))
    create_bare(folder, git)
    store = open_repository(folder, git, "git", bare=True)
    made: list[str] = []
    with store.together():
        for number, above in enumerate(lines):
            parents = tuple(dict.fromkeys(made[place] for place in above if place < number))
            who = Signature("Ann", "ann@example.com", 1_763_632_800 - number % 3)
            made.append(store.add_commit(store.add_tree({}), parents, who, who, str(number)))
    pairs = [
        (made[-1], made[0]),
        (made[0], made[-1]),
        (made[-1], made[-2]),
        (made[-1], made[len(made) // 2]),
    ]
    unable = open_repository(folder, GitCommand(git.environ, "no-such-git"), "git", bare=True)
    for one, other in pairs:
        bases = git.run(["merge-base", "--all", one, other], git_dir=folder, check=False).text.split()
        assert unable.merge_bases(one, other) == tuple(sorted(bases))
        assert unable.is_ancestor(one, other) == (one in bases)
    listed = git.run(["rev-list", "--date-order", made[-1]], git_dir=folder).text.split()
    assert [commit.oid for commit in unable.history(made[-1])] == listed


@pytest.mark.parametrize("odd", [0, 10**13])
def test_the_order_of_commits_with_odd_dates_is_git_s(ground: Ground, line: Line, odd: int) -> None:
    store, tree = line.store, line.store.add_tree({})
    who, nobody = Signature("Ann", "ann@example.com", START), Signature("Ann", "ann@example.com", odd)
    sides = [store.add_commit(tree, (), one, one, str(n)) for n, one in enumerate((nobody, who, nobody))]
    tip = store.add_commit(tree, tuple(sides), who, who, "tip")
    listed = ground.git("rev-list", "--date-order", tip).split()
    program = "git" if odd else "no-such-git"
    fresh = GitRepository(GitCommand(os.environ, program), layout(store.git, ground.path))
    assert [commit.oid for commit in fresh.history(tip)] == listed


def test_the_files_of_a_tree_are_those_that_git_lists(ground: Ground, line: Line) -> None:
    """From loose trees without a process; git says where one is not there, or there are many."""
    store, where = line.store, layout(line.store.git, ground.path)
    blob = store.add_blob(b"x")
    inner = store.commit(line.put({"b/c/d.md": "1", "b.md": "2", "b0": "3"})).tree
    rows = {name: TreeEntry(BLOB, blob) for name in ("a.b", "a-b", "a0", "é", "b\udcff", "with\nline")}
    rows |= {"a": TreeEntry(TREE, inner), "c": TreeEntry(TREE, inner), "run": TreeEntry(EXECUTABLE, blob)}
    rows |= {"link": TreeEntry(LINK, blob), "part": TreeEntry(SUBMODULE, "1" * store.hex_length)}
    tree = store.add_tree(rows)

    def listed(tree: str) -> list[tuple[str, str]]:
        found = store.git.run(["ls-tree", "-rz", tree], git_dir=store.git_dir).text.split("\0")
        parts = (row.partition("\t") for row in found if row.startswith("100"))
        return [(path, head.split(" ")[2]) for head, _, path in parts]

    def told(tree: str, program: str = "git") -> list[tuple[str, str]]:
        return list(GitRepository(GitCommand(os.environ, program), where).files(tree).items())

    assert told(tree, "no-such-git") == listed(tree)
    many = store.commit(line.put({f"{number}/a.md": "1" for number in range(LOOSE_STEPS)})).tree
    assert told(many) == listed(many)
    with pytest.raises(RepositoryError):
        told(many, "no-such-git")
    loose(ground, inner).unlink()
    with pytest.raises(MissingObject):
        told(tree)


def test_files_are_listed_whatever_the_system_calls_its_own(ground: Ground, line: Line) -> None:
    tree = line.store.commit(line.put({"main/é.md": "1"})).tree
    program = (
        "import os, sys; from pathlib import Path; from gitmem.git.by_command import GitRepository as Git;"
        "from gitmem.git.command import GitCommand, layout; git = GitCommand(os.environ);"
        "found = Git(git, layout(git, Path(sys.argv[1]))).files(sys.argv[2]);"
        "print(sys.getfilesystemencoding(), ascii([*found]))"
    )
    words = [sys.executable, "-X", "utf8=0", "-c", program, str(ground.path), tree]
    environ = os.environ | {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ascii", r"['main/\xe9.md']"]
