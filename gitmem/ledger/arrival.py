"""Exchanging memory with a remote: what is fetched taken in, and a lost race run again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace

from gitmem.core.errors import MissingObject, RepositoryError
from gitmem.core.limits import SCOPE_AGENTS, SCOPE_BYTES, SCOPE_ENTRIES
from gitmem.git.refs import move_ref
from gitmem.git.repository import BLOB, EXECUTABLE, TREE, RefMoved, Repository, TreeEntry
from gitmem.git.trees import DEEPEST, changed_files, read_paths
from gitmem.ledger.consent import Peer, check_consent
from gitmem.ledger.epochs import FORMER, epochs_differ, keep_former
from gitmem.ledger.erase import note_old
from gitmem.ledger.land import Tip, check_format, land_commit, read_tip
from gitmem.ledger.memory_refs import CODE_FAMILIES, memory_refs
from gitmem.ledger.merge import is_writable, set_aside
from gitmem.ledger.replay import Carried, bring_together, carry_over
from gitmem.rules.profiles import judge_files
from gitmem.rules.rule import Finding
from gitmem.values import dataclass

TREE_BYTES = 33_554_432
"""Largest single folder that is opened: `SCOPE_ENTRIES` names of some 100 bytes."""

SCOPE_FOLDERS = 1_000_000
"""Folders that a tree stands for: a scope's memories, archives and logs are in far fewer."""

SHOWN = 80
"""Characters of a folder's path in a message."""


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
        aside: path to why a file that came stays in the tree alone, or in history (see `merge.set_aside`).
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
    aside: Mapping[str, str] = field(default_factory=dict)

    @property
    def lost(self) -> tuple[str, ...]:
        """Paths of memories that were purged, and to which something was taught here."""
        return self.carried.lost if self.carried else ()


def exchange(once: Callable[[], bool], tries: int, pause: Callable[[int], None], name: str) -> int:
    """Runs a round of fetching, merging and pushing again for as long as another writer is quicker.

    Args:
        once: one round; False where a race was lost.
        tries: rounds at most.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        name: of the remote, for the message.

    Returns:
        Races lost.

    Raises:
        RepositoryError: the remote kept moving.
    """
    for lost in range(tries):
        if lost:
            pause(lost)
        if once():
            return lost
    raise RepositoryError(f"{name} kept moving under {tries} pushes", "Run it again.")


def check_arrival(repo: Repository, oid: str, ref: str) -> None:
    """Raises where a fetched commit may not become memory here.

    Args:
        ref: what it is called there, for the message.

    Raises:
        RepositoryError: a newer format, or no memory at all.
    """
    tip = Tip(oid, repo.commit(oid).tree)
    check_caps(repo, tip.tree, ref)
    check_format(repo, ref, tip)


def take_in(
    repo: Repository,
    ref: str,
    theirs: str,
    message: str,
    allow: frozenset[str],
    peer: Peer,
    *,
    dry_run: bool = False,
    follow: bool = False,
) -> Arrival:
    """Merges a fetched commit into a memory ref, again whenever another writer was first.

    Over a purge nothing is merged: what only the lower epoch has is replayed on the higher one, and side
    branches here go along. What is left of the old one waits to be erased (`erase.old_tips`), and is
    kept for a while where not all of it is proved to have been purged.

    Args:
        message: for the reflog.
        allow: fingerprints of accepted secrets.
        peer: where it comes from, and what a person has agreed to.
        dry_run: the ref stays where it is.
        follow: as for `bring_together`.

    Raises:
        PurgeWaits: it was purged by somebody else, and nobody has agreed to that.
        RepositoryError: it may not become memory here.
    """
    while True:
        known = repo.ref(ref)
        ours = read_tip(repo, ref)
        if known is not None and repo.is_ancestor(theirs, known):
            return Arrival(known, known)
        check_arrival(repo, theirs, ref)
        shared, purged = check_consent(repo, peer, ours.commit, theirs, follow=follow)
        merged = bring_together(repo, ours.commit, theirs, purged, published=shared, follow=follow)
        carried = replace(merged, ref=ref) if isinstance(merged, Carried) else None
        if merged.commit == known:
            if carried and not dry_run:
                note_old(repo, [theirs])
            return Arrival(merged.commit, merged.commit, carried=carried)
        changed = changed_files(repo, ours.tree, merged.tree)
        came = changed_files(repo, ours.tree, repo.commit(theirs).tree)
        refused = {path for path in came if not is_writable(path)}
        aside = set_aside(repo, [ours.tree, merged.tree], changed | refused)
        judged = changed - aside.keys()
        before, after = (read_paths(repo, tree, judged) for tree in (ours.tree, merged.tree))
        arrived = judge_files("write", before, after, allow)
        if not dry_run:
            if carried:
                logged = (oid for move in repo.reflog(ref) for oid in (move.old, move.new) if oid)
                note_old(repo, [ours.commit, theirs, *logged], {ref: ours.commit})
                if carried.former:
                    keep_former(repo, ref, carried.former, peer.now)
            try:
                land_commit(repo, ref, merged.commit, known, message)
            except RefMoved:
                continue
            if carried and ref.startswith(CODE_FAMILIES):
                _carry_sides(repo, ref, merged.commit, carried, message, shared or "")
        return Arrival(
            merged.commit,
            carried.onto if carried else ours.commit,
            frozenset(changed),
            merged.both,
            arrived,
            merged.buried,
            merged.split,
            carried,
            {path: why for path, why in aside.items() if path in refused or repo.entry(merged.tree, path)},
        )


