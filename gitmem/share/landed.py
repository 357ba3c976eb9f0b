"""What a sync does about side branches that this clone asked for and a host has taken."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from gitmem.core.errors import RepositoryError
from gitmem.store.landing import (
    Asked,
    Landing,
    asked,
    asked_for,
    find_landing,
    forget_asked,
    record_landing,
    with_part,
)
from gitmem.store.merging import merge_commits
from gitmem.store.remote import INBOX, Remote
from gitmem.store.repository import Repository
from gitmem.values import dataclass


@dataclass(frozen=True)
class Settled:
    """The memory branch as it is to be taken in, and the branches that turned out to be in it.

    Attributes:
        onto: the fetched commit, or a merge on top of it that says what it has taken.
        landed: (full name of a branch at the remote, how it landed).
    """

    onto: str
    landed: tuple[tuple[str, Landing], ...] = ()


def settle(repo: Repository, remote: Remote, memory: str) -> Settled:
    """Finds which requests the fetched memory branch has taken, by merge, squash, rebase or web edit.

    Args:
        memory: commit of the memory branch, as fetched.
    """
    found = []
    onto = memory
    for one in asked(repo):
        there = repo.ref(remote.tracking(one.branch))
        # What cannot be read keeps nothing else from being exchanged.
        with suppress(RepositoryError):
            landing = find_landing(repo, memory, one.tip, there, one.base)
            if landing is not None:
                onto = record_landing(repo, onto, landing, one.branch)
                found.append((one.branch, landing))
            elif one.branch.startswith(INBOX) and (side := with_part(repo, memory, one.tip, one.base)):
                # This clone has all of it; what it made of the part since has the branch for its base.
                onto = merge_commits(repo, onto, side).commit
    return Settled(onto, tuple(found))


def close(repo: Repository, remote: Remote, landed: Iterable[tuple[str, Landing]]) -> None:
    """Removes branches that have landed from the host, where they stand as they did, and ends the notes."""
    for branch, landing in landed:
        there = repo.ref(remote.tracking(branch))
        if there is not None and there in landing.tips:
            outcome = remote.push(None, branch, there).outcome
            if outcome == "race":
                # Somebody went on with it: what they added is looked at next time.
                continue
            if outcome == "pushed":
                remote.note(repo, branch, None)
        forget_asked(repo, branch)


def closed_at_host(repo: Repository, remote: Remote, branch: str) -> Asked | None:
    """The branch as it was pushed, where the host has it no more and never merged it.

    A sync that took the memory branch in before has ended the note of what was merged.
    """
    if repo.ref(remote.tracking(branch)) is not None:
        return None
    return next((one for one in asked(repo) if one.branch == branch), None)


def says_more(repo: Repository, closed: Asked, ours: str, published: str | None) -> bool:
    """Whether a commit asks for anything that a branch which a host closed did not ask for.

    Args:
        published: the memory branch there; None where there is none.
    """
    before = asked_for(repo, left(repo, closed.base or closed.tip, closed.tip), closed.tip)
    now = asked_for(repo, left(repo, published or ours, ours), ours)
    known = {one.same for one in before}
    return any(one.same not in known for one in now)


def left(repo: Repository, memory: str, side: str) -> str:
    """Where a side branch left the memory branch.

    Raises:
        RepositoryError: the two have nothing in common.
    """
    bases = repo.merge_bases(memory, side)
    if not bases:
        raise RepositoryError(f"{side[:12]} has no history in common with the memory here", "Look at it.")
    return bases[0]
