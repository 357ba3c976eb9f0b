"""A purge that somebody else made: before it takes anything from here, a person agrees to it by name.

An epoch that was made elsewhere may be a forgery: whoever may push the memory branch can begin it anew.
What it takes is worked out from the two histories. Where it takes nothing it is followed as any change;
else it waits, and until it is decided on nothing is exchanged with that memory branch.
"""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.merge import kind
from gitmem.core.purge import Purge
from gitmem.git.repository import MissingObject, Repository
from gitmem.git.trees import list_files
from gitmem.ledger.counterparts import match, replaced
from gitmem.ledger.epochs import Epoch, epoch_of
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.workspace import SHARED_REF, Workspace
from gitmem.values import dataclass


class PurgeWaits(CheckFailed):
    """Somebody else's purge would take something from here, and nobody has agreed to that."""

    kind = "purge-waits"


@dataclass(frozen=True)
class Peer:
    """Where a fetched commit comes from, and what a person has said of it.

    Attributes:
        name: of the remote.
        tracking: the remote-tracking ref that it was fetched to.
        now: seconds since the epoch, from which on what is replaced is kept for a while.
        agreed: the commit whose purge a person has agreed to, as they saw it; empty for none.
        own: only the person's own machines write there, so that nobody has to be asked.
    """

    name: str
    tracking: str
    now: float
    agreed: str = ""
    own: bool = False


@dataclass(frozen=True)
class ForeignPurge:
    """A purge that waits for a person.

    Attributes:
        remote: name of the remote whose memory branch was purged.
        tip: that branch, as fetched.
        shared: the last commit of what is here that the remote is known to have had; None where that is not
            known.
        epoch: that the purge began.
        who: author of the last commit there; hostile text.
        gone: memories that were shared and are not there any more; paths.
        changed: memories that read otherwise there.
        texts: how many texts it took out.
        unproved: commits that were shared and of which nothing tells what became.
    """

    remote: str
    tip: str
    shared: str | None
    epoch: Epoch
    who: str
    gone: tuple[str, ...]
    changed: tuple[str, ...]
    texts: int
    unproved: int

    @property
    def id(self) -> str:
        """`e-` and eight digits of the commit: one decides on what was shown."""
        return purge_id(self.tip)


def purge_id(tip: str) -> str:
    """What a purge that waits is called."""
    return f"e-{tip[:8]}"


def check_consent(
    repo: Repository, peer: Peer, ours: str, theirs: str, *, follow: bool = False
) -> tuple[str | None, Purge]:
    """Raises where a fetched commit would take something from here and nobody has agreed to that.

    Args:
        follow: theirs is taken whatever its number, as for `replay.bring_together`.

    Returns:
        What is known to have been shared, and to have been purged, as `replay.carry_over` takes them.

    Raises:
        PurgeWaits: a person has to decide.
        MissingObject: a history is incomplete.
    """
    if not _apart(repo, ours, theirs):
        return "", Purge()
    if peer.own:
        return None, Purge()
    shared, waiting = last_shared(repo, peer.tracking, ours), _purged_waiting(repo, peer.tracking, ours)
    takes = what_it_takes(repo, ours, theirs, shared, waiting, follow=follow)
    if peer.agreed != theirs and takes is not None:
        id = purge_id(theirs)
        raise PurgeWaits(
            f"Somebody purged memory at {peer.name}: nothing is taken or sent before you decide",
            f"See what goes: git mem review show {id}. Take it: git mem review accept {id}. "
            f"Turn it down: git mem review reject {id}",
        )
    return shared, waiting


def foreign_purge(workspace: Workspace) -> ForeignPurge | None:
    """The purge at the shared remote that waits for a person, as last fetched; None where there is none."""
    if workspace.sharing == "off":
        return None
    repo = workspace.code
    with suppress(RepositoryError):
        remote = find_remote(workspace.git, workspace.top)
        tracking = remote.tracking(SHARED_REF)
        ours, theirs = repo.ref(SHARED_REF), repo.ref(tracking)
        if ours is None or theirs is None or not _apart(repo, ours, theirs):
            return None
        shared = last_shared(repo, tracking, ours)
        follow = workspace.sharing == "review"
        waiting = _purged_waiting(repo, tracking, ours)
        takes = what_it_takes(repo, ours, theirs, shared, waiting, follow=follow)
        if takes is None:
            return None
        before, there = (list_files(repo, repo.commit(oid).tree) for oid in (shared or ours, theirs))
        known = {path: oid for path, oid in before.items() if kind(path) in ("memory", "log")}
        last = repo.commit(theirs)
        return ForeignPurge(
            remote.name,
            theirs,
            shared,
            epoch_of(repo, theirs),
            f"{last.author.name} <{last.author.email}>",
            tuple(sorted(known.keys() - there.keys())),
            tuple(sorted(path for path in known.keys() & there.keys() if known[path] != there[path])),
            *takes,
        )
    return None


def what_it_takes(
    repo: Repository, ours: str, theirs: str, shared: str | None, waiting: Purge, *, follow: bool
) -> tuple[int, int] | None:
    """What taking a fetched commit in would take from here; None for nothing that had to be asked about.

    Args:
        ours, theirs: of two epochs.
        shared: from `last_shared`.
        waiting: what was purged of branches that wait there.
        follow: theirs is taken whatever its number; else only one of a higher epoch replaces anything.

    Returns:
        How many texts it took out; and how many commits of ours it replaces of which nothing tells what
        became: where it is not known what was shared, all that have no counterpart count.

    Raises:
        MissingObject: a history is incomplete.
    """
    if repo.is_ancestor(ours, theirs) or repo.is_ancestor(theirs, ours):
        return None
    if shared and not waiting and repo.is_ancestor(shared, theirs):
        # All that was shared is in it: nothing was replaced.
        return None
    found = match(repo, ours, theirs)
    left = found.own if shared is None else replaced(repo, found, shared)
    replaces = follow or epoch_of(repo, theirs) > epoch_of(repo, ours)
    purged = found.there | waiting
    return (len(purged.texts), len(left)) if purged or (replaces and left) else None


def _purged_waiting(repo: Repository, tracking: str, ours: str) -> Purge:
    """Texts that were purged of branches that wait at a remote, and that ours has: one came from the other.

    No such branch purges anything by itself: it is asked only once the memory branch there was purged.
    """
    texts = frozenset[str]()
    for oid in repo.refs(f"{tracking.removesuffix('project')}inbox/").values():
        with suppress(MissingObject):
            if _apart(repo, ours, oid):
                texts |= match(repo, ours, oid).there.texts
    return Purge(texts)


def _apart(repo: Repository, one: str, other: str) -> bool:
    return epoch_of(repo, one) != epoch_of(repo, other)


def last_shared(repo: Repository, tracking: str, ours: str) -> str | None:
    """The last commit of ours that a remote is known to have had, by the log of what was fetched from it.

    Returns:
        The commit; empty where the remote never had any of it; None where the log does not go back so far.
    """
    moves = repo.reflog(tracking)
    for move in moves:
        for oid in (move.new, move.old):
            with suppress(MissingObject):
                if oid and repo.is_ancestor(oid, ours):
                    return oid
    return "" if moves and moves[-1].old is None else None
