"""Merging commits of memory refs: the same commit in every clone, whatever the history looks like."""

from __future__ import annotations

import os
from contextlib import nullcontext
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from laws import by_claims_alone, examples

from gitmem.core.errors import RepositoryError
from gitmem.core.memory import parse
from gitmem.core.merge import MergedTree
from gitmem.core.names import kind
from gitmem.core.tombstone import bury, with_stones
from gitmem.core.trailers import parse as trailers
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.repository import LINK, Repository, Signature, TreeEntry
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger import merge as merging
from gitmem.ledger.land import Tip, check_format, root_commit
from gitmem.ledger.merge import (
    check_paths,
    is_writable,
    landing,
    merge_commits,
    merge_of_trees,
    set_aside,
    standing_aside,
)

START = 1_790_000_000
MEMORY = "---\nname: {0}\ndescription: About {0}\ntype: project\n---\n\n{1}\n"


@pytest.fixture
def store(repo: Path) -> Repository:
    return open_repository(repo, GitCommand(dict(os.environ)))


def put(store: Repository, files: dict[str, str], *parents: str, time: int = START) -> str:
    """Commits a whole tree."""
    tree = write_tree(store, None, {path: text.encode() for path, text in files.items()})
    who = Signature("Ann", "ann@example.com", time)
    return store.add_commit(tree, parents, who, who, "Learn\n")


def read(store: Repository, commit: str) -> dict[str, str]:
    return {path: data.decode() for path, data in read_files(store, store.commit(commit).tree).items()}


def claims(store: Repository, commit: str) -> set[str]:
    files = read(store, commit)
    return {
        claim.key
        for path, text in files.items()
        if kind(path) == "memory"
        for claim in parse(path, text.encode()).parsed.claims
    }


def test_the_side_that_holds_the_other_is_the_merge(store: Repository) -> None:
    old = put(store, {"main/a.md": "one\n"}, root_commit(store))
    new = put(store, {"main/a.md": "one\n\ntwo\n"}, old)
    assert merge_commits(store, old, new).commit == new
    assert merge_commits(store, new, old).commit == new
    assert merge_commits(store, new, new).commit == new


def test_a_merge_is_one_commit_whoever_makes_it(store: Repository) -> None:
    """Two clones that merge the same heads must not make two heads of it again."""
    base = put(store, {"main/a.md": MEMORY.format("a", "One.")}, root_commit(store))
    ours = put(store, {"main/a.md": MEMORY.format("a", "One.\n\nTwo.")}, base, time=START + 50)
    theirs = put(store, {"main/a.md": MEMORY.format("a", "One.\n\nThree.")}, base, time=START + 90)
    merged = merge_commits(store, ours, theirs)
    assert merge_commits(store, theirs, ours) == merged
    commit = store.commit(merged.commit)
    assert commit.parents == tuple(sorted((ours, theirs)))
    assert commit.author == commit.committer == Signature("gitmem", "gitmem@localhost", START + 90, 0)
    assert (trailers(commit.message).op, trailers(commit.message).writer) == ("merge", "sync")
    assert claims(store, merged.commit) == {"One.", "Two.", "Three."}
    assert merged.both == ("main/a.md",)


def test_memories_added_on_both_sides_are_all_there_and_only_they_are_read(store: Repository) -> None:
    common = {f"main/m{number}.md": f"fact {number}\n" for number in range(20)}
    base = put(store, common, root_commit(store))
    ours = put(store, common | {"main/x.md": "x\n"}, base)
    theirs = put(store, common | {"other/y.md": "y\n"}, base)
    merged = merge_commits(store, ours, theirs)
    assert read(store, merged.commit) == common | {"main/x.md": "x\n", "other/y.md": "y\n"}
    assert merged.both == ()


def test_a_criss_cross_history_merges_its_bases_first(store: Repository, monkeypatch) -> None:
    """With one base alone, what came with the other would come back, or what was brought back would go."""
    base = put(store, {"main/a.md": "one\n\ntwo\n"}, root_commit(store))
    left = put(store, {"main/a.md": "two\n"}, base, time=START + 1)
    right = put(store, {"main/a.md": "one\n\ntwo\n\nthree\n"}, base, time=START + 2)
    one = put(store, {"main/a.md": "two\n", "main/b.md": "b\n"}, left, right, time=START + 3)
    again = {"main/a.md": "one\n\ntwo\n\nthree\n", "main/c.md": "c\n"}
    other = put(store, again, right, left, time=START + 4)
    assert len(store.merge_bases(one, other)) == 2
    merged = merge_commits(store, one, other)
    assert merged == merge_commits(store, other, one)
    assert read(store, merged.commit) == {
        "main/a.md": "one\n\ntwo\n",
        "main/b.md": "b\n",
        "main/c.md": "c\n",
    }
    monkeypatch.setattr(merging, "DEEPEST", 0)
    assert claims(store, merge_commits(store, one, other).commit) != claims(store, merged.commit)


