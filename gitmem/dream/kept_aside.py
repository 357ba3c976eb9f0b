"""Dreams that a person turned down: kept aside for a while, brought back by an undo, then let go."""

from __future__ import annotations

from typing import Literal

from gitmem.core.names import TURNED_DOWN
from gitmem.core.trailers import parse
from gitmem.dream.applying import replayed
from gitmem.dream.branch import Dream, fork_point, own_commits, read_dream
from gitmem.dream.refs import prefix
from gitmem.store.commits import read_tip
from gitmem.store.landing import forget_asked
from gitmem.store.remote import DREAMS
from gitmem.store.repository import Commit, MissingObject, RefMoved, Repository
from gitmem.store.workspace import Scope, Workspace
from gitmem.values import dataclass

DAYS = 90
"""How long a dream that was turned down can still be looked at: long enough to think better of it."""

_DREAM = f"{TURNED_DOWN}d-"
_TRAILER = "Gitmem-Reviewed:"


@dataclass(frozen=True)
class Reopened:
    """What became of a dream whose decision was undone.

    Attributes:
        how: `open`: it waits again; `anew`: its commits are not to be had here, and only a new dream can
            propose the same.
    """

    id: str
    how: Literal["open", "anew"]


@dataclass(frozen=True)
class Rejected:
    """A dream that was turned down and is kept aside.

    Attributes:
        by: who turned it down; empty where that cannot be found out.
        time: when, seconds since the epoch; 0 where that cannot be found out.
        why: the reason; empty where none was given.
    """

    dream: Dream
    by: str = ""
    time: int = 0
    why: str = ""


def rejected_dreams(workspace: Workspace, id: str) -> tuple[Rejected, ...]:
    """The dreams that were turned down and whose id begins so, of all scopes."""
    found = []
    for scope in workspace.scopes:
        repo, tip = scope.repo, scope.repo.ref(scope.ref)
        for ref, oid in sorted(repo.refs(TURNED_DOWN).items()) if tip else ():
            base = fork_point(repo, tip, oid) if ref.startswith(TURNED_DOWN + id) and tip else None
            if base is None or tip is None or not ref.startswith(_DREAM):
                continue
            dream = read_dream(scope, ref, oid, base, tip)
            decision = _rejections(repo, tip, {dream.id}).get(dream.id)
            if decision is None:
                found.append(Rejected(dream))
                continue
            why = "\n".join(
                line for line in decision.message.split("\n")[1:] if not line.startswith("Gitmem-")
            )
            found.append(Rejected(dream, decision.author.name, decision.author.time, why.strip()))
    return tuple(found)


def let_go(scope: Scope, now: float) -> tuple[str, ...]:
    """Removes what was turned down more than 90 days ago; the decision itself stays in memory.

    Args:
        now: seconds since the epoch.

    Returns:
        Ids of the dreams that went.
    """
    repo, tip = scope.repo, scope.repo.ref(scope.ref)
    parked = {ref: oid for ref, oid in repo.refs(TURNED_DOWN).items() if ref.startswith(_DREAM)}
    if tip is None or not parked:
        return ()
    # One private repository holds several scopes.
    mine = {ref: oid for ref, oid in parked.items() if fork_point(repo, tip, oid)}
    decisions = _rejections(repo, tip, {ref.removeprefix(TURNED_DOWN) for ref in mine})
    gone = []
    for ref, oid in sorted(mine.items()):
        id = ref.removeprefix(TURNED_DOWN)
        decision = decisions.get(id)
        moves = repo.reflog(ref) if decision is None else ()
        time = decision.committer.time if decision else moves[0].who.time if moves else None
        if time is None:
            time = repo.commit(oid).committer.time
        if now - time > DAYS * 86_400:
            try:
                repo.move_ref(ref, None, oid, "gitmem dream: kept long enough")
            except RefMoved:
                continue
            gone.append(id)
    return tuple(gone)


def reopen(scope: Scope, undone: Commit) -> Reopened | None:
    """Brings a dream back whose acceptance or rejection was just undone.

    Where it had been landed whole, its commits are history by now: they are made again on the memory as
    it is, with what they said.

    Args:
        undone: the decision's commit on the memory ref.

    Returns:
        None where it was no decision on a dream.
    """
    told = parse(undone.message)
    id = told.reviewed.partition(" ")[0]
    if not id.startswith("d-"):
        return None
    repo, ref = scope.repo, prefix(scope) + id
    if repo.ref(ref) is not None:
        return Reopened(id, "open")
    tip = read_tip(repo, scope.ref)
    aside = repo.ref(TURNED_DOWN + id)
    again = None
    if told.writer == "dream" and len(undone.parents) == 2:
        again = _again(scope, ref, undone)
    elif aside is not None and fork_point(repo, tip.commit, aside) not in (None, aside):
        again = aside
    if again is None:
        return Reopened(id, "anew")
    repo.move_ref(ref, again, None, f"gitmem undo: bring {id} back")
    if aside is not None:
        repo.move_ref(TURNED_DOWN + id, None, aside, f"gitmem undo: bring {id} back")
    forget_asked(repo, DREAMS + id)
    return Reopened(id, "open")


def _again(scope: Scope, ref: str, undone: Commit) -> str | None:
    repo = scope.repo
    before, tip = undone.parents
    try:
        base = fork_point(repo, before, tip)
        if base is None or base == tip:
            return None
        dream = read_dream(scope, ref, tip, base, before)
        at = replayed(dream, dream.changes, read_tip(repo, scope.ref))
        last = own_commits(repo, tip, base)[-1]
        if dream.summary and last.oid not in {change.commit for change in dream.changes}:
            tree = repo.commit(at).tree
            at = repo.add_commit(tree, (at,), last.author, last.committer, last.message)
    except MissingObject:
        return None
    return at


def _rejections(repo: Repository, tip: str, ids: set[str]) -> dict[str, Commit]:
    """The newest rejection of each of these dreams, or of changes of it, as a commit of the memory ref."""
    found: dict[str, Commit] = {}
    if not ids:
        return found
    for commit in repo.history(tip):
        if _TRAILER in commit.message:
            told = parse(commit.message)
            id = told.reviewed.partition(" ")[0]
            if id in ids and told.writer != "dream":
                found.setdefault(id, commit)
                if len(found) == len(ids):
                    break
    return found
