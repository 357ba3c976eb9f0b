"""A purge that somebody else made: before it takes anything from here, a person agrees to it by name.

An epoch that was made elsewhere may be a forgery: whoever may push the memory branch can begin it anew.
What it takes is worked out from the two histories. Where it takes nothing it is followed as any change;
else it waits, and until it is decided on nothing is exchanged with that memory branch.
"""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError
from gitmem.core.names import kind
from gitmem.core.purge import Purge
from gitmem.git.repository import Repository
from gitmem.git.trees import list_files
from gitmem.ledger.counterparts import match, replaced
from gitmem.ledger.epochs import Epoch, epoch_of, epochs_differ
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
    if not epochs_differ(repo, ours, theirs):
        return "", Purge()
    if peer.own:
        return None, Purge()
    found = _look(repo, peer.tracking, ours, theirs, follow=follow)
    if peer.agreed != theirs and found.takes:
        id = purge_id(theirs)
        raise PurgeWaits(
            f"Somebody purged memory at {peer.name}: nothing is taken or sent before you decide",
            f"See what goes: git mem review show {id}. Take it: git mem review accept {id}. "
            f"Reject it: git mem review reject {id}",
        )
    return found.shared, found.waiting


def foreign_purge(workspace: Workspace) -> ForeignPurge | None:
    """The purge at the shared remote that waits for a person, as last fetched; None where there is none."""
    if workspace.sharing == "off":
        return None
    repo = workspace.code
    with suppress(RepositoryError):
        remote = find_remote(workspace)
        tracking = remote.tracking(SHARED_REF)
        ours, theirs = repo.ref(SHARED_REF), repo.ref(tracking)
        if ours is None or theirs is None or not epochs_differ(repo, ours, theirs):
            return None
        found = _look(repo, tracking, ours, theirs, follow=workspace.sharing == "review")
        if not found.takes:
            return None
        before, there = (list_files(repo, repo.commit(oid).tree) for oid in (found.shared or ours, theirs))
        known = {path: oid for path, oid in before.items() if kind(path) in ("memory", "log")}
        last = repo.commit(theirs)
        return ForeignPurge(
            remote.name,
            theirs,
            found.shared,
            epoch_of(repo, theirs),
            f"{last.author.name} <{last.author.email}>",
            tuple(sorted(known.keys() - there.keys())),
            tuple(sorted(path for path in known.keys() & there.keys() if known[path] != there[path])),
            found.texts,
            found.unproved,
        )
    return None


@dataclass(frozen=True)
class _Taking:
    """What taking a fetched commit of another epoch in would take from here.

    Attributes:
        shared: from `_last_shared`.
        waiting: texts that were purged of branches that wait at the remote, and that ours has.
        takes: whether anything has to be asked about.
        texts: how many texts it took out.
        unproved: commits of ours that it replaces and of which nothing tells what became; where it is not
            known what was shared, all that have no counterpart count.
    """

    shared: str | None
    waiting: Purge
    takes: bool = False
    texts: int = 0
    unproved: int = 0


def _look(repo: Repository, tracking: str, ours: str, theirs: str, *, follow: bool) -> _Taking:
    """Works it out from the two histories.

    Args:
        follow: theirs is taken whatever its number; else only one of a higher epoch replaces anything.

    Raises:
        MissingObject: a history is incomplete.
    """
    shared, waiting = _last_shared(repo, tracking, ours), _purged_waiting(repo, tracking, ours)
    found = _Taking(shared, waiting)
    if repo.is_ancestor(ours, theirs) or repo.is_ancestor(theirs, ours):
        return found
    if shared and not waiting and repo.is_ancestor(shared, theirs):
        # All that was shared is in it: nothing was replaced.
        return found
    laid = match(repo, ours, theirs)
    left = laid.own if shared is None else replaced(repo, laid, shared)
    replaces = follow or epoch_of(repo, theirs) > epoch_of(repo, ours)
    purged = laid.there | waiting
    takes = bool(purged) or (replaces and bool(left))
    return _Taking(shared, waiting, takes, len(purged.texts), len(left))


def _purged_waiting(repo: Repository, tracking: str, ours: str) -> Purge:
    """Texts that were purged of branches that wait at a remote, and that ours has: one came from the other.

    No such branch purges anything by itself: it is asked only once the memory branch there was purged.
    """
    texts = frozenset[str]()
    for oid in repo.refs(f"{tracking.removesuffix('project')}inbox/").values():
        with suppress(MissingObject):
            if epochs_differ(repo, ours, oid):
                texts |= match(repo, ours, oid).there.texts
    return Purge(texts)


def _last_shared(repo: Repository, tracking: str, ours: str) -> str | None:
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
