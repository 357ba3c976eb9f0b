"""Carrying memory over a purge: what only one side has is replayed on the other, and never merged with it.

The higher epoch counts. What was purged is found out by comparing the two histories, in memory alone; the
side that still holds it is cleaned of it before anything of it is replayed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from gitmem.core.memory import parse
from gitmem.core.purge import Purge
from gitmem.core.text import decode
from gitmem.core.trailers import Provenance, format_message
from gitmem.store.commits import ROOT_SIGNATURE
from gitmem.store.counterparts import Match, match
from gitmem.store.epochs import Epoch, OtherEpoch, epoch_of, joined
from gitmem.store.merging import MergedCommit, merge_commits, merge_of_trees
from gitmem.store.new_epoch import with_what_stands_for
from gitmem.store.objects import encode_commit, parse_commit
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.rewriting import Rewriter
from gitmem.store.rewriting_objects import RawObjects
from gitmem.store.trees import changed_files, read_paths
from gitmem.values import dataclass

SUBJECT = "Carry memory over a purge"
NOTHING = Purge()


@dataclass(frozen=True)
class Carried:
    """What was brought from one epoch into another.

    Attributes:
        commit: where the two are together now.
        tree: its tree.
        onto: the commit that things were replayed on.
        replayed: commits that only the other side had.
        lost: (path, first words, redacted) of what was taught to memories that were purged.
        purge: what neither side holds any more.
        commits: old commit to the one in its place.
        buried, split, both: as of a merge.
        ref: the memory ref that went over, where one did.
    """

    commit: str
    tree: str
    onto: str
    replayed: int = 0
    lost: tuple[tuple[str, str], ...] = ()
    purge: Purge = NOTHING
    commits: Mapping[str, str] = field(default_factory=dict, repr=False)
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    ref: str = ""


def bring_together(
    repo: Repository, ours: str, theirs: str, *, follow: bool = False
) -> MergedCommit | Carried:
    """Merges two commits of one epoch; of two, carries the lower one's over to the higher.

    Args:
        follow: take the epoch of `theirs`, whatever its number, if that holds nothing of what was purged
            in `ours`: for a branch that only others may move.

    Raises:
        MissingObject: history is incomplete.
        RepositoryError: a tree holds a path that no memory tree may hold.
    """
    try:
        return merge_commits(repo, ours, theirs)
    except OtherEpoch:
        if follow and (carried := _follow(repo, ours, theirs)):
            return carried
        lower, higher = sorted((ours, theirs), key=lambda oid: epoch_of(repo, oid))
        return carry_over(repo, higher, lower)


def carry_over(
    repo: Repository, onto: str, from_: str, known: Purge = NOTHING, *, at_fork: bool = False
) -> Carried:
    """Replays what only one commit's history has on another, in another epoch; no ref is moved.

    Args:
        onto: the commit that stays as it is, unless the other side had purged what it still holds.
        from_: the commit that is left behind.
        known: what is known to have been purged, besides what the comparison shows.
        at_fork: replay where the two lines parted, for side branches.

    Raises:
        MissingObject: history is incomplete.
        RepositoryError: a tree holds a path that no memory tree may hold.
    """
    store = RawObjects.of(repo, repo.git)
    try:
        return _Carrying(repo, store, match(store, from_, onto), known).run(onto, from_, at_fork)
    finally:
        store.close()


def _follow(repo: Repository, ours: str, theirs: str) -> Carried | None:
    store = RawObjects.of(repo, repo.git)
    try:
        found = match(store, ours, theirs)
        return None if found.here else _Carrying(repo, store, found, NOTHING).run(theirs, ours, False)
    finally:
        store.close()


class _Carrying:
    def __init__(self, repo: Repository, store: RawObjects, found: Match, known: Purge) -> None:
        self.repo, self.store, self.found = repo, store, found
        self.purge = found.there | known

    def run(self, onto: str, from_: str, at_fork: bool) -> Carried:
        found, epoch = self.found, epoch_of(self.repo, onto)
        commits = dict(found.pairs)
        if found.here:
            # Two purges that did not know of one another: each is done in the other's history, too.
            epoch = joined(epoch, epoch_of(self.repo, from_))
            rewritten = self._rewritten(onto, found.here, epoch)
            commits = {old: rewritten.get(new, new) for old, new in commits.items()} | rewritten
            onto = rewritten[onto]
        start = commits.get(found.frontier, found.frontier) if at_fork and found.frontier else onto
        cleaner = Rewriter(self.store, self.purge | found.here, epoch)
        cleaner.knows(commits)
        steps = self._steps(cleaner, found.own)
        last = tuple(
            cleaner.tree(self.repo.commit(oid).tree) if oid else cleaner.tree_of_none()
            for oid in (found.frontier, from_)
        )
        tip, tree = start, cleaner.tree(self.repo.commit(start).tree)
        self.store.flush()
        merges: list[MergedCommit] = []
        replayed = 0
        for oid, base, theirs in steps:
            merged = merge_of_trees(self.repo, base, tree, theirs)
            merges.append(merged)
            if merged.tree != tree:
                tip, tree = self._replayed(cleaner, oid, merged.tree, tip), merged.tree
                commits[oid] = tip
                replayed += 1
        merged = merge_of_trees(self.repo, last[0], tree, last[1])
        merges.append(merged)
        if merged.tree != tree:
            tip, tree = self._joint(from_, merged.tree, tip), merged.tree
        self.store.flush()
        commits.setdefault(from_, tip)
        return Carried(
            tip,
            self.repo.commit(tip).tree,
            onto,
            replayed,
            self._lost(),
            self.purge | found.here,
            commits,
            tuple(dict.fromkeys(one for merge in merges for one in merge.buried)),
            merges[-1].split,
            merges[-1].both,
        )

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
            before = (
                cleaner.tree(self.repo.commit(commit.parents[0]).tree)
                if commit.parents
                else cleaner.tree_of_none()
            )
            found.append((oid, before, cleaner.tree(commit.tree)))
        return found

    def _replayed(self, cleaner: Rewriter, oid: str, tree: str, parent: str) -> str:
        made = self.store.add("commit", cleaner.commit_bytes(oid, tree, [parent]))
        cleaner.knows({oid: made})
        return made

    def _joint(self, from_: str, tree: str, parent: str) -> str:
        self.store.flush()
        old = parse_commit(self.store.read(from_)[1], from_)
        who = replace(ROOT_SIGNATURE, time=old.committer.time)
        message = format_message(SUBJECT, Provenance(op="merge", writer="sync"))
        return self.store.add("commit", encode_commit(tree, (parent,), who, who, message))

    def _lost(self) -> tuple[tuple[str, str], ...]:
        gone, found = self.purge.memories | self.found.here.memories, {}
        for oid in self.found.own if gone else ():
            commit = self.repo.commit(oid)
            if len(commit.parents) != 1:
                continue
            before = self.repo.commit(commit.parents[0]).tree
            paths = changed_files(self.repo, before, commit.tree) & gone
            for path, data in read_paths(self.repo, commit.tree, paths).items():
                found[path] = _redacted(path, data)
        return tuple(sorted(found.items()))


def carry_sides(
    repo: Repository, main: str, sides: Mapping[str, str], there: Mapping[str, str], purge: Purge
) -> dict[str, Carried]:
    """Brings side branches into the epoch of the branch that they left; those that cannot be stay.

    Args:
        main: where that branch is now.
        sides: ref to commit.
        there: tracking ref to commit: what remotes have of side branches.

    Returns:
        Ref to what was made of it, of those that were in another epoch.
    """
    epoch, done = epoch_of(repo, main), {}
    for ref, oid in sides.items():
        try:
            if epoch_of(repo, oid) == epoch or repo.is_ancestor(oid, main):
                continue
            twins = [tip for name, tip in there.items() if _twin(name) == _twin(ref)]
            twin = next((tip for tip in twins if epoch_of(repo, tip) == epoch), None)
            if twin is not None:
                done[ref] = carry_over(repo, twin, oid, purge)
            else:
                done[ref] = carry_over(repo, main, oid, purge, at_fork=True)
        except MissingObject:
            continue
    return done


def _twin(ref: str) -> str:
    """What a side branch is called wherever it is."""
    return ref.partition("gitmem/")[2].removeprefix("requests/")


def _redacted(path: str, data: bytes) -> str:
    """The first words of a memory, of each only the first letter."""
    memory = parse(path, data)
    words = (memory.claims[-1].text if memory.claims else decode(data)).split()[:6]
    return " ".join(f"{word[0]}…" for word in words)
