"""`backup`: the private repository and a remote that the person names, brought together.

Where it is stands in the person's own configuration, and nothing but private memory is in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError, UsageError
from gitmem.core.names import kind
from gitmem.core.purge import Purge
from gitmem.git.config import config_set, config_unset
from gitmem.git.locks import writer_lock
from gitmem.git.refs import move_ref, move_refs, try_move_ref
from gitmem.git.remote import Move, Remote, checked_address, same_place, without_credentials
from gitmem.git.repository import RefMoved, Repository, short_name
from gitmem.git.trees import changed_files, list_files
from gitmem.ledger.arrival import Arrival, check_arrival, exchange, take_in
from gitmem.ledger.consent import Peer
from gitmem.ledger.epochs import epoch_of
from gitmem.ledger.erase import note_old
from gitmem.ledger.files import write_atomically
from gitmem.ledger.land import root_commit
from gitmem.ledger.memory_refs import MemoryRefs, memory_refs
from gitmem.ledger.projects import PROJECTS_REF
from gitmem.ledger.proposals import about
from gitmem.ledger.push_plan import doubts_to_leave, refuse_secrets
from gitmem.ledger.replay import Carried, purge_accepted
from gitmem.ledger.rewrite import rewrite
from gitmem.ledger.sealed_backup import (
    BRANCH,
    SETTING,
    SealedRemote,
    encrypt_to,
    forget_key,
    knows_key,
    recipients_of,
)
from gitmem.ledger.workspace import DECIDED, TURNED_DOWN, WAITING, Workspace
from gitmem.rules.rule import Finding

TRIES = 16
"""Lost races after which a backup gives up."""

What = Literal["send", "take", "join", "delete there", "delete here", "leave apart"]

KEY = "gitmem.backup"
NAME = "backup"

USER_REF, LOCAL_REFS = "refs/heads/user", "refs/heads/local/"
MERGED = (USER_REF, PROJECTS_REF, LOCAL_REFS)
"""Refs that machines merge, and that are never deleted on either side."""

COPIED = ("refs/heads/dream/", TURNED_DOWN, WAITING, DECIDED)
"""Beginnings of refs that are copied, and deleted, as they are. Notes of sessions stay on their machine.

What was decided goes along: an undo on another machine brings it back, and a purge reaches it everywhere.
"""

FAMILIES = ("refs/heads/", TURNED_DOWN, WAITING, DECIDED)

REACH_SECONDS = 60.0
"""How long a backup's host may take to list its refs."""

_PROBE = "gitmem-backup-to-be"
"""Name under which git is asked, in no file, where it would fetch from and push to."""

MESSAGE = "gitmem backup"
"""What a ref's log says about it."""

HINT = "Name an empty repository of your own, which only you can read: git mem backup URL"


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
        stands_in_project: whether the memory of this project, which may be shared, holds what was purged.
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
    stands_in_project: bool = False