@pytest.mark.long
def test_a_long_criss_cross_history_does_not_exhaust_the_stack(store: Repository) -> None:
    root = root_commit(store)
    left, right = put(store, {"main/a.md": "a\n"}, root), put(store, {"main/b.md": "b\n"}, root)
    files = {"main/a.md": "a\n", "main/b.md": "b\n"}
    for number in range(1, 120):
        left, right = (
            put(store, files | {"main/l.md": f"l{number}\n"}, left, right, time=START + number),
            put(store, files | {"main/r.md": f"r{number}\n"}, right, left, time=START + number),
        )
    merged = merge_commits(store, left, right)
    assert {"l119", "r119"} <= claims(store, merged.commit)


def test_separate_inits_share_the_root_commit(store: Repository) -> None:
    one = put(store, {"main/a.md": "one\n"}, root_commit(store))
    other = put(store, {"main/b.md": "two\n"}, root_commit(store))
    assert store.merge_bases(one, other) == (root_commit(store),)
    assert set(read(store, merge_commits(store, one, other).commit)) == {"main/a.md", "main/b.md"}


def test_unrelated_histories_unite(store: Repository) -> None:
    one = put(store, {"main/a.md": MEMORY.format("a", "One.")})
    other = put(store, {"main/a.md": MEMORY.format("a", "Two."), "main/b.md": "b\n"})
    assert store.merge_bases(one, other) == ()
    merged = merge_commits(store, one, other)
    assert merged == merge_commits(store, other, one)
    assert claims(store, merged.commit) == {"One.", "Two.", "b"}


def test_a_tombstone_takes_what_others_add_without_knowing_it(store: Repository) -> None:
    """Who has the tombstone and writes the text all the same has both on purpose; writers ask before."""
    stones = with_stones("", [bury("Gone.", "5a" * 8, "2026-11-20", "forgot")])
    base = put(store, {"main/c.md": "c\n"}, root_commit(store))
    ours = put(store, {"main/.tombstones": stones, "main/c.md": "c\n"}, base)
    theirs = put(store, {"main/c.md": "c\n", "main/b.md": MEMORY.format("b", "Gone.\n\nKept.")}, base)
    merged = merge_commits(store, ours, theirs)
    assert "Kept." in read(store, merged.commit)["main/b.md"]
    assert "Gone." not in read(store, merged.commit)["main/b.md"]
    assert ("main/b.md", "Gone.") in merged.buried


def test_a_file_that_moves_aside_takes_nothing_that_stood_there(store: Repository) -> None:
    one, other = MEMORY.format("one", "One."), MEMORY.format("other", "Other, and longer.")
    base = put(store, {}, root_commit(store))
    merged = merge_commits(
        store, put(store, {"main/a.md": one}, base), put(store, {"main/a.md": other}, base)
    )
    (aside,) = merged.split
    assert merged.both == (aside,)
    kept = {aside: MEMORY.format("other", "Other, and longer.\n\nEdited since.")}
    base = put(store, kept, root_commit(store))
    merged = merge_commits(
        store, put(store, kept | {"main/a.md": one}, base), put(store, kept | {"main/a.md": other}, base)
    )
    assert claims(store, merged.commit) == {"One.", "Other, and longer.", "Edited since."}


