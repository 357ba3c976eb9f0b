"""Taking fetched memory in: what may become memory here, and what a merge with it changes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from gitmem.rules.rule import Finding
from gitmem.rules.screen import screen
from gitmem.share.carrying import Carried, bring_together, carry_sides
from gitmem.store.caps import check_caps
from gitmem.store.commits import Tip, check_format, read_tip
from gitmem.store.memory_refs import CODE_FAMILIES, memory_refs
from gitmem.store.merging import check_paths
from gitmem.store.old_epochs import note_old
from gitmem.store.repository import RefMoved, Repository
from gitmem.store.trees import changed_files, list_files, read_paths
from gitmem.values import dataclass


@dataclass(frozen=True)
class Arrival:
    """A fetched commit that was brought into a memory ref.

    Attributes:
        commit: where the ref stands now, or would stand.
        before: where it stood; the empty root commit where there was no ref.
        changed: paths that are different now.
        both: paths whose content is neither side's.
        arrived: secrets that came with it.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        carried: how it was brought over a purge, where the two were of different epochs.
    """

    commit: str
    before: str
    changed: frozenset[str] = frozenset()
    both: tuple[str, ...] = ()
    arrived: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    carried: Carried | None = None

    @property
    def lost(self) -> tuple[tuple[str, str], ...]:
        """(path, first words, redacted) of what was taught here to memories that were purged."""
        return self.carried.lost if self.carried else ()


def check_arrival(repo: Repository, oid: str, ref: str) -> None:
    """Raises where a fetched commit may not become memory here.

    Args:
        ref: what it is called there, for the message.

    Raises:
        RepositoryError: a newer format, a path that is not safe, or no memory at all.
    """
    tip = Tip(oid, repo.commit(oid).tree)
    check_caps(repo, tip.tree, ref)
    check_paths(set(list_files(repo, tip.tree)))
    check_format(repo, ref, tip)


def take_in(
    repo: Repository,
    ref: str,
    theirs: str,
    message: str,
    allow: frozenset[str],
    *,
    dry_run: bool = False,
    follow: bool = False,
) -> Arrival:
    """Merges a fetched commit into a memory ref, again whenever another writer was first.

    Over a purge nothing is merged: what only the lower epoch has is replayed on the higher one, and side
    branches here go along. What is left of the old one waits to be erased (`store.old_epochs`).

    Args:
        message: for the reflog.
        allow: fingerprints of accepted secrets.
        dry_run: the ref stays where it is.
        follow: as for `bring_together`.

    Raises:
        RepositoryError: it may not become memory here.
    """
    while True:
        known = repo.ref(ref)
        ours = read_tip(repo, ref)
        if theirs == ours.commit and known is not None:
            return Arrival(theirs, theirs)
        check_arrival(repo, theirs, ref)
        merged = bring_together(repo, ours.commit, theirs, follow=follow)
        carried = replace(merged, ref=ref) if isinstance(merged, Carried) else None
        if merged.commit == known:
            if carried and not dry_run:
                note_old(repo, [theirs])
            return Arrival(merged.commit, merged.commit, carried=carried)
        changed = changed_files(repo, ours.tree, merged.tree)
        before, after = (read_paths(repo, tree, changed) for tree in (ours.tree, merged.tree))
        arrived = screen(before, after, allow).refusals
        if not dry_run:
            if carried:
                logged = (oid for move in repo.reflog(ref) for oid in (move.old, move.new) if oid)
                note_old(repo, [ours.commit, theirs, *logged], {ref: ours.commit})
            try:
                repo.move_ref(ref, merged.commit, known, message)
            except RefMoved:
                continue
            if carried and ref.startswith(CODE_FAMILIES):
                _carry_sides(repo, ref, merged.commit, carried, message)
        return Arrival(
            merged.commit,
            carried.onto if carried else ours.commit,
            frozenset(changed),
            merged.both,
            arrived,
            merged.buried,
            merged.split,
            carried,
        )


def _carry_sides(repo: Repository, main: str, tip: str, carried: Carried, message: str) -> None:
    """Takes dreams, inboxes and what is set aside along into the new epoch."""
    found = memory_refs(repo, private=False)
    sides = {ref: oid for ref, oid in found.own.items() if ref != main}
    for ref, made in carry_sides(repo, tip, sides, found.tracking, carried.purge).items():
        note_old(repo, [sides[ref]])
        # One that moved meanwhile is seen to by the next sync.
        with suppress(RefMoved):
            repo.move_ref(ref, made.commit, sides[ref], message)