def _carry_sides(
    repo: Repository, main: str, tip: str, carried: Carried, message: str, shared: str
) -> None:
    """Takes dreams, inboxes and what is set aside along into the new epoch.

    One that a remote has in the new epoch already is brought there, any other to where it left the branch.
    """
    found = memory_refs(repo, private=False)
    for ref, oid in found.own.items():
        if ref == main or ref.startswith(FORMER):
            continue
        # What cannot be read stays where it is, and what moved meanwhile is seen to by the next sync.
        with suppress(MissingObject, RefMoved):
            if not epochs_differ(repo, oid, tip) or repo.is_ancestor(oid, tip):
                continue
            twins = (there for name, there in found.tracking.items() if _twin(name) == _twin(ref))
            twin = next((there for there in twins if not epochs_differ(repo, there, tip)), None)
            if twin is not None:
                made = carry_over(repo, twin, oid, carried.purge, side=True)
            else:
                made = carry_over(repo, tip, oid, carried.purge, published=shared, side=True, at_fork=True)
            note_old(repo, [oid])
            move_ref(repo, ref, made.commit, oid, message)


def _twin(ref: str) -> str:
    """What a side branch is called wherever it is."""
    return ref.partition("gitmem/")[2].removeprefix("requests/")


class TooLarge(RepositoryError):
    """A tree holds more than a scope may."""

    kind = "too-large"


def check_caps(repo: Repository, tree: str, what: str) -> None:
    """Raises where a tree holds more than a scope may; opens each folder once and no file.

    A tree of a few kilobytes can stand for any number of files, since one folder may be in it many times,
    and one blob, too. So it is counted before anything of it is expanded, folders once each.

    Args:
        what: what the tree belongs to, for the message.

    Raises:
        TooLarge: it has too many files, agents or bytes, or is deeper than trees are gone into. One large
            file alone is set aside, and so is what merely lies too deep (`merge.set_aside`).
        MissingObject: it is incomplete.
    """
    folders = _folders(repo, tree, what)
    agents = sum(entry.mode == TREE for entry in folders[tree].values())
    if agents > SCOPE_AGENTS:
        raise _too_large(what, f"has {agents:,} agents, and {SCOPE_AGENTS:,} are the most")
    blobs = {entry.oid for entries in folders.values() for entry in entries.values() if _is_file(entry)}
    sizes = repo.sizes(sorted(blobs))
    held = _held(tree, folders, sizes, {})
    most = {"files": SCOPE_ENTRIES, "bytes": SCOPE_BYTES, "folders": SCOPE_FOLDERS}
    for number, (unit, limit) in zip(held, most.items(), strict=True):
        if number > limit:
            raise _too_large(what, f"holds {number:,} {unit}, and {limit:,} are the most")


def _folders(repo: Repository, tree: str, what: str) -> dict[str, dict[str, TreeEntry]]:
    """Every different folder of a tree, level by level."""
    found: dict[str, dict[str, TreeEntry]] = {}
    level = {tree: ""}
    for _ in range(DEEPEST):
        for oid, size in repo.sizes(sorted(level)).items():
            if size > TREE_BYTES:
                raise _too_large(
                    what, f"has a folder whose list alone takes {size:,} bytes: {level[oid]!a}"
                )
            found[oid] = repo.tree(oid)
        level = {
            entry.oid: f"{where}{name}/"
            for oid, where in level.items()
            for name, entry in found[oid].items()
            if entry.mode == TREE and entry.oid not in found
        }
        if not level:
            return found
        if len(found) + len(level) > SCOPE_ENTRIES:
            raise _too_large(what, f"has more than {SCOPE_ENTRIES:,} folders")
    where = next(iter(level.values()))
    raise _too_large(what, f"has folders more than {DEEPEST} deep, as {where[:SHOWN]!a}")


def _held(
    tree: str,
    folders: dict[str, dict[str, TreeEntry]],
    sizes: dict[str, int],
    known: dict[str, tuple[int, int, int]],
) -> tuple[int, int, int]:
    """Files and bytes below a folder, and folders with itself; each folder is added up once."""
    if tree not in known:
        count = size = 0
        opened = 1
        for entry in folders[tree].values():
            if entry.mode == TREE:
                below = _held(entry.oid, folders, sizes, known)
                count, size, opened = count + below[0], size + below[1], opened + below[2]
            elif _is_file(entry):
                count, size = count + 1, size + sizes[entry.oid]
        known[tree] = count, size, opened
    return known[tree]


def _is_file(entry: TreeEntry) -> bool:
    return entry.mode in (BLOB, EXECUTABLE)


def _too_large(what: str, why: str) -> TooLarge:
    return TooLarge(
        f"{what} {why}",
        "Nothing of it was merged. Take it out of the branch; who put it there: git log --stat",
    )
