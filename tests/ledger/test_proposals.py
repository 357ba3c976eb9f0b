"""Where changes wait, where they are kept after a decision, and which files they are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.core.trailers import Provenance
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import write_tree
from gitmem.ledger import proposals
from gitmem.ledger.backup import other_place
from gitmem.ledger.land import root_commit
from gitmem.ledger.proposals import Family
from gitmem.ledger.workspace import DECIDED, SHARED_REF, WAITING, Workspace

ANN = Signature("Ann", "ann@example.com", 1_800_000_000)
TOLD = Provenance("add", "extract", session="s1")


@pytest.fixture
def family(workspace: Workspace) -> Family:
    return proposals.suggestions_of(workspace)


def make(family: Family, id: str, scope: str = "local", path: str = "main/a.md") -> bool:
    record = f'{{"scope": "{scope}"}}'.encode()
    return proposals.make(
        family, id, {path: b"A\n"}, {path: b"B\n"}, record, f"Learn {id}", TOLD, "why", ANN
    )


@pytest.mark.parametrize(
    ("ref", "other"),
    [
        (f"{WAITING}p/s-1", f"{DECIDED}p/s-1"),
        (f"{DECIDED}p/s-1", f"{WAITING}p/s-1"),
        ("refs/gitmem/project", ""),
        (f"refs/heads/{WAITING}", ""),
    ],
)
def test_a_suggestion_has_a_place_before_and_after_it_is_decided(ref: str, other: str) -> None:
    assert other_place(ref) == other


def test_what_waits_says_what_it_changes_by_whom_and_why(family: Family) -> None:
    assert make(family, "s-1") and not make(family, "s-1")
    ((_, tip),) = proposals.open_tips(family).items()
    one = proposals.read(family, "s-1", tip)
    assert one
    assert (one.id, one.tip, one.reason, one.when, one.provenance.session) == (
        "s-1", tip, "why", ANN.time, "s1",
    )  # fmt: skip
    assert proposals.files(family, one, {"main/a.md"}) == ({"main/a.md": b"A\n"}, {"main/a.md": b"B\n"})
    assert proposals.record(family.repo, tip) == b'{"scope": "local"}'
    assert proposals.record(family.repo, one.base) == b""
    assert family.repo.reflog(family.waiting + "s-1")[0].message == "gitmem proposal: Learn s-1"
    assert list(proposals.history(family)) == [one]
    move_ref(family.repo, f"{family.waiting}p/s-2", tip, None, "of no project")
    assert [*proposals.open_tips(family)] == ["s-1"]


def test_two_machines_make_a_proposal_from_the_same_commit(family: Family) -> None:
    for id in ("s-1", "s-2"):
        make(family, id)
    one, other = proposals.history(family)
    assert one.base == other.base and one.tip != other.tip


def test_what_is_decided_is_kept_and_waits_again_where_it_does_not(family: Family) -> None:
    for id in ("s-1", "s-2", "s-3"):
        make(family, id)
    tips = proposals.open_tips(family)
    assert list(tips) == ["s-1", "s-2", "s-3"]
    assert proposals.settle(family, ["s-3", "s-1", "s-3", "s-9"], "test") == ("s-3", "s-1")
    assert proposals.open_tips(family) == {"s-2": tips["s-2"]}
    assert proposals.decided_tips(family) == {id: tips[id] for id in ("s-1", "s-3")}
    assert proposals.all_tips(family) == tips
    assert proposals.settle(family, ["s-1"], "test") == ()
    make(family, "s-1", scope="project")
    again = proposals.open_tips(family)["s-1"]
    assert proposals.reopen(family, ["s-1", "s-3", "s-2"], "test") == ("s-3",)
    assert proposals.open_tips(family) == tips | {"s-1": again}
    assert proposals.settle(family, ["s-1"], "test") == ("s-1",) and proposals.decided_tips(family) == {
        "s-1": again
    }


def test_proposals_are_found_by_the_files_that_they_change(workspace: Workspace, family: Family) -> None:
    """Of a scope, waiting or decided; what cannot be read is passed over."""
    make(family, "s-1")
    make(family, "s-2", scope="user")
    make(family, "s-3", path="main/b.md")
    make(family, "s-4")
    proposals.settle(family, ["s-4"], "test")
    repo, id = family.repo, workspace.project_id
    move_ref(repo, f"{WAITING}other/s-5", repo.ref(f"{WAITING}{id}/s-1"), None, "test")
    broken = repo.add_commit(
        write_tree(repo, None, {"main/a.md": b"C\n"}), (root_commit(repo),), ANN, ANN, "x"
    )
    move_ref(repo, f"{WAITING}{id}/s-6", broken, None, "test")
    mine = {f"{WAITING}{id}/s-1", f"{DECIDED}{id}/s-4"}
    assert proposals.about(repo, "local", ["main/a.md", "x"], id).keys() == mine
    assert proposals.about(repo, "local", ["main/a.md"]).keys() == mine | {f"{WAITING}other/s-5"}
    assert proposals.about(repo, "user", ["main/a.md"], id).keys() == {f"{WAITING}{id}/s-2"}
    assert proposals.about(repo, "local", ["main/c.md"], id) == proposals.about(repo, "local", [], id) == {}


def dreams(repo: Repository, *refs: tuple[str, str]) -> None:
    for ref, oid in refs:
        move_ref(repo, ref, oid, repo.ref(ref), "test")


def test_a_dream_is_where_it_was_edited_last_here_or_at_a_remote(workspace: Workspace, git) -> None:
    git("-C", workspace.code.git_dir, "config", "gitmem.share", "direct")
    private = workspace.scope("project")
    scope = replace(private, ref=SHARED_REF)
    repo, far = scope.repo, "refs/remotes/origin/gitmem/dream/"
    here = proposals.dreams_in(scope).waiting
    assert (here, proposals.dreams_in(private).waiting) == (
        "refs/heads/gitmem/dream/",
        "refs/gitmem/dream/",
    )
    assert proposals.dreams_in(workspace.scope("local")).waiting == "refs/heads/dream/"
    one = root_commit(repo)
    two, aside = (
        repo.add_commit(repo.commit(one).tree, (one,), ANN, ANN, message)
        for message in ("Two\n", "Aside\n")
    )
    ids = [f"d-{digit * 6}" for digit in "abcdef"]
    dreams(repo, *((here + id, oid) for id, oid in zip(ids, (one, two, two, two), strict=False)))
    dreams(repo, *((far + id, oid) for id, oid in zip(ids[1:], (one, two, aside, two), strict=False)))
    dreams(repo, ("refs/remotes/other/gitmem/dream/" + ids[4], one), (far + "x-1", one), (far + "d-1", one))
    dreams(repo, (far + "d-999999g", one))
    assert proposals.dream_branches(scope) == [
        (here + ids[0], one, ""),
        (here + ids[1], two, "origin"),
        (here + ids[2], two, "origin"),
        (here + ids[3], aside, "origin"),
        (far + ids[4], two, "origin"),
    ]
    assert proposals.dream_branches(private) == []