def plan_backup(workspace: Workspace, url: str) -> BackupPlan:
    """Finds what a backup would do, from the names of the refs on both sides; nothing is fetched or sent.

    Args:
        url: from `checked_address`.

    Raises:
        RepositoryError: it cannot be reached, or holds something else.
        UsageError: it is a place where private memory must not go.
    """
    refuse_code(workspace, url)
    remote = backup_remote(workspace, url)
    if isinstance(remote, SealedRemote):
        # What it holds is only known once it is opened here.
        with writer_lock(workspace.private_state, "backup", timeout=120.0):
            there = listed_memory(remote)
    else:
        there = listed_memory(remote)
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
    now: float,
    *,
    send: bool = True,
) -> Backed:
    """Brings the private repository and a backup together; nothing is ever forced.

    Args:
        allow: fingerprints of accepted secrets.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        now: seconds since the epoch.
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
        return _Backup(workspace, remote, url, allow, now, send).run(pause)


class _Backup:
    """One run: collects what `back_up` returns."""

    def __init__(
        self,
        workspace: Workspace,
        remote: Remote,
        url: str,
        allow: frozenset[str],
        now: float,
        send: bool,
    ) -> None:
        self.workspace, self.remote, self.url = workspace, remote, url
        self.repo: Repository = workspace.private
        self.allow, self.now, self.send = allow, now, send
        self.root = root_commit(self.repo)
        self.steps: dict[str, Step] = {}
        self.arrivals: list[Arrival] = []
        self.carried: list[Carried] = []
        self.before: dict[str, str] = {}
        self.refused: dict[str, str] = {}
        self.doubts: dict[Finding, None] = {}
        self.sent = 0

    def run(self, pause: Callable[[int], None]) -> Backed:
        lost = exchange(self._round, TRIES, pause, without_credentials(self.url))
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
        agreed = agreed_refs(self.workspace, self.url) if there else {}
        try:
            # What tells of a purge comes first: nothing that may hold what it took is sent before.
            moves = self._take(there, agreed, lambda ref: ref.startswith(MERGED))
            if self._follow(there, agreed):
                return self._round()
            moves += self._take(there, agreed, lambda ref: not ref.startswith(MERGED))
        except RefMoved:
            return False
        due = isinstance(self.remote, SealedRemote) and self.remote.due
        if not self.send or not (moves or due):
            return True
        if sent := [move.oid for move in moves if move.oid]:
            refuse_secrets(self.repo, self.remote, sent, self.allow)
        return self._push(moves, there)

    def _take(
        self, there: Mapping[str, str], agreed: Mapping[str, str], which: Callable[[str], bool]
    ) -> list[Move]:
        """Brings some of the refs up to date here; returns what is to be pushed of them."""
        here = private_refs(self.repo)
        refs = sorted(filter(which, {*here, *there}), key=_rank)
        moves = [self._bring(ref, here.get(ref), there.get(ref), agreed.get(ref)) for ref in refs]
        return [move for move in moves if move]

    def _bring(self, ref: str, ours: str | None, theirs: str | None, agreed: str | None) -> Move | None:
        """Brings one ref up to date here; returns what is to be pushed of it."""
        what = _what(ours, theirs, agreed)
        twin = self.repo.ref(other_place(ref)) if what == "take" and other_place(ref) else None
        if what in ("take", "join") and theirs and not self.repo.is_ancestor(self.root, theirs):
            # Someone else's branch may have the same name.
            raise RepositoryError(f"{ref} of {without_credentials(self.url)} is no memory", HINT)
        if what == "delete here":
            move_ref(self.repo, ref, None, ours, MESSAGE)
        elif what == "take" and twin == theirs and agreed and ref.startswith(WAITING):
            # It was decided here, and purged there: it does not wait again.
            return Move(ref, None, theirs)
        elif what == "take" and twin and theirs and (replaced := self._replaced(theirs, twin)):
            note_old(self.repo, [theirs])
            move_ref(self.repo, ref, twin, None, MESSAGE)
            self._did(ref, "take")
            return Move(ref, twin, replaced)
        elif what == "delete there":
            return Move(ref, None, theirs)
        elif what == "send":
            return Move(ref, ours)
        elif theirs is None or what is None:
            return None
        elif ref.startswith(MERGED):
            peer = Peer(NAME, self.remote.tracking(ref), self.now, own=True)
            taken = take_in(self.repo, ref, theirs, MESSAGE, self.allow, peer)
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
                note_old(self.repo, [theirs])
                return Move(ref, ours, replaced)
            if not self._replaced(ours, theirs) and not ref.startswith((WAITING, DECIDED)):
                self._did(ref, "leave apart")
                return None
            # Two proposals of one id say the same: found twice, or moved here and there from an older form.
            note_old(self.repo, [ours])
            move_ref(self.repo, ref, theirs, ours, MESSAGE)
            what = "take"
        else:
            check_arrival(self.repo, theirs, ref)
            move_ref(self.repo, ref, theirs, ours, MESSAGE)
            what = "take"
        self._did(ref, what)
        return None

    def _follow(self, there: Mapping[str, str], agreed: Mapping[str, str]) -> bool:
        """Takes out of suggestions here what was purged elsewhere, whether they still wait or not.

        Returns:
            Whether any memory was rewritten, since one that was purged had been accepted into it.
        """
        pairs, here = [], private_refs(self.repo)
        for ref, ours in here.items():
            places = [oid for oid in map(there.get, (other_place(ref), ref)) if oid and other_place(ref)]
            # One that is damaged here keeps nobody from the rest.
            with suppress(MissingObject):
                pairs += [(old, ours) for old in places if self._replaced(old, ours)]
                theirs = next((oid for oid in places if self._replaced(ours, oid)), None)
                if theirs is None:
                    continue
                pairs.append((ours, theirs))
                check_arrival(self.repo, theirs, ref)
                note_old(self.repo, [ours])
                # One that was decided there is about to go.
                if ref in there or agreed.get(ref) != ours:
                    move_ref(self.repo, ref, theirs, ours, MESSAGE)
        for one in self.carried:
            scope, project = (
                ("user", "") if one.ref == USER_REF else ("local", one.ref.removeprefix(LOCAL_REFS))
            )
            _clean_proposals(self.repo, one, scope, project, MESSAGE)
        known = Purge(frozenset(text for one in self.carried for text in one.purge.texts))
        mains = {ref: oid for ref, oid in here.items() if ref.startswith(MERGED)}
        found = purge_accepted(self.repo, pairs, mains, known, MESSAGE)
        for one in found:
            _clean_proposals(self.repo, one, "", "", MESSAGE)
        self.carried += found
        return bool(found)

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


def named_backup(workspace: Workspace) -> str:
    """The address of the backup that the person named; empty where there is none.

    Raises:
        UsageError: their configuration holds something else.
    """
    url = workspace.settings.get("backup")
    return checked_address(url, workspace.around.home) if url else ""


def name_backup(workspace: Workspace, url: str) -> None:
    """Makes a URL the backup: in the person's own configuration, and as a remote for plain git."""
    git, private = workspace.git, workspace.private.git_dir
    if workspace.settings.get("backup") not in ("", url):
        _forget_tracking(workspace.private)
    config_set(git, None, KEY, url, scope="global", git_dir=private)
    git.run(["config", "--remove-section", f"remote.{NAME}"], git_dir=private, check=False)
    if not recipients_of(
        workspace
    ):  # plain git can make nothing of an encrypted one, and would send in plain
        config_set(git, None, f"remote.{NAME}.url", url, git_dir=private)
        config_set(
            git, None, f"remote.{NAME}.fetch", f"+refs/heads/*:refs/remotes/{NAME}/*", git_dir=private
        )
    workspace.settings = workspace.with_settings(backup=url).settings


