"""Where a ref stood on this machine at some time, as its log tells."""

from __future__ import annotations

from gitmem.store.begun_anew import is_usable
from gitmem.store.repository import Repository
from gitmem.store.unshared import is_kept


def stood_at(repo: Repository, ref: str, moment: float) -> str | None:
    """Finds the commit that a ref stood at, the same one however the ref moves on.

    The log is asked, not the commits' dates: it only grows, while a commit that was made long ago may come
    in any day, with a folder that is adopted or by a sync. What counts is the first move later than the
    moment, whatever the clock said in moves after it.

    Args:
        ref: full name.
        moment: epoch seconds; a move in the same second counts as later.

    Returns:
        the commit; None where the ref held nothing, or where history was rewritten since (a purge): what
        stood there then is not to be shown again.
    """
    tip = repo.ref(ref)
    then = tip
    for move in repo.reflog(ref):
        if move.who.time >= int(moment):
            then = move.old
    if tip is None or then is None:
        return None
    return then if is_usable(repo, then) and (repo.is_ancestor(then, tip) or is_kept(repo, then)) else None
