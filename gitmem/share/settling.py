"""What a clone does once its memory was carried over a purge that was made elsewhere."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from gitmem.core.purge import Purge
from gitmem.share.carrying import Carried
from gitmem.share.purge_plan import lives, scrub_states
from gitmem.store.counterparts import match
from gitmem.store.epochs import Epoch, epoch_of
from gitmem.store.memory_refs import clear_logs, memory_refs, move_together
from gitmem.store.old_epochs import erase_old, left_behind, note_clean, note_old, old_tips
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.rewriting_objects import RawObjects, objects_with
from gitmem.store.scrubbing import scrub_live, scrub_records
from gitmem.store.workspace import PRIVATE_REF, SHARED_REF, Workspace

MESSAGE = "gitmem sync: over a purge"


@dataclass(frozen=True)
class Crossing:
    """A memory ref that went from one epoch to another.

    Attributes:
        purge: what was taken out by that.
        commits: old commit to the one in its place.
    """

    ref: str
    purge: Purge
    commits: Mapping[str, str]


def is_unsettled(workspace: Workspace) -> bool:
    """Whether a ref went over a purge, and live directories and state may still hold what was purged."""
    return any(left_behind(repo) for repo, _ in _repositories(workspace))


def settle_carried(workspace: Workspace, carried: Iterable[Carried], *, private: bool) -> None:
    """Takes what was purged out of live directories, records, state and search indexes.

    Besides what was carried over just now this takes up what an earlier process did not come to: one that
    was killed, or failed at the remote, after its ref had moved.

    Args:
        private: whether what was carried is in the private repository.
    """
    fresh = [Crossing(one.ref, one.purge, one.commits) for one in carried]
    for repo, is_private in _repositories(workspace):
        own = fresh if private == is_private else []
        found = own + _crossings(repo, {one.ref for one in own})
        if found:
            _settle(workspace, repo, found, private=is_private)
        note_clean(repo)


def stands_in_private(workspace: Workspace, carried: Iterable[Carried]) -> bool:
    """Whether the private repository holds a text that was purged from shared memory: it is left alone."""
    purge = Purge(frozenset(text for one in carried for text in one.purge.texts))
    if not purge or not workspace.has_private:
        return False
    private = workspace.private
    return bool(objects_with(workspace.git, private.git_dir, private.hex_length, purge.holds).found)


def _settle(workspace: Workspace, repo: Repository, found: Iterable[Crossing], *, private: bool) -> None:
    texts = Purge()
    commits: dict[str, str] = {}
    for one in found:
        texts |= Purge(one.purge.texts)
        commits |= one.commits
    seen = [live for live in lives(workspace) if (live.scope.name != "project") == private]
    for live in seen:
        purge = texts
        for one in found:
            # Another scope, or project, may have a memory of the same name.
            purge |= one.purge if _is_of(one.ref, live.scope.ref) else texts
        scrub_live(live, purge, commits, repo)
    state = workspace.private_state if private else workspace.state
    scrub_records(state, [live.key for live in seen], texts, commits, repo)
    scrub_states(workspace, texts)


def _crossings(repo: Repository, known: Collection[str]) -> list[Crossing]:
    """What lies between where refs were and where they are: found by comparing the two histories."""
    found = []
    for ref, old in left_behind(repo):
        if ref in known:
            continue
        with suppress(MissingObject):
            now = next((oid for name in _names(ref) if (oid := repo.ref(name))), None)
            if now is None or epoch_of(repo, now) == epoch_of(repo, old):
                continue
            store = RawObjects.of(repo, repo.git)
            try:
                laid = match(store, old, now)
            finally:
                store.close()
            found.append(Crossing(ref, laid.there, laid.pairs))
    return found


def _names(ref: str) -> tuple[str, ...]:
    """A ref, and what it is called after sharing was turned on or off."""
    both = (SHARED_REF, PRIVATE_REF)
    return (ref, *both) if ref in both else (ref,)


def _is_of(one: str, other: str) -> bool:
    return other in _names(one)


def erase_left_over(workspace: Workspace) -> int:
    """Erases what is left of old epochs, after whatever kept it alive is gone; returns how many objects.

    Raises:
        RepositoryError: it cannot be told what is still used.
    """
    states = (workspace.state, workspace.private_state)
    count = 0
    for repo, private in _repositories(workspace):
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


def _repositories(workspace: Workspace) -> list[tuple[Repository, bool]]:
    private = [(workspace.private, True)] if workspace.has_private else []
    return [(workspace.code, False), *private]