def forget_backup(workspace: Workspace) -> str:
    """Forgets the backup; what it holds stays there. Returns its URL, empty where none was named."""
    url = workspace.settings.get("backup")
    config_unset(workspace.git, None, KEY, scope="global", git_dir=workspace.layout.common_dir)
    if workspace.private_path.is_dir():
        private = workspace.private.git_dir
        workspace.git.run(["config", "--remove-section", f"remote.{NAME}"], git_dir=private, check=False)
        _forget_tracking(workspace.private)
    forget_key(workspace)
    _agreed_file(workspace).unlink(missing_ok=True)
    workspace.settings = workspace.with_settings(backup="").settings
    return url


def refuse_code(workspace: Workspace, url: str) -> None:
    """Raises where a URL is the present code repository, one of its remotes, or the private repository.

    Raises:
        UsageError: it is.
    """
    git, common = workspace.git, workspace.layout.common_dir
    top = workspace.layout.worktree or common
    configured = git.run(["config", "--get-regexp", r"^remote\..*url$"], git_dir=common, check=False).text
    remotes = [row.partition(" ")[2] for row in configured.splitlines()]
    # `insteadOf` and `pushInsteadOf` may make other addresses of it.
    meant = {url}
    listed = git.run(["-c", f"remote.{_PROBE}.url={url}", "remote", "-v"], git_dir=common).text
    for row in listed.splitlines():
        name, _, rest = row.partition("\t")
        address = rest.rpartition(" (")[0]
        if name == _PROBE:
            meant.add(address)
        else:
            remotes.append(address)
    places = (
        ("this code repository", [str(common), *(str(tree.path) for tree in workspace.worktrees)]),
        ("the private repository itself", [str(workspace.private_path)]),
        ("a remote of this code repository: private memory must not go there", remotes),
    )
    for what, addresses in places:
        if any(same_place(one, other, top) for one in meant for other in addresses):
            raise UsageError(f"{without_credentials(url)} is {what}", HINT)


def backup_remote(workspace: Workspace, url: str) -> Remote:
    """The backup as the private repository sees it, encrypted or not."""
    private = workspace.private.git_dir
    if recipients := recipients_of(workspace):
        return sealed_remote(workspace, url, recipients)
    if knows_key(workspace):  # a setting that somebody deleted makes nothing readable
        raise CheckFailed(
            f"The backup of this machine is encrypted, and gitmem.{SETTING} is gone; nothing was sent",
            "Go on: git mem backup --encrypt-to RECIPIENT. To have it in plain: git mem backup --off first",
        )
    return Remote(workspace.git, private, private, NAME, url, FAMILIES)


def sealed_remote(workspace: Workspace, url: str, recipients: tuple[str, ...]) -> SealedRemote:
    """An encrypted backup as the private repository sees it."""
    private, state = workspace.private.git_dir, workspace.private_state
    return SealedRemote(
        workspace.git,
        private,
        private,
        NAME,
        url,
        FAMILIES,
        state=state,
        recipients=recipients,
    )


