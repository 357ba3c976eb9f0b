"""A memory ref that was lost and began anew: what live directories still show of it was not deleted."""

from __future__ import annotations

from gitmem.store.commits import root_name
from gitmem.store.epochs import epoch_of
from gitmem.store.record import Record
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.trees import list_files
from gitmem.store.unshared import is_kept

RESCUED = "refs/gitmem/rescued/"
"""Where refs keep commits that memory refs do not hold any more, or never should have."""

LOCAL = "refs/heads/local/"
"""Where the private repository keeps each project's memory."""


def is_lost(repo: Repository, record: Record | None, tip: str) -> bool:
    """Whether a ref holds nothing of the history that a record's folder showed, beyond the common root.

    A ref that was merely moved back, or a commit that was amended, still shares a history with it.

    Args:
        tip: where the ref is now, or the root commit where there is none.
    """
    if record is None or record.base in ("", tip):
        return False
    try:
        if epoch_of(repo, record.base) != epoch_of(repo, tip):
            # A purge wrote that history anew; what it showed must not be brought back.
            return False
        if record.base in repo.commit(tip).parents or repo.is_ancestor(record.base, tip):
            return False
        if is_kept(repo, record.base):
            return False
        if set(repo.merge_bases(record.base, tip)) - {root_name(repo)}:
            # What was moved away from because it is damaged was not taken back.
            return not is_usable(repo, record.base)
        # A folder that another project's memory was laid out in is not of this ref.
        return not any(repo.is_ancestor(record.base, other) for other in repo.refs(LOCAL).values())
    except MissingObject:
        return True


def is_usable(repo: Repository, oid: str) -> bool:
    """Whether a commit and the folders of its tree can be read: else no write to a ref there succeeds."""
    try:
        list_files(repo, repo.commit(oid).tree)
    except MissingObject:
        return False
    return True


def rescue(repo: Repository, base: str) -> None:
    """Names what was lost, where it still exists, so that git does not collect it."""
    try:
        repo.commit(base)
    except MissingObject:
        return
    if repo.ref(rescue_name(base)) is None:
        repo.move_ref(rescue_name(base), base, None, "gitmem: lost by its ref")


def rescue_name(base: str) -> str:
    """The ref that keeps it."""
    return f"{RESCUED}{base[:12]}"
