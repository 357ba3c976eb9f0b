"""`backup`: the private repository and a remote that the person names, brought together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gitmem.core.errors import RepositoryError
from gitmem.core.merge import kind
from gitmem.rules.rule import Finding
from gitmem.share.arrival import Arrival, check_arrival, take_in
from gitmem.share.backup_place import (
    HINT,
    LOCAL_REFS,
    MERGED,
    MESSAGE,
    USER_REF,
    agreed_refs,
    backup_remote,
    is_private,
    listed_memory,
    note_agreed,
    private_refs,
    refuse_code,
)
from gitmem.share.carrying import Carried
from gitmem.share.leaving import doubts_to_leave, refuse_secrets, secrets_to_leave
from gitmem.store.address import without_credentials
from gitmem.store.commits import root_commit
from gitmem.store.epochs import epoch_of
from gitmem.store.locks import writer_lock
from gitmem.store.old_epochs import note_old
from gitmem.store.remote import Move, Remote
from gitmem.store.repository import MissingObject, RefMoved, Repository
from gitmem.store.trees import changed_files, list_files
from gitmem.store.workspace import Workspace

TRIES = 16
"""Lost races after which a backup gives up."""

What = Literal["send", "take", "join", "delete there", "delete here", "leave apart"]


@dataclass(frozen=True)
class Step:
    """What is to be done about one ref.

    Attributes:
        ref: full name, the same on both sides.
        what: `join` where both have it and differ; `leave apart` where two copies cannot be joined.
        memories: how many there are here.
    """

    ref: str
    what: What
    memories: int = 0


@dataclass(frozen=True)
class BackupPlan:
    """What a backup would do.

    Attributes:
        place: the URL without credentials.
        projects: how many projects local memory is here of.
    """

    place: str
    projects: int
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Backed:
    """What a backup did.

    Attributes:
        steps: what was done, a ref each; `join` where both sides had changed it.
        fetched, sent: memories that came, and that went.
        merged: memories that both sides had changed.
        before: ref to the commit it was at, for refs that something came to.
        lost: races lost on the way.
        refused: ref to the remote's reason, for deletions that it did not allow.
        arrived: secrets that came: rotate them.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        carried: what was brought over a purge.
        doubts: what may be a secret in what was sent, and is stored all the same.
    """

    place: str
    steps: tuple[Step, ...] = ()
    fetched: int = 0
    sent: int = 0
    merged: int = 0
    before: Mapping[str, str] = field(default_factory=dict)
    lost: int = 0
    refused: Mapping[str, str] = field(default_factory=dict)
    arrived: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = ()
    carried: tuple[Carried, ...] = ()
    doubts: tuple[Finding, ...] = ()


def plan_backup(workspace: Workspace, url: str) -> BackupPlan:
    """Finds what a backup would do, from the names of the refs on both sides; nothing is fetched or sent.

    Args:
        url: from `checked_address`.

    Raises:
        RepositoryError: it cannot be reached, or holds something else.
        UsageError: it is a place where private memory must not go.
    """
    refuse_code(workspace, url)
    there = listed_memory(backup_remote(workspace, url))
    here = private_refs(workspace.private)
    agreed = agreed_refs(workspace, url) if there else {}
    steps = []
    for ref in sorted({*here, *there}):
        ours, theirs = here.get(ref), there.get(ref)
        what = _what(ours, theirs, agreed.get(ref))
        if what == "join" and ours and theirs and _is_behind(workspace.private, theirs, ours):
            what = "send"
        if what is not None:
            steps.append(Step(ref, what, _memories(workspace.private, ours)))
    projects = sum(ref.startswith(LOCAL_REFS) for ref in here)
    return BackupPlan(without_credentials(url), projects, tuple(steps))


def back_up(
    workspace: Workspace,
    url: str,
    allow: frozenset[str],
    pause: Callable[[int], None],
    *,
    send: bool = True,
) -> Backed:
    """Brings the private repository and a backup together; nothing is ever forced.

    Args:
        allow: fingerprints of accepted secrets.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        send: whether to send, besides taking in.

    Raises:
        CheckFailed: something may not leave.
        RepositoryError: the remote cannot be used, refuses, or holds what may not become memory.
        UsageError: it is a place where private memory must not go.
    """
    refuse_code(workspace, url)
    with writer_lock(workspace.private_state, "backup", timeout=120.0):
        remote = backup_remote(workspace, url)
        listed_memory(remote)
        return _Backup(workspace, remote, url, allow, send).run(pause)


class _Backup:
    """One run: collects what `back_up` returns."""

    def __init__(
        self, workspace: Workspace, remote: Remote, url: str, allow: frozenset[str], send: bool
    ) -> None:
        self.workspace, self.remote, self.url = workspace, remote, url
        self.repo: Repository = workspace.private
        self.allow, self.send = allow, send
        self.root = root_commit(self.repo)
        self.steps: dict[str, Step] = {}
        self.arrivals: list[Arrival] = []
        self.carried: list[Carried] = []
        self.before: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.doubts: dict[Finding, None] = {}
        self.sent = 0

    def run(self, pause: Callable[[int], None]) -> Backed:
        lost = 0
        while not self._round():
            lost += 1
            if lost >= TRIES:
                raise RepositoryError(
                    f"{without_credentials(self.url)} kept moving under {TRIES} pushes", "Run it again."
                )
            pause(lost)
        self._agree()
        return Backed(
            without_credentials(self.url),
            tuple(self.steps[ref] for ref in sorted(self.steps)),
            fetched=sum(_count(one.changed) for one in self.arrivals),
            sent=self.sent,
            merged=sum(_count(one.both) for one in self.arrivals),
            before=self.before,
            lost=lost,
            refused=self.refused,
            arrived=tuple(refusal for one in self.arrivals for refusal in one.arrived),
            buried=tuple(buried for one in self.arrivals for buried in one.buried),
            split=tuple(path for one in self.arrivals for path in one.split),
            carried=tuple(self.carried),
            doubts=tuple(self.doubts),
        )

    def _round(self) -> bool:
        """Fetches, takes in and pushes; False where somebody was quicker with one of the refs."""
        self.remote.fetch()
        there = {ref: oid for ref, oid in self.remote.fetched(self.repo).items() if is_private(ref)}
        here = private_refs(self.repo)
        agreed = agreed_refs(self.workspace, self.url) if there else {}
        moves, calm = [], True
        for ref in sorted({*here, *there}, key=_rank):
            try:
                move = self._bring(ref, here.get(ref), there.get(ref), agreed.get(ref))
            except RefMoved:
                calm = False
            else:
                moves += [move] if move else []
        if not moves or not self.send:
            return calm
        oids = [move.oid for move in moves if move.oid]
        if oids:
            refuse_secrets(secrets_to_leave(self.repo, self.remote, oids, self.allow))
        return self._push(moves, there) and calm

    def _bring(self, ref: str, ours: str | None, theirs: str | None, agreed: str | None) -> Move | None:
        """Brings one ref up to date here; returns what is to be pushed of it."""
        what = _what(ours, theirs, agreed)
        if what in ("take", "join") and theirs and not self.repo.is_ancestor(self.root, theirs):
            # Someone else's branch may have the same name.
            raise RepositoryError(f"{ref} of {without_credentials(self.url)} is no memory", HINT)
        if what == "delete here":
            self.repo.move_ref(ref, None, ours, MESSAGE)
        elif what == "delete there":
            return Move(ref, None, theirs)
        elif what == "send":
            return Move(ref, ours)
        elif theirs is None or what is None:
            return None
        elif ref.startswith(MERGED):
            taken = take_in(self.repo, ref, theirs, MESSAGE, self.allow)
            self.carried += [taken.carried] if taken.carried else []
            if taken.changed:
                self.arrivals.append(taken)
                self.before.setdefault(ref, taken.before)
            if taken.commit == theirs or taken.changed:
                self._did(ref, "take" if taken.commit == theirs else "join")
            if taken.commit == theirs:
                return None
            return Move(ref, taken.commit, self._replaced(theirs, taken.commit))
        elif ours is not None and self.repo.is_ancestor(theirs, ours):
            return Move(ref, ours)
        elif ours is not None and not self.repo.is_ancestor(ours, theirs):
            if replaced := self._replaced(theirs, ours):
                return Move(ref, ours, replaced)
            if not self._replaced(ours, theirs):
                self._did(ref, "leave apart")
                return None
            note_old(self.repo, [ours])
            self.repo.move_ref(ref, theirs, ours, MESSAGE)
            what = "take"
        else:
            check_arrival(self.repo, theirs, ref)
            self.repo.move_ref(ref, theirs, ours, MESSAGE)
            what = "take"
        self._did(ref, what)
        return None

    def _replaced(self, old: str, new: str) -> str | None:
        """The old commit where the new one is to stand in its place, after a purge; else None."""
        lower = epoch_of(self.repo, old) < epoch_of(self.repo, new)
        return old if lower and not self.repo.is_ancestor(old, new) else None

    def _push(self, moves: list[Move], there: Mapping[str, str]) -> bool:
        done = self.remote.push_all(moves)
        refusals: dict[str, str] = {}
        for move in moves:
            pushed = done[move.branch]
            if pushed.outcome == "pushed":
                self.remote.note(self.repo, move.branch, move.oid)
                if move.oid is None:
                    self._did(move.branch, "delete there")
                    continue
                before, now = self._trees(there.get(move.branch), move.oid)
                changed = changed_files(self.repo, before, now)
                self.sent += _count(changed)
                doubts = doubts_to_leave(self.repo, before, now, changed, self.allow)
                self.doubts |= dict.fromkeys(doubts)
                known = self.steps.get(move.branch)
                self._did(move.branch, "join" if known and known.what == "join" else "send")
            elif pushed.outcome == "refused":
                (self.refused if move.oid is None else refusals)[move.branch] = pushed.words
        if refusals:
            ref, words = next(iter(refusals.items()))
            raise RepositoryError(
                f"{without_credentials(self.url)} refused {ref}: {words}", "See whether you may push there."
            )
        return all(done[move.branch].outcome != "race" for move in moves)

    def _trees(self, theirs: str | None, ours: str) -> tuple[str | None, str]:
        return self.repo.commit(theirs).tree if theirs else None, self.repo.commit(ours).tree

    def _did(self, ref: str, what: What) -> None:
        self.steps[ref] = Step(ref, what, _memories(self.repo, self.repo.ref(ref)))

    def _agree(self) -> None:
        there = self.remote.fetched(self.repo)
        same = {ref: oid for ref, oid in private_refs(self.repo).items() if there.get(ref) == oid}
        # What the host would not let go of was deleted here all the same.
        kept = {ref: oid for ref, oid in there.items() if ref in self.refused}
        note_agreed(self.workspace, self.url, same | kept)


def _what(ours: str | None, theirs: str | None, agreed: str | None) -> What | None:
    """What is to be done about a ref; None where it is the same on both sides.

    Args:
        agreed: what both sides had after the last backup; None for refs that are never deleted.
    """
    if ours == theirs:
        return None
    if ours is None:
        return "delete there" if theirs == agreed else "take"
    if theirs is None:
        return "delete here" if ours == agreed else "send"
    return "join"


def _is_behind(repo: Repository, theirs: str, ours: str) -> bool:
    """Whether what the remote has is in what is here; False for what was never fetched."""
    try:
        return repo.is_ancestor(theirs, ours)
    except MissingObject:
        return False


def _rank(ref: str) -> tuple[bool, str]:
    """The person's own memory first: a host may make the first branch pushed its default branch."""
    return (ref != USER_REF, ref)


def _memories(repo: Repository, oid: str | None) -> int:
    return _count(list_files(repo, repo.commit(oid).tree)) if oid else 0


def _count(paths: Iterable[str]) -> int:
    return sum("/" in path and kind(path) == "memory" for path in paths)
