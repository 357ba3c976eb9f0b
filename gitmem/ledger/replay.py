"""Carrying memory over a purge: what only one side has is replayed on the other, and never merged with it.

The higher epoch counts. What was purged is found out by comparing the two histories, in memory alone; the
side that still holds it is cleaned of it before anything of it is replayed. What was accepted here of a
proposal, before somebody's purge cleaned that, is taken out of memory as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import field, replace

from gitmem.core.errors import MissingObject
from gitmem.core.purge import Purge
from gitmem.core.trailers import Provenance, format_message
from gitmem.git.objects import encode_commit, parse_commit
from gitmem.git.packs import RawObjects
from gitmem.git.refs import move_refs
from gitmem.git.repository import Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.counterparts import Match, match, replaced
from gitmem.ledger.epochs import Epoch, OtherEpoch, epoch_of, joined
from gitmem.ledger.erase import note_old
from gitmem.ledger.land import ROOT_SIGNATURE
from gitmem.ledger.memory_refs import MemoryRefs, reflog_commits
from gitmem.ledger.merge import MergedCommit, merge_commits, merge_of_trees
from gitmem.ledger.rewrite import Rewriter, rewrite, with_what_stands_for
from gitmem.values import dataclass

SUBJECT = "Carry memory over a purge"
"""Of the commit with what replaying one by one did not bring: what merges of one's own had settled."""

NOTHING = Purge()


@dataclass(frozen=True)
class Carried(MergedCommit):
    """What was brought from one epoch into another, and is together there now.

    Attributes:
        onto: the commit that things were replayed on.
        replayed: commits that only the other side had.
        theirs: whether those are the other side's, which is of the lower epoch.
        lost: paths of memories that were purged, and to which something was taught.
        purge: what neither side holds any more.
        commits: old commit to the one in its place.
        ref: the memory ref that went over, where one did.
        former: the history that was replaced, less what was purged, where not all of that is proved; else
            empty.
    """

    onto: str = ""
    replayed: int = 0
    lost: tuple[str, ...] = ()
    purge: Purge = NOTHING
    commits: Mapping[str, str] = field(default_factory=dict, repr=False)
    ref: str = ""
    former: str = ""
    theirs: bool = False


def bring_together(
    repo: Repository,
    ours: str,
    theirs: str,
    known: Purge = NOTHING,
    *,
    published: str | None = "",
    follow: bool = False,
) -> MergedCommit:
    """Merges two commits of one epoch; of two, carries the lower one's over to the higher: see `Carried`.

    Args:
        known: what is known to have been purged, and ours holds.
        published: the last commit of ours that the other side is known to have had; empty where it had
            none, None where that is not known.
        follow: take the epoch of `theirs`, whatever its number, if that holds nothing of what was purged
            in `ours`: for a branch that only others may move.

    Raises:
        MissingObject: history is incomplete.
    """
    try:
        return merge_commits(repo, ours, theirs)
    except OtherEpoch:
        lower, higher = sorted((ours, theirs), key=lambda oid: epoch_of(repo, oid))
        if follow and not match(repo, ours, theirs).here:
            lower, higher = ours, theirs
        if lower != ours:
            return replace(carry_over(repo, higher, lower, here=known), theirs=True)
        return carry_over(repo, higher, lower, known, published=published)


def carry_over(
    repo: Repository,
    onto: str,
    from_: str,
    known: Purge = NOTHING,
    *,
    here: Purge = NOTHING,
    published: str | None = "",
    side: bool = False,
    at_fork: bool = False,
) -> Carried:
    """Replays what only one commit's history has on another, in another epoch; no ref is moved.

    What the other side once had of it, and has nothing of now, is not replayed: it was replaced there.

    Args:
        onto: the commit that stays as it is, unless the other side had purged what it still holds.
        from_: the commit that is left behind.
        known: what is known to have been purged and `from_` holds, besides what the comparison shows.
        here: the same of what `onto` holds.
        published: the last commit of `from_` that the other side is known to have had; empty where it
            had none, None where that is not known: all of it is replayed, and kept as it was.
        side: `from_` is a side branch, which purges nothing.
        at_fork: replay where the two lines parted, for side branches.

    Raises:
        MissingObject: history is incomplete.
    """
    found = match(repo, from_, onto)
    found = replace(found, here=here if side else found.here | here)
    with closing(RawObjects(repo)) as store:
        return _Carrying(repo, store, found, known).run(onto, from_, published, at_fork)


