"""Two branches that both made snapshots: git's own merge unites them, with gitmem's driver and without."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from once import home_folder, once, place, tmp_path
from slices import often
from snapshot_ground import MEMORY, USUAL, Person, Team, team

from gitmem.app.client_setup import after_checkout
from gitmem.app.file_edits import make_edits
from gitmem.app.git_drivers import plan_merge_setup
from gitmem.core import index
from gitmem.core.errors import RepositoryError
from gitmem.flows.snapshots import pending_snapshots, settle_snapshot
from gitmem.ledger.snapshot import read_worktree

__all__ = ["home_folder", "once", "place", "team", "tmp_path"]

Git = Callable[..., str]
MAIN = Path(USUAL, "main")


def learn(who: Person, name: str, text: str) -> None:
    """A memory with its line in the index."""
    who.learn(name, text)
    listed = who.memories().get("MEMORY.md", "")
    who.write(
        "MEMORY.md", index.with_entry(listed, f"{name}.md", index.entry(name, f"{name}.md", "About it"))
    )


@pytest.fixture(params=often(["driver", "no driver"], "no driver"))
def merged(request: pytest.FixtureRequest, team: Team, git: Git, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Ann, who merged Ben's branch into hers by `git merge`; both had made a snapshot, Ben's is newer."""

    def make() -> list[Person]:
        ann = team.join("ann")
        learn(ann, "ports", "Eighty.")
        ann.make()
        team.publish(ann)
        ben = team.join("ben")
        after_checkout(ben.workspace, ben.edges)
        learn(ann, "queue", "One.")
        ann.make()
        git("-C", ann.path, "checkout", "-qb", "anns")
        team.publish(ann)
        ben.clock = ann.clock + 600
        learn(ben, "hosts", "Two.")
        ben.make()
        git("-C", ben.path, "checkout", "-qb", "bens")
        team.publish(ben)
        if request.param == "driver":
            monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
            plan = plan_merge_setup(ann.workspace.git, ann.path / ".git", [sys.executable, "-m", "gitmem"])
            make_edits(plan.edits, ann.workspace.git)
        git("-C", ann.path, "fetch", "-q")
        git("-C", ann.path, "merge", "-q", "-m", "Both", "origin/bens")
        return [ann]

    return team.begin(request.param, make)[0]


def test_both_are_in_it_the_newer_time_counts_and_the_digest_says_so(merged: Person, team: Team) -> None:
    folder = merged.path / MAIN
    memories = ["hosts.md", "ports.md", "queue.md"]
    assert {path.name for path in folder.iterdir()} == {"MEMORY.md", "snapshot.json", *memories}
    assert sorted(index.targets((folder / "MEMORY.md").read_text())) == memories
    found, problems = read_worktree(merged.path, (USUAL,))
    assert problems == {}
    ben, _ = read_worktree(team.folder / "ben", (USUAL,))
    assert found["main"].updated_at == ben["main"].updated_at
    assert found["main"].edited and not ben["main"].edited


def test_who_took_the_newer_of_the_two_is_told_of_what_was_merged(merged, team, git) -> None:
    """The merge keeps that time, yet holds Ann's memory, too."""
    git("-C", merged.path, "push", "-q", "origin", "HEAD:main")
    ben = Person(team.folder / "ben", team.patch)
    git("-C", ben.path, "fetch", "-q")
    (one,) = pending_snapshots(ben.workspace)
    assert (one.state, one.edited) == ("prompt-update", True)
    settle_snapshot(ben.workspace, ben.edges, one, "merge")
    assert {"hosts.md", "ports.md", "queue.md"} <= ben.memories().keys()
    assert pending_snapshots(ben.workspace) == ()


def test_the_next_one_made_has_a_digest_that_fits(merged: Person, git: Git) -> None:
    git("-C", merged.path, "push", "-q", "origin", "HEAD:main")
    merged.clock += 6_000
    (one,) = pending_snapshots(merged.workspace)
    settle_snapshot(merged.workspace, merged.edges, one, "merge")
    (made,) = merged.make()
    assert made.written
    found = read_worktree(merged.path, (USUAL,))[0]["main"]
    assert not found.edited
    assert [once.written for once in merged.make()] == [False]
    assert set(json.loads((merged.path / MAIN / "snapshot.json").read_text())) == {
        "updatedAt",
        "digest",
        "format",
    }


def test_edits_of_one_memory_unite_where_the_driver_is(team: Team, git: Git, monkeypatch) -> None:
    (ann,) = team.people("ann")
    ann.learn("ports", "Eighty.\n\nOpen.")
    ann.make()
    team.publish(ann)
    ben = team.join("ben")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    plan = plan_merge_setup(ann.workspace.git, ann.path / ".git", [sys.executable, "-m", "gitmem"])
    make_edits(plan.edits, ann.workspace.git)
    for who, text in ((ann, "Eighty.\n\nOpen.\n\nAnn's."), (ben, "Eighty.\n\nOpen.\n\nBen's.")):
        (who.path / MAIN / "ports.md").write_text(MEMORY.format("ports", "project", text))
        git("-C", who.path, "commit", "-qam", "By hand")
        git("-C", who.path, "push", "-q", "origin", f"HEAD:{who.path.name}")
    git("-C", ann.path, "fetch", "-q")
    git("-C", ann.path, "merge", "-q", "-m", "Both", "origin/ben")
    text = (ann.path / MAIN / "ports.md").read_text()
    assert "Ann's." in text and "Ben's." in text and "<<<<" not in text


def test_attributes_of_the_persons_own_stay_and_none_is_written_through_a_link(team, tmp_path) -> None:
    (ann,) = team.people("ann")
    ann.learn("ports", "Eighty.")
    (ann.path / USUAL).mkdir(parents=True)
    own = ann.path / USUAL / ".gitattributes"
    own.write_text("*.md linguist-generated\n")
    (made,) = ann.make()
    text = own.read_text()
    assert made.attributes and text.endswith("*.md linguist-generated\n") and "* -text\n" in text
    assert [again.attributes for again in ann.make()] == [None]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    own.unlink()
    own.symlink_to(elsewhere)
    with pytest.raises(RepositoryError, match="symbolic link"):
        ann.make()
    assert elsewhere.read_text() == "mine"