@pytest.mark.parametrize("path", ["main/a:b.md", "main/a\\b.md", "main/con.md"])
def test_an_unsafe_path_stays_as_it_is_and_stops_nothing(store: Repository, path: str) -> None:
    ours = put(store, {"main/a.md": "a\n"}, root_commit(store))
    theirs = put(store, {path: "x\n", "main/b.md": "b\n"}, root_commit(store))
    merged = merge_commits(store, ours, theirs)
    assert merged == merge_commits(store, theirs, ours)
    assert read(store, merged.commit) == {"main/a.md": "a\n", path: "x\n", "main/b.md": "b\n"}
    # Edited and deleted, it merges as a whole; two versions of it are two files.
    edited = put(store, {"main/a.md": "a\n", path: "y\n", "main/b.md": "b\n"}, merged.commit)
    other = put(store, {"main/a.md": "a\n", path: "z\n", "main/b.md": "b\n"}, merged.commit)
    gone = put(store, {"main/a.md": "a\n", "main/b.md": "b\n"}, merged.commit)
    beside = put(store, {"main/a.md": "new\n", path: "x\n", "main/b.md": "b\n"}, merged.commit)
    assert read(store, merge_commits(store, edited, gone).commit)[path] == "y\n"
    assert path not in read(store, merge_commits(store, gone, beside).commit)
    found = read(store, merge_commits(store, edited, beside).commit)
    assert found == {"main/a.md": "new\n", path: "y\n", "main/b.md": "b\n"}
    both = read(store, merge_commits(store, edited, other).commit)
    assert sorted(text for text in both.values()) == ["a\n", "b\n", "y\n", "z\n"] and path in both
    merged = merge_commits(store, edited, other)
    assert merged == merge_commits(store, other, edited)
    assert (merged.both, merged.split, merged.buried) == ((), (), ()), "it is in no merge"


def test_a_path_that_is_a_file_here_and_a_folder_there_is_both(store: Repository) -> None:
    """The file gets another name: of what both sides said, nothing is lost."""
    base = put(store, {"main/kept.md/old.md": "old\n", "main/c.md": "c\n"}, root_commit(store))
    ours = put(store, {"main/a.md": "a\n", "main/kept.md/old.md": "new\n", "main/c.md": "c\n"}, base)
    theirs = put(store, {"main/a.md/b.md": "b\n", "main/kept.md": "file\n", "main/c.md": "c\n"}, base)
    merged = merge_commits(store, ours, theirs)
    assert merged == merge_commits(store, theirs, ours)
    found = read(store, merged.commit)
    assert sorted(found.values()) == ["a\n", "b\n", "c\n", "file\n", "new\n"], found
    assert sorted(found[path] for path in merged.split) == ["a\n", "file\n"]
    assert found["main/a.md/b.md"] == "b\n" and found["main/kept.md/old.md"] == "new\n"
    assert merge_commits(store, merged.commit, theirs).commit == merged.commit
    one = put(store, {"main/c.md": "c\n", "top/b.md": "b\n"}, base)
    merged = merge_commits(store, one, put(store, {"main/c.md": "c\n", "top": "top\n"}, base))
    assert sorted(read(store, merged.commit).values()) == ["b\n", "c\n", "top\n"]


@pytest.mark.parametrize("name", [".GIT", ".git", ".."])
def test_what_git_itself_would_not_write_is_left_in_history(store: Repository, git, name: str) -> None:
    """It comes with somebody's push; whatever is merged with that, or written after it, is without it."""
    base = put(store, {"main/a.md": "a\n", "sub/s.md": "s\n"}, root_commit(store))
    folder = git("-C", store.git_dir, "rev-parse", f"{base}:main")
    rows = git("-C", store.git_dir, "ls-tree", folder) + f"\n040000 tree {folder}\t{name}\n"
    bad = git("-C", store.git_dir, "mktree", input=rows)
    root = git("-C", store.git_dir, "ls-tree", base).replace(folder, bad)
    who = Signature("Eve", "eve@example.com", START)
    tree = git("-C", store.git_dir, "mktree", input=root + "\n")
    theirs = store.add_commit(tree, (base,), who, who, "x\n")
    ours = put(store, {"main/a.md": "a\n\nmore\n", "sub/s.md": "s\n"}, base)
    apart = put(store, {"main/a.md": "a\n", "sub/s.md": "s\n\nmore\n"}, base)
    for one in (ours, apart):
        merged = merge_commits(store, one, theirs)
        assert merged == merge_commits(store, theirs, one)
        assert read(store, merged.commit) == read(store, one)
    assert read(store, merge_commits(store, ours, merge_commits(store, apart, theirs).commit).commit) == {
        "main/a.md": "a\n\nmore\n",
        "sub/s.md": "s\n\nmore\n",
    }
    assert set(read(store, theirs)) == {"main/a.md", "sub/s.md", f"main/{name}/a.md"}
    written = write_tree(store, tree, {"main/b.md": b"b\n"})
    assert set(read_files(store, written)) == {"main/a.md", "main/b.md", "sub/s.md"}