def unlock(workspace: Workspace, url: str, identity: Path) -> None:
    """Opens an encrypted backup with the person's identity: from then on this machine reads and sends it.

    Raises:
        CheckFailed: there is none, or the identity does not open it.
        UsageError: the file holds no identity.
    """
    refuse_code(workspace, url)
    with writer_lock(workspace.private_state, "backup", timeout=120.0):
        encrypt_to(workspace, sealed_remote(workspace, url, ()).unlock(identity))


def listed_memory(remote: Remote) -> dict[str, str]:
    """The private memory that the remote has.

    Raises:
        RepositoryError: it cannot be reached, or has branches that are no private memory.
    """
    listed = remote.listed(timeout=REACH_SECONDS)
    foreign = [ref for ref in listed if ref.startswith("refs/heads/") and not is_private(ref)]
    if foreign:
        names = ", ".join(short_name(ref) for ref in sorted(foreign)[:3])
        sealed = foreign == [BRANCH]
        raise CheckFailed(
            f"{without_credentials(remote.address)} holds branches that are no private memory: {names}",
            f"{HINT}. If it is an encrypted backup: git mem backup URL --identity FILE" if sealed else HINT,
        )
    return {ref: oid for ref, oid in listed.items() if is_private(ref)}


def is_private(ref: str) -> bool:
    """Whether a ref is one that a backup holds."""
    return ref in MERGED or ref.startswith(tuple(one for one in (*MERGED, *COPIED) if one.endswith("/")))


def private_refs(repo: Repository) -> dict[str, str]:
    """The refs that a backup is to hold: full name to object name."""
    found = {ref: oid for prefix in FAMILIES for ref, oid in repo.refs(prefix).items()}
    return {ref: oid for ref, oid in found.items() if is_private(ref)}


def _agreed_file(workspace: Workspace) -> Path:
    return workspace.private_state / "backup.json"


def agreed_refs(workspace: Workspace, url: str) -> dict[str, str]:
    """What both sides had after the last backup to this URL; empty where that is not known."""
    try:
        data = json.loads(_agreed_file(workspace).read_bytes())
        if data["version"] != 1 or data["url"] != _digest(url):
            return {}
        return {str(ref): str(oid) for ref, oid in data["refs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def note_agreed(workspace: Workspace, url: str, refs: Mapping[str, str]) -> None:
    """Notes what both sides have now; of the refs that are copied only: the others are never deleted."""
    copied = {ref: oid for ref, oid in sorted(refs.items()) if ref.startswith(COPIED)}
    data = {"version": 1, "url": _digest(url), "refs": copied}
    write_atomically(_agreed_file(workspace), (json.dumps(data, indent=1) + "\n").encode())


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode("utf-8", "surrogateescape")).hexdigest()


def _forget_tracking(repo: Repository) -> None:
    for ref, oid in repo.refs(f"refs/remotes/{NAME}/").items():
        try_move_ref(repo, ref, None, oid, MESSAGE)


def _clean_proposals(repo: Repository, carried: Carried, scope: str, project: str, message: str) -> None:
    """Takes what was purged elsewhere out of the suggestions here, waiting or decided.

    A text goes from all of them; one about a memory that went as a whole goes with it.

    Args:
        scope, project: what was carried over; `project` is empty for the memory of all projects.
        message: for the reflog.
    """
    gone = about(repo, scope, carried.purge.memories, project) if carried.purge.memories else {}
    moves: dict[str, tuple[str | None, str | None]] = {ref: (oid, None) for ref, oid in gone.items()}
    texts = Purge(carried.purge.texts)
    if texts:
        found = memory_refs(repo, private=True).own
        kept = {
            ref: oid for ref, oid in found.items() if ref.startswith((WAITING, DECIDED)) and ref not in gone
        }
        # The same mark on every machine that follows.
        mark = epoch_of(repo, carried.commit).mark
        made = rewrite(repo, MemoryRefs(True, kept, {}), texts, mark).tips
        moves |= {ref: (kept[ref], new) for ref, new in made.items()}
    note_old(repo, [old for old, _ in moves.values() if old])
    move_refs(repo, moves, message)


def other_place(ref: str) -> str:
    """Where the same suggestion is once it is decided, or where it waited; empty for other refs."""
    for here, there in ((WAITING, DECIDED), (DECIDED, WAITING)):
        if ref.startswith(here):
            return there + ref.removeprefix(here)
    return ""
