"""What a clone does once its memory was carried over a purge that was made elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from gitmem.memory.purged import Purge
from gitmem.share.carrying import Carried
from gitmem.share.purge_plan import lives, scrub_states
from gitmem.store.epochs import Epoch, epoch_of
from gitmem.store.memory_refs import clear_logs, memory_refs, move_together
from gitmem.store.purging import erase_old, note_old, old_tips
from gitmem.store.repository import Repository
from gitmem.store.scrubbing import scrub_live, scrub_records
from gitmem.store.workspace import Workspace

MESSAGE = "gitmem sync: over a purge"


def settle_carried(workspace: Workspace, carried: Iterable[Carried], *, private: bool) -> None:
    """Takes what was purged out of live directories, records, state and search indexes."""
    found = tuple(carried)
    purge = reduce(lambda one, other: one | other, (one.purge for one in found), Purge())
    commits = {old: new for one in found for old, new in one.commits.items()}
    repo = workspace.private if private else workspace.code
    seen = [live for live in lives(workspace) if (live.scope.name != "project") == private]
    for live in seen:
        scrub_live(live, purge, commits, repo)
    texts = Purge(purge.texts)
    state = workspace.private_state if private else workspace.state
    scrub_records(state, [live.key for live in seen], texts, commits, repo)
    scrub_states(workspace, texts)


def erase_left_over(workspace: Workspace) -> int:
    """Erases what is left of old epochs, after whatever kept it alive is gone; returns how many objects.

    Raises:
        RepositoryError: it cannot be told what is still used.
    """
    states = (workspace.state, workspace.private_state)
    count = 0
    places: list[tuple[Repository, bool]] = [(workspace.code, False)]
    places += [(workspace.private, True)] if workspace.has_private else []
    for repo, private in places:
        if not old_tips(repo):
            continue
        refs = memory_refs(repo, private=private)
        mains = [oid for ref, oid in refs.own.items() if refs.is_main(ref)]
        newest = max((epoch_of(repo, oid) for oid in mains), default=Epoch())
        # What other remotes have of an older epoch would keep it alive here; they are fetched again.
        stale = {ref: oid for ref, oid in refs.tracking.items() if epoch_of(repo, oid) < newest}
        if stale and not private:
            note_old(repo, stale.values())
            move_together(
                workspace.git, repo.git_dir, {ref: (oid, None) for ref, oid in stale.items()}, MESSAGE
            )
        old = frozenset(old_tips(repo))
        clear_logs(workspace.git, repo.git_dir, refs.all, old)
        count += erase_old(repo, workspace.git, states).count
    return count