def test_a_symbolic_link_never_becomes_a_file(store: Repository) -> None:
    link = store.add_tree({"evil.md": TreeEntry(LINK, store.add_blob(b"/etc/passwd"))})
    who = Signature("Eve", "eve@example.com", START)
    theirs = store.add_commit(
        store.add_tree({"main": TreeEntry(0o040000, link)}), (root_commit(store),), who, who, "x\n"
    )
    ours = put(store, {"main/a.md": "a\n"}, root_commit(store))
    assert read(store, merge_commits(store, ours, theirs).commit) == {"main/a.md": "a\n"}


BODY = st.lists(st.sampled_from(["One.", "Two.", "Three.", "- four", "Five\nand more."]), max_size=4).map(
    lambda parts: "\n\n".join(parts) + "\n"
)
PLAIN = st.dictionaries(st.sampled_from(["main/a.md", "main/b.md", "other/a.md"]), BODY)
NAMED = st.dictionaries(
    st.sampled_from(["main/a", "main/b", "other/a"]), st.tuples(st.sampled_from(["", "-x", "-y"]), BODY)
).map(
    lambda found: {
        f"{path}{more}.md": MEMORY.format(path.replace("/", "-"), body)
        for path, (more, body) in found.items()
    }
)
HISTORIES = st.sampled_from([PLAIN, NAMED]).flatmap(
    lambda side: st.tuples(side, st.lists(side, min_size=3, max_size=3))
)
SPLIT = "One.\n\nTwo.\n\n- four\n"