class _Carrying:
    def __init__(self, repo: Repository, store: RawObjects, found: Match, known: Purge) -> None:
        self.repo, self.store, self.found = repo, store, found
        self.purge = found.there | known

    def run(self, onto: str, from_: str, published: str | None, at_fork: bool) -> Carried:
        found, epoch = self.found, epoch_of(self.repo, onto)
        left = replaced(self.repo, found, published)
        nothing_proved = published is None and not found.pairs
        commits = dict(found.pairs)
        if found.here:
            # Two purges that did not know of one another: each is done in the other's history, too.
            epoch = joined(epoch, epoch_of(self.repo, from_))
            rewritten = self._rewritten(onto, found.here, epoch)
            commits = {old: rewritten.get(new, new) for old, new in commits.items()} | rewritten
            onto = rewritten[onto]
        former = self._former(from_, epoch) if left or nothing_proved else ""
        start = commits.get(found.frontier, found.frontier) if at_fork and found.frontier else onto
        if left:
            # Nothing of where they parted is left.
            start = onto
            own = tuple(oid for oid in found.own if oid not in frozenset(left))
            self.found = found = replace(found, own=own, frontier=published or "")
        cleaner = Rewriter(self.store, self.purge | found.here, epoch)
        cleaner.knows(commits)
        steps = self._steps(cleaner, found.own)
        last = tuple(
            cleaner.tree(self.repo.commit(oid).tree if oid else None) for oid in (found.frontier, from_)
        )
        tip, tree = start, cleaner.tree(self.repo.commit(start).tree)
        replayed = 0
        for oid, base, theirs in steps:
            merged = merge_of_trees(self.repo, base, tree, theirs)
            if merged.tree != tree:
                tip, tree = self._replayed(cleaner, oid, merged.tree, tip), merged.tree
                commits[oid] = tip
                replayed += 1
        # What a tombstone took from any of them it takes here again, and it is told once.
        merged = merge_of_trees(self.repo, last[0], tree, last[1])
        if merged.tree != tree:
            tip, tree = self._joint(from_, tip, merged.tree), merged.tree
        commits.setdefault(from_, tip)
        return Carried(
            tip,
            self.repo.commit(tip).tree,
            merged.buried,
            merged.split,
            merged.both,
            onto,
            replayed,
            self._lost(),
            self.purge | found.here,
            commits,
            former=former,
        )

    def _former(self, from_: str, epoch: Epoch) -> str:
        """The history that is left, without what is known to have been purged."""
        purge = self.purge | self.found.here
        return self._rewritten(from_, purge, epoch)[from_] if purge else from_

    def _rewritten(self, onto: str, purge: Purge, epoch: Epoch) -> dict[str, str]:
        fuller, suspects = with_what_stands_for(self.store, purge, [onto])
        rewriter = Rewriter(self.store, fuller, epoch, suspects)
        return dict(rewriter.history([onto], [onto]))

    def _steps(self, cleaner: Rewriter, own: Iterable[str]) -> list[tuple[str, str, str]]:
        """Own commits with the cleaned trees before and after them; merges among them are left out."""
        found = []
        for oid in own:
            commit = self.repo.commit(oid)
            if len(commit.parents) > 1:
                continue
            before = cleaner.tree(self.repo.commit(commit.parents[0]).tree if commit.parents else None)
            found.append((oid, before, cleaner.tree(commit.tree)))
        return found

    def _replayed(self, cleaner: Rewriter, oid: str, tree: str, parent: str) -> str:
        made = self.store.add("commit", cleaner.commit_bytes(oid, tree, [parent]))
        cleaner.knows({oid: made})
        return made

    def _joint(self, from_: str, parent: str, tree: str) -> str:
        old = parse_commit(self.store.read(from_)[1], from_)
        who = replace(ROOT_SIGNATURE, time=old.committer.time)
        message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
        return self.store.add("commit", encode_commit(tree, (parent,), who, who, message))

    def _lost(self) -> tuple[str, ...]:
        gone, found = self.purge.memories | self.found.here.memories, set[str]()
        for oid in self.found.own if gone else ():
            commit = self.repo.commit(oid)
            if len(commit.parents) == 1:
                before = self.repo.commit(commit.parents[0]).tree
                found |= changed_files(self.repo, before, commit.tree) & gone
        return tuple(sorted(found))


def purge_accepted(
    repo: Repository,
    proposals: Iterable[tuple[str, str]],
    mains: Mapping[str, str],
    known: Purge,
    message: str,
) -> list[Carried]:
    """Takes out of memory what another machine's purge took out of proposals: they were accepted meanwhile.

    Args:
        proposals: (commit as it was, the same after the purge).
        mains: memory refs of the same repository, and where they are.
        known: texts that were seen to already.
        message: for the reflog.

    Returns:
        What was done about each memory ref that held it; one without a ref where none did.

    Raises:
        RefMoved: a writer was quicker.
    """
    texts, newest = frozenset[str](), ""
    for old, new in proposals:
        with suppress(MissingObject):
            found = match(repo, old, new).there.texts - known.texts
            texts, newest = texts | found, new if found else newest
    if not texts:
        return []
    mark = epoch_of(repo, newest).mark
    made = rewrite(repo, MemoryRefs(True, mains, {}), Purge(texts), mark)
    note_old(repo, reflog_commits(repo, made.tips), {ref: mains[ref] for ref in made.tips})
    moves: dict[str, tuple[str | None, str | None]] = {
        ref: (mains[ref], tip) for ref, tip in made.tips.items()
    }
    move_refs(repo, moves, message)
    tips = made.tips or {"": newest}
    return [
        Carried(
            tip, repo.commit(tip).tree, onto=tip, purge=Purge(texts), commits=made.rewriter.commits, ref=ref
        )
        for ref, tip in tips.items()
    ]
