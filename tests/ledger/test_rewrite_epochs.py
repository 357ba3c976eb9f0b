"""Rewriting and erasing: the same history less a text, and nothing else that was there is touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from purge_ground import objects

from gitmem.core.purge import Purge, explain
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.packs import RawObjects
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.counterparts import match
from gitmem.ledger.epochs import Epoch, after, joined, read_epoch, with_epoch
from gitmem.ledger.erase import doomed, erase
from gitmem.ledger.land import root_commit
from gitmem.ledger.rewrite import Rewriter

SECRET, FORMER = "copper-lynx-8812-quito", "green-stork-1172-lima"
ANN = Signature("Ann", "ann@example.com", 1_790_000_000, 60)
BEN = Signature("Ben", "ben@example.com", 1_790_000_060, -300)
EPOCH = Epoch(1, "0123abcd")


@pytest.fixture(params=["auto", "git"])
def store(repo: Path, request: pytest.FixtureRequest) -> Repository:
    """The same repository through either backend."""
    return open_repository(repo, GitCommand(dict(os.environ)), prefer=request.param)


def commit(repo: Repository, parents: tuple[str, ...], message: str = "Add", **files: str) -> str:
    base = repo.commit(parents[0]).tree
    edits = {path.replace("__", "/") + ".md": text.encode() for path, text in files.items()}
    tree = write_tree(repo, base, edits | {".gitmem": b"format = 1\n"})
    return repo.add_commit(tree, parents, ANN, BEN, message + "\n")


def rewriter(repo: Repository, purge: Purge) -> Rewriter:
    return Rewriter(RawObjects(repo), purge, EPOCH)


def test_what_came_before_the_text_stays_the_same_object(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a="A fact.")
    two = commit(store, (one,), main__b=f"It is {SECRET}.")
    three = commit(store, (two,), main__c="Another.")
    known = rewriter(store, Purge(frozenset({SECRET}))).history([three])
    assert known[one] == one and known[two] != two and known[three] != three
    now = store.commit(known[three])
    assert (now.author, now.committer, now.message) == (ANN, BEN, "Add\n")
    files = read_files(store, now.tree)
    assert files["main/b.md"] == b"It is [purged]." and files["main/a.md"] == b"A fact."
    assert read_epoch(files[".gitmem"]) == EPOCH


@pytest.mark.parametrize("named", ["author", "committer"])
def test_a_text_that_stands_only_in_who_wrote_a_commit_goes_too(store: Repository, named: str) -> None:
    tree = store.commit(commit(store, (root_commit(store),), main__a="A fact.")).tree
    who = {"author": ANN, "committer": BEN} | {named: Signature(SECRET, "a@example.com", ANN.time)}
    one = store.add_commit(tree, (root_commit(store),), who["author"], who["committer"], "Add\n")
    known = rewriter(store, Purge(frozenset({SECRET}))).history([one])
    now = store.commit(known[one])
    assert {now.author.name, now.committer.name} == {"[purged]", "Ben" if named == "author" else "Ann"}


@pytest.mark.parametrize("dry", [False, True])
def test_what_goes_along_into_the_new_epoch_is_counted_by_a_dry_run_too(store, dry: bool) -> None:
    one = commit(store, (root_commit(store),), main__a="A fact.")
    work = Rewriter(RawObjects(store, dry=dry), Purge(frozenset({SECRET})), EPOCH)
    work.history([one], forced=[one])
    assert (work.rewritten, work.purged) == (1, 0)


def test_a_merge_keeps_its_parents_in_their_order(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a=f"It is {SECRET}.")
    left, right = commit(store, (one,), main__b="B"), commit(store, (one,), main__c="C")
    joint = commit(store, (right, left), "Merge", main__b="B")
    known = rewriter(store, Purge(frozenset({SECRET}))).history([joint])
    assert store.commit(known[joint]).parents == (known[right], known[left])


def test_a_signature_goes_and_names_of_old_commits_are_mapped(store: Repository, repo: Path, git) -> None:
    one = commit(store, (root_commit(store),), main__a=f"It is {SECRET}.")
    two = commit(store, (one,), f"Undo: Add\n\nBack before {one[:12]}\n\nGitmem-Undoes: {one}", main__a="A")
    body = store.git.run(["cat-file", "commit", two], git_dir=store.git_dir).stdout
    head, _, message = body.partition(b"\n\n")
    signed = head + b"\ngpgsig -----BEGIN\n  not really\n -----END\n\n" + message
    named = RawObjects(store).add("commit", signed)
    work = rewriter(store, Purge(frozenset({SECRET})))
    known = work.history([named])
    raw = git("-C", repo, "cat-file", "commit", known[named])
    assert "gpgsig" not in raw and one[:12] not in raw
    assert f"Gitmem-Undoes: {known[one]}" in raw and f"Back before {known[one][:12]}" in raw
    assert work.unsigned == 1


def test_only_what_is_old_and_unused_is_doomed(store: Repository, repo: Path, git) -> None:
    one = commit(store, (root_commit(store),), main__a="Shared with the index.")
    two = commit(store, (one,), main__b=f"It is {SECRET}.")
    (repo / "a.md").write_text("Shared with the index.")
    git("-C", repo, "add", "a.md")
    mine = git("-C", repo, "hash-object", "-w", "--stdin", input="mine, dangling")
    found = doomed(store, [two])
    held = objects(store.git_dir)
    assert {two, one} <= found and mine not in found
    assert git("-C", repo, "rev-parse", ":a.md") not in found
    assert erase(store, found) == len(found)
    assert set(objects(store.git_dir)) == set(held) - found
    assert git("-C", repo, "cat-file", "-p", mine) == "mine, dangling"


def test_counterparts_tell_what_was_purged(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a=f"It is {SECRET}, and stays.")
    two = commit(store, (one,), main__b="B")
    own = commit(store, (two,), main__c="Own")
    known = rewriter(store, Purge(frozenset({SECRET}))).history([two])
    found = match(store, own, known[two])
    assert found.pairs == {one: known[one], two: known[two]}
    assert (found.own, found.frontier) == ((own,), two)
    assert found.there.texts == {SECRET} and not found.here


def test_two_purges_of_whole_memories_are_told_apart(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a="A fact.", main__b="B", other__c="C")
    gone = [
        rewriter(store, Purge(frozenset(), frozenset({path}))).history([one], [one])[one]
        for path in ("main/a.md", "other/c.md")
    ]
    found = match(store, gone[0], gone[1])
    assert found.pairs == {gone[0]: gone[1]} and not found.own
    assert found.there.memories == {"other/c.md"} and found.here.memories == {"main/a.md"}
    assert not found.there.texts and not found.here.texts


def test_two_purges_of_one_memory_are_told_apart_line_by_line(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a=f"It is {SECRET}.\nIt was {FORMER}.\n")
    texts = [frozenset({SECRET}), frozenset({FORMER})]
    mine, theirs = (rewriter(store, Purge(some)).history([one], [one])[one] for some in texts)
    found = match(store, mine, theirs)
    assert found.pairs == {mine: theirs} and [found.here.texts, found.there.texts] == texts


def test_a_purged_name_is_told_beside_one_that_only_went(store: Repository) -> None:
    one = commit(store, (root_commit(store),), **{f"main__{SECRET}": "A", "main__b": "B"})
    known = rewriter(store, Purge(frozenset({SECRET}), frozenset({"main/b.md"}))).history([one])
    found = match(store, one, known[one])
    assert found.there.texts == {SECRET} and found.there.memories == {"main/b.md"}


def test_a_history_that_differs_in_anything_else_is_no_counterpart(store: Repository) -> None:
    one = commit(store, (root_commit(store),), main__a="A fact.")
    other = commit(store, (root_commit(store),), main__a="Another fact.")
    by_ben = store.add_commit(store.commit(one).tree, (root_commit(store),), BEN, BEN, "Add\n")
    folder = commit(store, (root_commit(store),), **{"main__a.md__b": "A fact."})
    for another in (other, by_ben, folder):
        assert match(store, one, another).pairs == match(store, another, one).pairs == {}


def test_epochs_are_ordered_by_number_then_mark() -> None:
    assert Epoch() < Epoch(1, "00000000") < Epoch(1, "ffffffff") < Epoch(2, "00000000")
    assert after([Epoch(2, "a" * 8), Epoch()], "b" * 8) == Epoch(3, "b" * 8)
    one, other = Epoch(1, "a" * 8), Epoch(1, "b" * 8)
    assert joined(one, other) == joined(other, one) > max(one, other)


@pytest.mark.parametrize("before", [b"", b"format = 1\n", b"format = 1\nepoch = 1 00000000\n", b"x = y"])
def test_the_format_file_keeps_its_other_lines(before: bytes) -> None:
    data = with_epoch(before, EPOCH)
    assert read_epoch(data) == EPOCH and data.count(b"epoch") == 1
    assert all(line in data for line in before.splitlines() if not line.startswith(b"epoch"))


words = st.text(alphabet="abcxyz.,\n -\"'é", max_size=40)


@given(st.lists(words, min_size=2, max_size=5))
def test_what_was_taken_out_is_told_again(parts: list[str]) -> None:
    old = SECRET.join(parts).encode()
    new = Purge(frozenset({SECRET})).clean(old)
    assert SECRET.encode() not in new
    assert explain(old, new) == (SECRET,)