@given(HISTORIES)
@example(
    ({"main/b.md": SPLIT}, [{"main/a.md": SPLIT}, {"main/b.md": "Five.\n\nTwo.\n"}, {"main/b.md": "\n"}])
)
@settings(max_examples=examples(50), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_order_of_merges_gives_the_same_claims(
    store: Repository, history: tuple[dict[str, str], list[dict[str, str]]]
) -> None:
    """What anybody added stands in each; what stood there before fares alike where a name tells what moved.

    That a memory moved and got another name is told by half of its claims (docs/formats.md), of which a
    merge before may have left fewer: then its deletion and its edits are of another file.
    """
    common, sides = history
    base = put(store, common, root_commit(store))
    heads = [put(store, side, base, time=START + number) for number, side in enumerate(sides)]
    seen, trees = set(), list(heads)
    for order in permutations(heads):
        merged = merge_commits(store, order[0], order[1]).commit
        trees.append(merged)
        seen.add(frozenset(claims(store, merge_commits(store, merged, order[2]).commit)))
    added = frozenset().union(*(claims(store, head) for head in heads)) - claims(store, base)
    assert all(added <= found for found in seen)
    files, *others = (read_files(store, store.commit(commit).tree) for commit in (base, *trees))
    if not any(by_claims_alone(files, other) for other in others):
        assert len(seen) == 1


def test_an_index_in_another_case_stands_aside_and_what_is_too_large(store, monkeypatch) -> None:
    monkeypatch.setattr("gitmem.ledger.merge.OTHER_BYTES", 99)
    files = {
        "main/MEMORY.md": "- [A](a.md)\n",
        "main/a.md": MEMORY.format("a", "A."),
        "main/x.json": "x" * 100,
        "main/y.json": "y",
        "other/memory.md": "?\n",
        "notes": "a file at the top\n",
    }
    tree = store.commit(put(store, files, root_commit(store))).tree
    assert standing_aside(store, tree) == {
        "main/x.json": "is too large: it has 100 bytes, and 99 are the most",
        "other/memory.md": "is taken for the index",
    }


@pytest.mark.parametrize("text", ["y" * 100, None])
def test_a_file_that_stands_aside_is_as_the_one_side_has_it_that_changed_it(
    store: Repository, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    monkeypatch.setattr("gitmem.ledger.merge.OTHER_BYTES", 99)
    base = put(store, {"main/x.json": "x" * 100}, root_commit(store))
    changed = {"main/a.md": "a\n"} | ({"main/x.json": text} if text else {})
    sides = put(store, changed, base), put(store, {"main/x.json": "x" * 100, "main/b.md": "b\n"}, base)
    for one, other in (sides, sides[::-1]):
        assert read(store, merge_commits(store, one, other).commit) == changed | {"main/b.md": "b\n"}


def test_a_log_that_one_side_has_again_stands_once(store: Repository) -> None:
    """Where it stood on both sides is told, too."""
    log, old = "main/logs/2026/11/2026-11-20.md", "main/archive/logs/2026/11/2026-11-20.md"
    one, two = (f"- 1{n}:00:00Z [project ab] {n}.\n" for n in range(2))
    base = put(store, {old: one + two}, root_commit(store))
    ours = put(store, {old: one + two, log: two}, base)
    merged = merge_commits(store, ours, put(store, {old: one + two, "main/a.md": "a\n"}, base))
    assert read(store, merged.commit) == {log: one + two, "main/a.md": "a\n"}
    assert merged.both == (old, log)


def test_what_a_merge_leaves_as_it_is_is_not_written(store: Repository) -> None:
    files = {"main/a.md": b"a\n", "main/b.md": b"b\n"}
    tree = write_tree(store, None, files)
    merged = MergedTree({"main/a.md": b"a\n", "main/c.md": b"c\n"})
    edits, _ = landing(store, tree, files.keys(), files, merged)
    assert edits == {"main/b.md": None, "main/c.md": b"c\n"}


def test_another_number_in_the_format_file_is_no_newer_format(store: Repository) -> None:
    for number, newer in ((1, False), (2, True)):
        made = put(store, {".gitmem": f"format = {number}\nlimit = 99\n"}, root_commit(store))
        with pytest.raises(RepositoryError, match="format 2") if newer else nullcontext():
            check_format(store, "refs/gitmem/project", Tip(made, store.commit(made).tree))


@pytest.mark.parametrize(
    ("paths", "told"),
    [
        ({"main/a.md", "main/b/c.md"}, ""),
        ({f"main/{name}:x.md" for name in "abcdefgh"}, "'main/a:x.md' may not be in a memory tree: "),
        ({"main/a.md", "main/a.md/b.md"}, "'main/a.md' is a file on one side and a folder on the other"),
        ({"main", "main/a/b/c.md"}, "'main' is a file on one side and a folder on the other"),
        ({"main/a/b", "main/a/b/c.md"}, "'main/a/b' is a file on one side and a folder on the other"),
        ({"main/s.md", "main/\u017f.md"}, "'main/s.md' and 'main/\\u017f.md' read as one path"),
    ],
)
def test_paths_that_are_at_odds_are_named(paths: set[str], told: str) -> None:
    with pytest.raises(RepositoryError) if told else nullcontext() as caught:
        check_paths(paths)
    if caught and not told.endswith("path"):
        assert caught.value.message.startswith(told) and "git log --all" in caught.value.hint
    elif caught:
        assert caught.value.message in (told, "'main/\\u017f.md' and 'main/s.md' read as one path")


def test_what_leads_out_of_a_tree_is_not_written() -> None:
    assert [is_writable(path) for path in ("a/b.md", "a/../b.md", ".git/a", "a//b")] == [
        True, False, False, False,
    ]  # fmt: skip


def test_what_nobody_asked_about_is_not_set_aside(store: Repository) -> None:
    """Though all files are looked at where one of them may read as another."""
    files = {"main/é.md": "e\n", "main/con.md": "c\n", "main/\u017f.md": "s\n", "main/s.md": "s\n"}
    tree = store.commit(put(store, files, root_commit(store))).tree
    assert set_aside(store, [tree], {"main/é.md"}) == {}
    assert set_aside(store, [tree], {"main/\u017f.md"}).keys() == {"main/\u017f.md"}


A = {"main/a.md": "a\n"}


def test_trees_merge_as_their_commits_do(store: Repository) -> None:
    base, one, other = (
        store.commit(put(store, files, root_commit(store))).tree
        for files in (
            {"main/a.md": "a\n"},
            {"main/a.md": "a\n\nb\n"},
            {"main/a.md": "a\n", "main/c.md": "c\n"},
        )
    )
    merged = merge_of_trees(store, base, one, other)
    assert (merged.commit, merged.both) == ("", ())
    files = {path: data.decode() for path, data in read_files(store, merged.tree).items()}
    assert files == {"main/a.md": "a\n\nb\n", "main/c.md": "c\n"}
    assert merge_of_trees(store, base, one, base).tree == merge_of_trees(store, base, one, one).tree == one
