"""What a sync does for dreams and inboxes: the base merged in, and gone when they have landed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field

from gitmem.core.errors import RepositoryError
from gitmem.share.arrival import check_arrival
from gitmem.store.remote import DREAMS, INBOX, MEMORY_BRANCH, Move, Remote
from gitmem.store.repository import RefMoved, Repository
from gitmem.store.side_branches import adds_nothing, with_base
from gitmem.values import dataclass

MESSAGE = "gitmem sync"
"""What a ref's log says about it."""


@dataclass(frozen=True)
class Tended:
    """What became of side branches.

    Attributes:
        updated: branches at the remote that got the memory branch merged in; full names.
        closed: branches, there or here, that went because the memory branch has all of them.
    """

    updated: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tending:
    """What is to be done.

    Attributes:
        moves: what is pushed, each by itself.
        here: refs here to where each stands and where it goes; None deletes.
    """

    moves: tuple[Move, ...] = ()
    here: Mapping[str, tuple[str, str | None]] = field(default_factory=dict)

    @property
    def outcome(self) -> Tended:
        """What it comes to where nothing is in the way."""
        closed = {move.branch for move in self.moves if move.oid is None}
        closed |= {ref for ref, (_, oid) in self.here.items() if oid is None}
        return Tended(tuple(move.branch for move in self.moves if move.oid), tuple(sorted(closed)))


def plan_tending(
    repo: Repository, remote: Remote, before: Mapping[str, str], inbox: str, everyone: bool
) -> Tending:
    """Finds what side branches need; nothing is moved.

    A host merges a request without a driver, so the branch that asks holds the memory branch already,
    merged by gitmem. One's own are this writer's inbox and the dreams that are parked here.

    Args:
        before: what the remote had before it was last fetched.
        inbox: the writer's own branch, by its full name.
        everyone: others' branches get the base, too; they are never closed.
    """
    published = repo.ref(remote.tracking(MEMORY_BRANCH))
    if published is None:
        return Tending()
    now = {ref: oid for ref, oid in remote.fetched(repo).items() if ref.startswith((DREAMS, INBOX))}
    parked = repo.refs(DREAMS)
    moves: list[Move] = []
    here: dict[str, tuple[str, str | None]] = {}
    for branch, oid in sorted(now.items()):
        own = branch == inbox or branch in parked
        # What cannot be read or merged is for a person to look at, and keeps no other from being tended.
        with suppress(RepositoryError):
            if not (own or everyone):
                continue
            check_arrival(repo, oid, branch)
            if adds_nothing(repo, oid, published):
                if own:
                    moves.append(Move(branch, None, oid))
                    if parked.get(branch) == oid:
                        here[branch] = (oid, None)
                continue
            tip = with_base(repo, oid, published)
            if tip != oid:
                moves.append(Move(branch, tip))
            if branch in parked and parked[branch] != tip and repo.is_ancestor(parked[branch], tip):
                here[branch] = (parked[branch], tip)
    for branch, oid in sorted(parked.items()):
        # A request that was merged, whose branch the host then deleted. A rejected one stays for review.
        with suppress(RepositoryError):
            if branch in before and branch not in now and adds_nothing(repo, oid, published):
                here[branch] = (oid, None)
    return Tending(tuple(moves), here)


def tend(repo: Repository, remote: Remote, plan: Tending) -> Tended:
    """Carries it out, as far as the remote lets this person: nothing depends on it.

    Returns:
        What was done.
    """
    pushed = remote.push_all(plan.moves) if plan.moves else {}
    updated, closed, left = [], set(), set()
    for move in plan.moves:
        if pushed[move.branch].outcome != "pushed":
            left.add(move.branch)
            continue
        remote.note(repo, move.branch, move.oid)
        if move.oid is None:
            closed.add(move.branch)
        else:
            updated.append(move.branch)
    for branch, (old, oid) in plan.here.items():
        if branch in left:
            continue
        with suppress(RefMoved):
            repo.move_ref(branch, oid, old, MESSAGE)
            if oid is None:
                closed.add(branch)
    return Tended(tuple(updated), tuple(sorted(closed)))
