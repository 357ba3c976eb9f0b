"""Over a purge comes what one side alone has, and nothing that the other replaced; who is asked before."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.core.purge import Purge
from gitmem.core.tombstone import bury, with_stones
from gitmem.core.trailers import parse
from gitmem.git.command import GitCommand
from gitmem.git.open import open_repository
from gitmem.git.packs import RawObjects
from gitmem.git.refs import move_ref
from gitmem.git.repository import Repository, Signature
from gitmem.git.trees import read_files, write_tree
from gitmem.ledger.consent import ForeignPurge, Peer, PurgeWaits, check_consent, foreign_purge, purge_id
from gitmem.ledger.epochs import Epoch
from gitmem.ledger.land import root_commit
from gitmem.ledger.replay import SUBJECT, Carried, bring_together, carry_over, purge_accepted
from gitmem.ledger.rewrite import Rewriter
from gitmem.ledger.workspace import SHARED_REF, open_workspace

SECRET = "copper-lynx-8812-quito"
PURGE = Purge(frozenset({SECRET}))
ANN = Signature("Ann", "ann@example.com", 1_790_000_000, 60)
REF, TRACKING = "refs/gitmem/project", "refs/remotes/origin/gitmem/project"
EPOCH = Epoch(1, "0123abcd")
TOLD, CLEAN = {"main/a.md": f"It is {SECRET}.\n"}, {"main/a.md": "It is [purged].\n"}


class Ground:
    """A history whose first two commits somebody purged a text from."""

    def __init__(self, repo: Repository) -> None:
        self.repo, self.clock = repo, ANN.time
        self.one = self.put(root_commit(repo), **TOLD)
        self.two = self.put(self.one, **{"main/b.md": "B\n"})
        self.own = self.put(self.two, **{"main/c.md": "C\n"})
        self.there = self.purged(self.two, PURGE)

    def put(self, *parents: str, message: str | None = None, **files: str | None) -> str:
        """Commits on the first of these parents; a file that is None goes."""
        before = self.repo.commit(parents[0]).tree
        edits = {path: None if text is None else text.encode() for path, text in files.items()}
        if not self.repo.tree(before):
            edits[".gitmem"] = b"format = 1\n"
        self.clock += 1
        who = replace(ANN, time=self.clock)
        return self.repo.add_commit(
            write_tree(self.repo, before, edits), parents, who, who, message or "Learn\n"
        )

    def purged(self, tip: str, purge: Purge) -> str:
        """The same in the next epoch."""
        return Rewriter(RawObjects(self.repo), purge, EPOCH).history([tip], [tip])[tip]

    def files(self, commit: str) -> dict[str, str]:
        found = read_files(self.repo, self.repo.commit(commit).tree)
        return {path: data.decode() for path, data in found.items() if path != ".gitmem"}


@pytest.fixture
def ground(repo: Path) -> Ground:
    return Ground(open_repository(repo, GitCommand(dict(os.environ))))


def test_what_one_side_alone_has_is_replayed_on_the_other(ground: Ground) -> None:
    """What was deleted there meanwhile does not come back."""
    there = ground.put(ground.there, **{"main/b.md": None, "main/d.md": "D\n"})
    for published in ("", ground.two, None):
        done = bring_together(ground.repo, ground.own, there, published=published)
        assert isinstance(done, Carried)
        assert ground.files(done.commit) == CLEAN | {"main/c.md": "C\n", "main/d.md": "D\n"}
        assert (done.onto, done.replayed, done.former, done.theirs) == (there, 1, "", False)
        assert (
            ground.repo.commit(done.commit).parents == (there,) and done.commits[ground.own] == done.commit
        )
    turned = bring_together(ground.repo, there, ground.own)
    assert isinstance(turned, Carried) and (turned.commit, turned.theirs) == (done.commit, True)


def test_what_the_other_side_replaced_is_kept_apart(ground: Ground) -> None:
    """Nothing tells what became of the second commit, which was shared."""
    there = ground.put(ground.purged(ground.one, PURGE), **{"main/x.md": "X\n"})
    done = carry_over(ground.repo, there, ground.own, published=ground.two)
    assert ground.files(done.commit) == CLEAN | {"main/c.md": "C\n", "main/x.md": "X\n"}
    assert done.replayed == 1 and ground.files(done.former) == ground.files(ground.own) | CLEAN


def test_where_nothing_is_known_to_be_shared_all_is_replayed_and_kept(ground: Ground) -> None:
    there = ground.purged(ground.put(root_commit(ground.repo), **{"main/x.md": "X\n"}), PURGE)
    done = carry_over(ground.repo, there, ground.own, published=None)
    assert done.former == ground.own and done.replayed == 3
    assert ground.files(done.commit) == ground.files(ground.own) | {"main/x.md": "X\n"}
    tree = ground.repo.commit(ground.one).tree
    alone = ground.repo.add_commit(tree, (), ANN, ANN, "Of a history of its own\n")
    done = carry_over(ground.repo, there, alone, side=True, at_fork=True)
    assert ground.files(done.commit) == ground.files(ground.one) | {"main/x.md": "X\n"}


def test_what_is_replayed_names_what_was_and_what_a_purge_took_is_told(ground: Ground) -> None:
    """The memory is gone there as a whole, and was taught something here."""
    lost = {f"main/{name}.md": f"{name} went\n" for name in "fedz"}
    two = ground.put(ground.two, **lost)
    gone = Purge(frozenset(), frozenset({*TOLD, *lost}))
    own = ground.put(two, **{"main/c.md": "C\n"})
    more = ground.put(
        own, **{"main/a.md": "More.\n", "main/c.md": "C, too\n"}, **dict.fromkeys(lost, "x\n")
    )
    names = "".join(f"Gitmem-Undoes: {oid}\n" for oid in (more, ground.two))
    undo = ground.put(more, message=f"Undo\n\n{names}", **{"main/c.md": "C\n"})
    done = carry_over(ground.repo, ground.purged(two, gone), undo)
    assert (done.lost, done.replayed) == (tuple(sorted(("main/a.md", *lost))), 3)
    message = ground.repo.commit(done.commits[undo]).message
    assert done.commits[more] in message and done.commits[ground.two] in message
    assert ground.two not in message


def test_what_a_merge_settled_comes_in_one_commit(ground: Ground) -> None:
    side = ground.put(ground.two, **{"main/d.md": "D\n"})
    merged = ground.put(ground.own, side, **{"main/d.md": "D\n", "main/e.md": "E\n"})
    done = carry_over(ground.repo, ground.there, merged)
    assert ground.files(done.commit) == ground.files(merged) | CLEAN and done.replayed == 2
    last = ground.repo.commit(done.commit)
    assert last.message.startswith(SUBJECT) and last.author.time == ground.clock and len(last.parents) == 1
    assert (parse(last.message).op, parse(last.message).writer) == ("merge", "sync")
    stones = with_stones("", [bury(text, "5a" * 8, "2026-11-20", "forgot") for text in "CE"])
    done = carry_over(ground.repo, ground.put(ground.there, **{"main/.tombstones": stones}), merged)
    assert done.buried == (("main/c.md", "C"), ("main/e.md", "E"))


@pytest.mark.parametrize("side", [True, False])
def test_a_side_branch_purges_nothing(ground: Ground, side: bool) -> None:
    repo, there = ground.repo, ground.put(ground.there, **{"main/d.md": "D\n"})
    done = carry_over(repo, ground.own, there, side=True) if side else carry_over(repo, ground.own, there)
    assert (SECRET in ground.files(done.commit)["main/a.md"], done.onto == ground.own) == (side, side)


@pytest.mark.parametrize("follow", [False, True])
def test_a_branch_that_only_others_may_move_is_followed_whatever_its_epoch(ground, follow: bool) -> None:
    """Unless it still holds what was purged here."""
    ours = ground.put(ground.there, **{"main/c.md": "C\n"})
    apart = ground.put(root_commit(ground.repo), **CLEAN)
    for theirs, onto in ((apart, follow), (ground.two, False)):
        repo = ground.repo
        done = (
            bring_together(repo, ours, theirs, follow=True)
            if follow
            else bring_together(repo, ours, theirs)
        )
        assert isinstance(done, Carried) and (done.onto == theirs, done.theirs) == (onto, not onto)


def test_what_was_purged_from_a_proposal_goes_from_where_it_was_accepted(ground: Ground) -> None:
    repo, proposed = ground.repo, ground.put(ground.there, **TOLD)
    new = ground.purged(proposed, PURGE)
    asked = [(proposed, new)]
    move_ref(repo, REF, ground.own, None, "test")
    assert purge_accepted(repo, asked, {REF: ground.own}, PURGE, "test") == []
    (apart,) = purge_accepted(repo, asked, {}, Purge(), "test")
    assert (apart.ref, apart.commit, apart.purge) == ("", new, PURGE)
    other = ground.put(root_commit(repo), **{"main/o.md": "O\n"})
    refs = {REF: ground.own, "refs/heads/local/other": other}
    (done,) = purge_accepted(repo, asked, refs, Purge(), "test")
    assert (done.ref, done.commit, done.purge) == (REF, repo.ref(REF), PURGE)
    assert ground.files(done.commit) == ground.files(ground.own) | CLEAN


def test_a_person_is_asked_where_it_takes_a_text_or_what_was_shared(ground: Ground) -> None:
    """Of a lower epoch only where that counts whatever its number."""
    repo = ground.repo
    shared = ground.put(root_commit(repo), **CLEAN)
    anew = ground.purged(ground.put(root_commit(repo), **{"main/x.md": "X\n"}), PURGE)
    for ours, theirs, follow, asked in (
        (ground.two, ground.there, False, True),
        (shared, anew, False, True),
        (anew, shared, False, False),
        (anew, shared, True, True),
    ):
        move_ref(repo, TRACKING, ours, repo.ref(TRACKING), "fetch")
        with pytest.raises(PurgeWaits) if asked else nullcontext():
            check_consent(repo, Peer("origin", TRACKING, 0), ours, theirs, follow=follow)
        assert check_consent(repo, Peer("origin", TRACKING, 0, theirs), ours, theirs)[0] == ours


@pytest.mark.parametrize("goes_on", [False, True])
def test_what_was_purged_of_a_branch_that_waits_is_asked_about_too(ground: Ground, goes_on: bool) -> None:
    """Also where all that was shared is still there."""
    repo, anew = ground.repo, ground.purged(ground.put(root_commit(ground.repo)), PURGE)
    if goes_on:
        anew = ground.put(ground.two, **{".gitmem": "format = 1\nepoch = 1 0123abcd\n"})
    shared = ground.two if goes_on else ""
    for old, new in ((None, shared), (shared, anew)) if shared else ((None, anew),):
        move_ref(repo, TRACKING, new, old, "fetch")
    assert check_consent(repo, Peer("origin", TRACKING, 0), ground.own, anew) == (shared, Purge())
    move_ref(repo, TRACKING.replace("project", "inbox/eve"), ground.there, None, "fetch")
    with pytest.raises(PurgeWaits):
        check_consent(repo, Peer("origin", TRACKING, 0), ground.own, anew)
    agreed = Peer("origin", TRACKING, 0, anew)
    assert check_consent(repo, agreed, ground.own, anew) == (shared, PURGE)
    # A log that was cut short says nothing of what came before.
    log = repo.git_dir / "logs" / TRACKING
    log.write_text(log.read_text().replace("0" * 40, anew).replace(shared or "0" * 40, anew))
    assert check_consent(repo, agreed, ground.own, anew)[0] is None


@pytest.mark.parametrize("mode", ["direct", "review"])
def test_a_purge_that_waits_names_the_memories_that_it_takes(ground, workspace, git, mode: str) -> None:
    """In review mode the branch counts whatever its epoch."""
    repo, index = ground.repo, {"main/MEMORY.md": "- [A](a.md)\n"}
    gone, changed = ([f"main/{name}.md" for name in names] for names in ("bvwx", "acde"))
    ours = ground.put(root_commit(repo), **CLEAN, **index, **dict.fromkeys((*gone, *changed[1:]), "B\n"))
    ours = ground.purged(ours, PURGE)
    here = ground.put(ours, **{"main/own.md": "Not sent\n"})
    theirs = ground.put(
        root_commit(repo), **{"main/MEMORY.md": "- [B](b.md)\n"}, **dict.fromkeys(changed, "A\n")
    )
    for ref, *moves in ((SHARED_REF, here), (TRACKING, ours, theirs)):
        for oid in moves:
            move_ref(repo, ref, oid, repo.ref(ref), "fetch")
    for key, value in (("gitmem.share", mode), ("remote.origin.url", "/nowhere")):
        git("-C", workspace.code.git_dir, "config", key, value)
    found = foreign_purge(open_workspace(workspace.around, workspace.code.git_dir.parent))
    assert (found is not None) is (mode == "review")
    if found:
        assert found == ForeignPurge(
            "origin", theirs, ours, Epoch(), "Ann <ann@example.com>", tuple(gone), tuple(changed), 0, 1
        )
        assert found.id == purge_id(theirs) == f"e-{theirs[:8]}"
    top = workspace.code.git_dir.parent
    git("-C", top, "config", "gitmem.share", "off")
    assert foreign_purge(open_workspace(workspace.around, top)) is None
    git("-C", top, "config", "gitmem.share", mode)
    for ref, oid in ((SHARED_REF, here), (TRACKING, theirs)):
        move_ref(repo, ref, None, oid, "gone")
        assert foreign_purge(open_workspace(workspace.around, top)) is None
        move_ref(repo, ref, oid, None, "back")


def test_a_purge_of_a_text_that_waits_says_how_many_it_took(ground: Ground, workspace, git) -> None:
    repo, log = ground.repo, {"main/logs/2026/11/2026-11-20.md": f"- 10:00:00Z [project a] {SECRET}\n"}
    ours = ground.put(ground.own, **log)
    theirs = ground.purged(ours, PURGE)
    for ref, oid in ((SHARED_REF, ours), (TRACKING, ours), (TRACKING, theirs)):
        move_ref(repo, ref, oid, repo.ref(ref), "fetch")
    for key, value in (("gitmem.share", "direct"), ("remote.origin.url", "/nowhere")):
        git("-C", workspace.code.git_dir, "config", key, value)
    found = foreign_purge(open_workspace(workspace.around, workspace.code.git_dir.parent))
    assert found and (found.shared, found.epoch, found.texts, found.unproved) == (ours, EPOCH, 1, 0)
    assert (found.gone, found.changed) == ((), (*log, "main/a.md")[::-1])


def test_nobody_is_asked_about_ones_own_machines_and_a_history_that_goes_on(ground: Ground) -> None:
    """Whatever its number, and though all of it was shared."""
    repo = ground.repo
    noted = ground.put(ground.own, **{".gitmem": "format = 1\nepoch = 1 0123abcd\n"})
    move_ref(repo, TRACKING, noted, None, "fetch")
    assert check_consent(repo, Peer("origin", TRACKING, 0), noted, ground.own, follow=True)[0] == noted
    assert check_consent(repo, Peer("origin", TRACKING, 0), ground.own, noted, follow=True)[1] == Purge()
    own = Peer("origin", TRACKING, 0, own=True)
    assert check_consent(repo, own, ground.two, ground.there) == (None, Purge())
    assert check_consent(repo, own, ground.two, ground.own) == ("", Purge())
