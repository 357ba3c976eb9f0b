"""The end of a dream: its branch goes, and what was not taken is remembered and does not come back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitmem.core.account import path_of, references
from gitmem.core.daily_log import is_log
from gitmem.core.names import TURNED_DOWN, homes
from gitmem.core.trailers import Provenance
from gitmem.dream.branch import Dream, DreamCommit, fork_point, read_dream, reviewed
from gitmem.dream.refs import prefix
from gitmem.rules.account import where_they_stand
from gitmem.store.burying import Spade, spade
from gitmem.store.commits import Tip, Write, commit
from gitmem.store.landing import Landing, asked, note_asked
from gitmem.store.remote import DREAMS
from gitmem.store.repository import RefMoved, Repository, Signature
from gitmem.store.trees import read_paths
from gitmem.store.workspace import SHARED_REF, Scope, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class ClosedDream:
    """A dream that was decided elsewhere.

    Attributes:
        left_out: changes that the reviewer did not take.
    """

    id: str
    taken: tuple[DreamCommit, ...]
    left_out: tuple[DreamCommit, ...]


def buried(
    repo: Repository, tree: str, changes: Iterable[DreamCommit], with_what: Spade
) -> dict[str, bytes | None]:
    """The tombstone files of a tree with what keeps these changes from being proposed again."""
    keys: dict[str, dict[str, None]] = {}
    for change in changes:
        for agent in {path_of(fate.source).split("/", 1)[0] for fate in change.fates}:
            keys.setdefault(agent, {}).update(dict.fromkeys(change.keys))
    return with_what.edits(repo, tree, keys, "rejected")


def close(dream: Dream) -> bool:
    """Removes a dream's branch here, and sees to it that a sync removes it at the host.

    Returns:
        Whether it is gone.
    """
    repo = dream.scope.repo
    if dream.remote and dream.scope.ref == SHARED_REF:
        known = {one.branch for one in asked(repo)}
        branch = DREAMS + dream.id
        if branch not in known:
            note_asked(repo, branch, dream.tip, dream.base)
    if dream.incoming:
        return True
    here = repo.ref(dream.ref)
    # Its newest commit may be the host's, of which the branch here is an ancestor.
    if here is None or not repo.is_ancestor(here, dream.tip):
        # Someone decided, or went on with the branch, at the same moment; what they did stays.
        return here is None
    try:
        repo.move_ref(dream.ref, None, here, "gitmem dream: decided")
    except RefMoved:
        return repo.ref(dream.ref) is None
    return True


def close_landed(
    workspace: Workspace, landed: Mapping[str, Landing], author: Signature, now: float
) -> tuple[ClosedDream, ...]:
    """Closes the project's dreams that were decided at a host or by a teammate.

    Args:
        landed: full name of a branch at the remote to how it landed, as a sync found out.
        author: the person, who is named where something is remembered as not taken.
        now: seconds since the epoch.
    """
    scope = workspace.scope("project")
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None or scope.ref != SHARED_REF:
        return ()
    found = []
    # A sync may have removed the branch here already.
    asked_for = {ref: one.tips[-1] for ref, one in landed.items() if ref.startswith(DREAMS)}
    for ref, oid in sorted((asked_for | repo.refs(prefix(scope))).items()):
        dream = _decided(scope, ref, oid, tip, landed.get(ref))
        if dream is None:
            continue
        left = tuple(change for change in dream.open if _stands(repo, tip, change))
        if left:
            _remember(workspace, dream, left, replace(author, time=int(now)))
        close(dream)
        taken = tuple(one for one in dream.changes if one.decided != "rejected" and one not in left)
        found.append(ClosedDream(dream.id, taken, left))
    return tuple(found)


def _decided(scope: Scope, ref: str, oid: str, tip: str, landing: Landing | None) -> Dream | None:
    """The dream as it was asked for, where all of it was decided; its open changes were left out."""
    repo = scope.repo
    base = landing.ground if landing else fork_point(repo, tip, oid)
    if base is None:
        return None
    dream = read_dream(scope, ref, oid, base, tip)
    if landing or base == oid or (dream.changes and not dream.open):
        return dream
    return None


def _stands(repo: Repository, tip: str, change: DreamCommit) -> bool:
    """Whether a claim that a change was about is as it was: what a reviewer worded otherwise was taken."""
    fates = [fate for fate in change.fates if fate.kind != "kept"]
    places = {home for fate in fates for home in homes(path_of(fate.source))}
    files = read_paths(repo, repo.commit(tip).tree, places)
    known = references(files)
    told = where_they_stand(fates, files, {})
    return any(fate.source in known for fate in told) or _unmade(repo, tip, change)


def _unmade(repo: Repository, tip: str, change: DreamCommit) -> bool:
    """Whether nothing came of a change that makes memories of lines of logs: all is as it was before."""
    made = {path_of(fate.target) for fate in change.fates if is_log(path_of(fate.source))}
    pairs = {path: change.files[path] for path in made if path in change.files}
    places = {home for path in pairs for home in homes(path)}
    files = read_paths(repo, repo.commit(tip).tree, places) if places else {}
    now = {path: next((files[home] for home in homes(path) if home in files), None) for path in pairs}
    return bool(pairs) and all(now[path] == old for path, (old, _) in pairs.items())


def _remember(workspace: Workspace, dream: Dream, left: tuple[DreamCommit, ...], author: Signature) -> None:
    repo, scope = dream.scope.repo, dream.scope
    if repo.ref(TURNED_DOWN + dream.id) is None:
        repo.move_ref(TURNED_DOWN + dream.id, dream.tip, None, "gitmem dream: keep what was not taken")
    with_what = spade(workspace, scope, author.time)

    def plan(tip: Tip) -> Write:
        numbers = tuple(change.n for change in left)
        provenance = Provenance(op="update", writer="human", reviewed=reviewed(dream.id, numbers))
        edits = buried(repo, tip.tree, left, with_what)
        return Write(edits, f"Note what a reviewer left out of dream {dream.id}", provenance)

    commit(repo, scope.ref, plan, author)
