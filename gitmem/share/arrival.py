"""Taking fetched memory in: what may become memory here, and what a merge with it changes."""

from __future__ import annotations

from dataclasses import dataclass

from gitmem.guard.check import Refusal
from gitmem.store.commits import Tip, check_format, read_tip
from gitmem.store.merging import check_paths, merge_commits
from gitmem.store.repository import RefMoved, Repository
from gitmem.store.screen import screen
from gitmem.store.trees import changed_files, list_files, read_paths


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
    """

    commit: str
    before: str
    changed: frozenset[str] = frozenset()
    both: tuple[str, ...] = ()
    arrived: tuple[Refusal, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()


def check_arrival(repo: Repository, oid: str, ref: str) -> None:
    """Raises where a fetched commit may not become memory here.

    Args:
        ref: what it is called there, for the message.

    Raises:
        RepositoryError: a newer format, a path that is not safe, or no memory at all.
    """
    tip = Tip(oid, repo.commit(oid).tree)
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
) -> Arrival:
    """Merges a fetched commit into a memory ref, again whenever another writer was first.

    Args:
        message: for the reflog.
        allow: fingerprints of accepted secrets.
        dry_run: the ref stays where it is.

    Raises:
        RepositoryError: it may not become memory here.
    """
    while True:
        known = repo.ref(ref)
        ours = read_tip(repo, ref)
        if theirs == ours.commit and known is not None:
            return Arrival(theirs, theirs)
        check_arrival(repo, theirs, ref)
        merged = merge_commits(repo, ours.commit, theirs)
        if merged.commit == known:
            return Arrival(merged.commit, merged.commit)
        changed = changed_files(repo, ours.tree, merged.tree)
        before, after = (read_paths(repo, tree, changed) for tree in (ours.tree, merged.tree))
        arrived = screen(before, after, allow).refusals
        if not dry_run:
            try:
                repo.move_ref(ref, merged.commit, known, message)
            except RefMoved:
                continue
        return Arrival(
            merged.commit,
            ours.commit,
            frozenset(changed),
            merged.both,
            arrived,
            merged.buried,
            merged.split,
        )
