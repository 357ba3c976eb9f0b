"""What the code's commits mean to memory: rewritten ones, and clocks that went backwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_files import learned

from gitmem.core.trailers import Provenance
from gitmem.ledger.code_rewrites import Rewrites, keep_rewrites, read_rewrites, rewrites_path
from gitmem.ledger.moments import Became, became, resolve_at
from gitmem.ledger.workspace import Workspace

NOON = 1_795_176_000
HOUR = 3600
A, B, C, D = (letter * 40 for letter in "abcd")

Learn = Callable[..., str]
Git = Callable[..., str]


@pytest.fixture
def learn(workspace: Workspace) -> Learn:
    """Commits a memory at so many hours after noon, taught on a commit of the code."""

    def do(text: str, hours: float, code: str = "") -> str:
        where, told = workspace.scope("project"), Provenance("add", "agent", code_commit=code)
        return learned(where, {"main/a.md": text}, NOON + hours * HOUR, told=told).commit

    return do


@pytest.fixture
def code(repo: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> Learn:
    """Commits code at so many hours after noon; `wrote` is the author's time where it is another."""

    def do(hours: float, wrote: float | None = None) -> str:
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{int(NOON + hours * HOUR)} +0000")
        written = hours if wrote is None else wrote
        monkeypatch.setenv("GIT_AUTHOR_DATE", f"{int(NOON + written * HOUR)} +0000")
        git("-C", repo, "commit", "-q", "--allow-empty", "-m", f"work {hours}")
        return git("-C", repo, "rev-parse", "HEAD")

    return do


def at(workspace: Workspace, when: str) -> str:
    return resolve_at(workspace, workspace.scope("project"), when)


def test_a_chain_of_rewrites_is_followed_to_its_end() -> None:
    known = Rewrites({A: B, B: C})
    assert known.now(A) == known.now(B) == known.now(C) == C
    assert known.now(D) == D
    assert set(known.before(C)) == {A, B}


@given(st.dictionaries(st.sampled_from([A, B, C, D]), st.sampled_from([A, B, C, D])))
def test_following_rewrites_ends_also_in_a_circle(pairs: dict[str, str]) -> None:
    known = Rewrites(pairs)
    for oid in (A, B, C, D):
        assert known.now(oid) in (A, B, C, D)
        assert oid not in known.before(oid)


def test_an_abbreviated_name_is_found_where_it_is_one_commit_s() -> None:
    known = Rewrites({A: B, "a" * 39 + "b": C, C: D})
    assert known.find("cccc") == C and known.find("CCCC") == C
    assert known.find("aaaa") is None and known.find(A) == A
    assert known.find("ccc") is None and known.find("main") is None and known.find("dddd") is None


def test_rewrites_are_kept_and_read_and_no_link_is_followed(tmp_path: Path) -> None:
    keep_rewrites(tmp_path, [(A, B), ("x", C)])
    keep_rewrites(tmp_path, [(B, C), (A, B)])
    assert read_rewrites(tmp_path) == Rewrites({A: B, B: C})
    assert rewrites_path(tmp_path).read_text() == f"{A} {B}\n{B} {C}\n"
    other = tmp_path / "other"
    other.mkdir()
    rewrites_path(other).symlink_to(rewrites_path(tmp_path))
    assert read_rewrites(other) == Rewrites()
    (tmp_path / "torn").mkdir()
    rewrites_path(tmp_path / "torn").write_bytes(f"{A} {B}\n{A}".encode() + b"\xff\nx y\n")
    assert read_rewrites(tmp_path / "torn") == Rewrites({A: B})


def test_a_rebased_commit_counts_from_when_it_was_written(workspace, learn: Learn, code: Learn) -> None:
    """Else a rebase would put years of later knowledge into an old change."""
    early = learn("one", 0)
    old = code(1)
    late = learn("two", 2)
    new = code(3, wrote=1)
    assert at(workspace, new) == late, "nobody said that it is a rebased one"
    keep_rewrites(workspace.state, [(old, new)])
    assert at(workspace, new) == at(workspace, new[:10]) == at(workspace, old) == early


def test_a_commit_that_git_no_longer_has_resolves_through_the_map(workspace, learn, code: Learn) -> None:
    early = learn("one", 0)
    learn("two", 2)
    new = code(3, wrote=1)
    keep_rewrites(workspace.state, [(A, B), (B, new)])
    assert at(workspace, A) == at(workspace, "aaaaaaa") == early


def test_memory_taught_on_later_code_is_left_out_whatever_its_clock_says(workspace, learn, code) -> None:
    first = code(5)
    known = learn("one", 1, first)
    second = code(6)
    learn("two", 2, second)
    learn("three", 3)
    assert at(workspace, first) == known
    assert at(workspace, second) != known


def test_memory_taught_on_unrelated_or_unknown_code_goes_by_time(workspace, learn, code, repo, git) -> None:
    first = code(1)
    git("-C", repo, "checkout", "-q", "-b", "side", "HEAD~1")
    side = code(2)
    learn("one", 1, A)
    known = learn("two", 1.5, first)
    late = learn("three", 1.9, side)
    assert at(workspace, side) == late
    git("-C", repo, "checkout", "-q", "main")
    assert at(workspace, code(1.7)) == known


def test_what_a_code_commit_became_is_told_with_its_subject(workspace, code: Learn, repo: Path) -> None:
    new = code(1)
    keep_rewrites(workspace.state, [(A, new), (B, C)])
    assert became(workspace, [A, new, B, "", A]) == {
        A: Became(new, "work 1"),
        new: Became(new, "work 1"),
        B: Became(C, ""),
    }
