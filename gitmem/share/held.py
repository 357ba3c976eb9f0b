"""Memories that are about to leave this machine, which nobody has agreed to yet."""

from __future__ import annotations

from gitmem.core.errors import RepositoryError
from gitmem.share.inbox import writer_branch
from gitmem.share.leaving import Leaving, leaving
from gitmem.share.turning import agree, agreed
from gitmem.share.unpushed import prepare
from gitmem.store.remote import MEMORY_BRANCH, find_remote
from gitmem.store.workspace import SHARED_REF, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Held:
    """What the next sync would ask about.

    Attributes:
        id: `l-` and six digits of the commit.
        commit: of the memory here.
        personal: memories about a person, which no sync sends.
    """

    id: str
    remote: str
    commit: str
    leaves: tuple[Leaving, ...]
    personal: tuple[Leaving, ...] = ()


def held_back(workspace: Workspace) -> Held | None:
    """The memories that would leave for the first time, by what was fetched last; None where none would."""
    if workspace.sharing == "off":
        return None
    repo = workspace.code
    try:
        tip = repo.ref(SHARED_REF)
        if tip is None:
            return None
        remote = find_remote(workspace.git, workspace.top)
        branches = (MEMORY_BRANCH, writer_branch(workspace))
        known = [oid for branch in branches if (oid := repo.ref(remote.tracking(branch)))]
        consented = agreed(workspace)
        fresh = leaving(repo, tip, [*known, *([consented] if consented else [])])
    except RepositoryError:
        return None
    leaves = tuple(memory for memory in fresh if memory.type != "user")
    personal = tuple(memory for memory in fresh if memory.type == "user")
    return Held(f"l-{tip[:6]}", remote.name, tip, leaves, personal) if fresh else None


def agree_to(workspace: Workspace, held: Held) -> None:
    """Notes that the person agreed to all but what is about a person."""
    remote = find_remote(workspace.git, workspace.top)
    agree(workspace, prepare(workspace.code, remote, held.commit).tip)
