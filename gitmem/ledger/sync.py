"""`sync`: fetch, merge, push; a lost race is run again, a refusal is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import field, replace

from gitmem.core import index
from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.names import is_agent_folder, kind
from gitmem.core.text import decode, encode
from gitmem.core.trailers import Provenance
from gitmem.git.locks import Locked, writer_lock
from gitmem.git.remote import IN_THE_WAY, Pushed, Remote
from gitmem.git.repository import TREE, RefMoved, Repository, short_name
from gitmem.git.trees import changed_files, read_file
from gitmem.ledger.acceptance import publish
from gitmem.ledger.arrival import check_arrival, exchange, take_in
from gitmem.ledger.consent import Peer
from gitmem.ledger.departure import depart, prepare
from gitmem.ledger.epochs import OtherEpoch, epoch_of, epochs_differ
from gitmem.ledger.foreign_commits import tidy_ref
from gitmem.ledger.inbox import ACCEPTED, writer_branch
from gitmem.ledger.indexes import hot
from gitmem.ledger.land import Ref, Tip, Write, land, read_tip, root_commit
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.push_plan import Leaving, doubts_to_leave, refuse_secrets
from gitmem.ledger.remotes import find_remote, holds_memory_alone
from gitmem.ledger.replay import Carried, carry_over
from gitmem.ledger.share import agree, leaving_first, move_memory, set_mode
from gitmem.ledger.side_branches import (
    Landing,
    Tended,
    adds_nothing,
    close,
    closed_at_host,
    note_asked,
    says_more,
    settle,
    tend,
    with_base,
)
from gitmem.ledger.workspace import BRANCHES, INBOX, PRIVATE_REF, SHARED_REF, Workspace
from gitmem.rules.rule import Finding
from gitmem.values import dataclass

TRIES = 8
"""Lost races after which a push goes to the writer's own branch."""


def sync(workspace: Workspace, options: Options) -> Synced:
    """Brings the project scope and a remote's memory branch together.

    Raises:
        CheckFailed: sharing is off, or something may not leave.
        RepositoryError: the remote cannot be used, refuses, or holds what may not become memory.
    """
    if workspace.sharing == "off":
        raise CheckFailed("Sharing is off here: nothing leaves this machine", "Turn it on: git mem share")
    remote = find_remote(workspace, options.remote)
    with writer_lock(workspace.state, "sync", timeout=120.0):
        return _Sync(workspace, remote, options).run()


def take_fetched(workspace: Workspace, options: Options) -> Synced | None:
    """Merges what git has fetched of the memory branch already; the network is never used.

    For hooks: `git pull` brings the branch along. A partial clone is left to `sync`, since git would fetch
    what a merge has to read.

    Returns:
        What was merged; None where nothing is shared, was fetched, or another sync is at it.

    Raises:
        RepositoryError: what was fetched may not become memory.
    """
    if workspace.sharing == "off":
        return None
    remote = find_remote(workspace)
    if workspace.settings.config.get(f"remote.{remote.name}.promisor"):
        return None
    if workspace.code.ref(remote.tracking(SHARED_REF)) is None:
        return None
    with suppress(Locked), writer_lock(workspace.state, "sync", blocking=False):
        return _Sync(workspace, remote, options).take()
    return None


class _Sync:
    """One run: collects what `sync` returns.

    Attributes:
        published: the memory branch there, as last known before it was fetched.
    """

    def __init__(self, workspace: Workspace, remote: Remote, options: Options) -> None:
        self.workspace = workspace
        self.repo: Repository = workspace.code
        self.remote = remote
        self.options = options
        self.done = Synced(remote.name)
        self.mode = workspace.sharing
        self.published: str | None = None

    def run(self) -> Synced:
        known = self.remote.fetched(self.repo)
        self.published = known.get(SHARED_REF)
        if not self.options.dry_run:
            self._fold()
        exchange(self._round, 2 * TRIES, self.options.pause, self.remote.name)
        if self.options.push:
            self._tend(known)
        self.options.tell("")
        return self.done

    def take(self) -> Synced:
        """Merges what the last fetch brought."""
        self._fold()
        self._merge(None)
        return self.done

    def _round(self) -> bool:
        """Fetches, merges and pushes; False where a race was lost."""
        options, name = self.options, self.remote.name
        options.tell(f"fetching memory from {name}")
        self.remote.fetch()
        if options.push and not options.dry_run and self.repo.ref(ACCEPTED):
            self._send_accepted()
        options.tell("merging")
        here = self._merge(self.published) if options.pull else read_tip(self.repo, SHARED_REF).commit
        if not options.push or here == self._theirs():
            return True
        prepared = prepare(self.repo, self.remote, here)
        self.done = replace(self.done, personal=prepared.held)
        ours, target = prepared.tip, self._target()
        if target != SHARED_REF:
            self._refuse_to_ask(ours)
        is_there = self._is_there(ours, target)
        if not is_there and not self._may_leave(ours, target):
            return True
        if options.dry_run:
            self.done = replace(self.done, branch="" if is_there else target)
            return True
        try:
            depart(self.repo, SHARED_REF, here, prepared)
        except RefMoved:
            # Somebody here was quicker: nothing was sent yet.
            return self._round()
        if is_there:
            return True
        options.tell(f"sending memory to {name}")
        if self._push(ours, target):
            return True
        self.published = self._theirs()
        if not options.pull:
            raise CheckFailed(f"{name} has memory that is not here", "Run: git mem sync")
        self.done = replace(self.done, lost=self.done.lost + 1)
        return False

    def _fold(self) -> None:
        """Takes what a writer left that began while sharing was still off."""
        move_memory(self.repo, PRIVATE_REF, SHARED_REF)

    def _send_accepted(self) -> None:
        """Pushes what a person accepted while the remote was out of reach."""
        before = self._theirs()
        pushed = publish(self.workspace, self.remote, self.options.allow, self.options.now)
        if pushed is not None and pushed.outcome == "refused":
            self.done = replace(self.done, left_to_host=pushed.words)
        elif pushed is not None:
            one, other = (self.repo.commit(oid).tree if oid else None for oid in (before, self._theirs()))
            self.done = replace(self.done, sent=_count(changed_files(self.repo, one, other)))

    def _target(self) -> str:
        if self.mode == "review" or self.done.lost >= TRIES:
            return writer_branch(self.workspace)
        return SHARED_REF

    def _theirs(self, branch: str = SHARED_REF) -> str | None:
        return self.repo.ref(self.remote.tracking(branch))

    def _merge(self, published: str | None) -> str:
        """Merges what was fetched into the branch; returns where that stands."""
        theirs = self._theirs()
        if theirs is None:
            return read_tip(self.repo, SHARED_REF).commit
        message = f"gitmem sync: {self.remote.name}"
        options, done = self.options, self.done
        peer = Peer(self.remote.name, self.remote.tracking(SHARED_REF), options.now)
        # Where others decide what the branch holds, theirs counts if it is as clean as ours.
        follow = self.mode == "review"
        if not options.dry_run and self._is_other_epoch(theirs):
            # Over a purge first: whatever follows compares commits of one epoch.
            over = take_in(self.repo, SHARED_REF, theirs, message, options.allow, peer, follow=follow)
            if over.carried:
                done = self.done = replace(done, carried=(*done.carried, over.carried))
        onto, landed = settle(self.repo, self.remote, theirs)
        taken = take_in(
            self.repo,
            SHARED_REF,
            onto,
            message,
            options.allow,
            peer,
            dry_run=options.dry_run,
            follow=follow,
        )
        if options.push and not options.dry_run:
            close(self.repo, self.remote, landed)
        self.done = replace(
            done,
            fetched=done.fetched + _count(taken.changed),
            merged=done.merged + _count(taken.both),
            arrived=done.arrived + taken.arrived,
            buried=done.buried + taken.buried,
            split=done.split + taken.split,
            aside={**done.aside, **taken.aside},
            before=done.before or (taken.before if taken.before != taken.commit else ""),
            landed=done.landed + landed,
        )
        if options.dry_run or taken.before == taken.commit:
            return taken.commit
        kept = _keep_index(self.repo, SHARED_REF, taken.before, published) or taken.commit
        tidied = tidy_ref(self.repo, SHARED_REF, self.workspace.state)
        return tidied.commit if tidied else kept

    def _is_other_epoch(self, theirs: str, ours: str = "") -> bool:
        repo, ours = self.repo, ours or read_tip(self.repo, SHARED_REF).commit
        related = repo.is_ancestor(theirs, ours) or repo.is_ancestor(ours, theirs)
        return epochs_differ(repo, theirs, ours) and not related

    def _refuse_to_ask(self, ours: str) -> None:
        """Raises where the memory branch there cannot be asked to take this: it holds what was purged."""
        theirs = self._theirs()
        if theirs is not None and self._is_other_epoch(theirs, ours):
            name = self.remote.name
            raise OtherEpoch(
                f"{name}/gitmem/project still holds what was purged here, so nothing was sent",
                "A request cannot take it out. Whoever may push to that branch gives the same purge; "
                "if that is you: git mem share --mode direct, then git mem sync.",
            )

    def _send(self, oid: str, branch: str) -> Pushed:
        """Pushes; what is of an older epoch there is replaced, if it still is where it was fetched."""
        there, replaced = self._theirs(branch), None
        if there is not None and not self.repo.is_ancestor(there, oid):
            known, now = epoch_of(self.repo, there), epoch_of(self.repo, oid)
            # An inbox was carried over to wherever the memory branch is.
            replaced = there if known < now or (branch != SHARED_REF and known != now) else None
        return self.remote.push(oid, branch, replaced)

    def _is_there(self, ours: str, target: str) -> bool:
        """Whether the remote has all of it, on the memory branch or where it would be pushed."""
        theirs, waiting = self._theirs(), self._theirs(target)
        if theirs == ours:
            return True
        # What waits there may be taken back by now, so that nothing of ours is lacking is no answer, unless
        # nothing of that is either: a remote may let nobody delete what has landed.
        asked = [one for one in (ours, waiting) if one]
        if theirs and target != SHARED_REF and all(adds_nothing(self.repo, one, theirs) for one in asked):
            return True
        if waiting is not None:
            return self.repo.is_ancestor(ours, waiting)
        # What a reviewer closed is not asked for again unless a person says so, or there is more to ask.
        closed = closed_at_host(self.repo, self.remote, target)
        return closed is not None and not says_more(self.repo, closed, ours, theirs)

    def _may_leave(self, ours: str, target: str) -> bool:
        """Counts what would be sent, and sees to it that it may be."""
        repo, theirs, waiting = self.repo, self._theirs(), self._theirs(target)
        alone = holds_memory_alone(self.workspace.settings.config, self.remote.name)
        if theirs is None and not (alone or _has_code(self.remote)):
            raise RepositoryError(
                f"{self.remote.name} has no branch yet: memory would become its default branch",
                f"Push your code first: git push {self.remote.name} HEAD",
            )
        there = repo.commit(theirs).tree if theirs else None
        tree = repo.commit(ours).tree
        changed = changed_files(repo, there, tree)
        # What the base brought to a branch that waits is nothing that is sent.
        fresh_there = changed & changed_files(repo, repo.commit(waiting).tree, tree) if waiting else changed
        self.done = replace(self.done, pushed=_count(fresh_there))
        fresh = leaving_first(self.workspace, self.remote, ours)
        refuse_secrets(repo, self.remote, [ours], self.options.allow)
        doubts = doubts_to_leave(repo, there, tree, changed, self.options.allow)
        if doubts:
            self.done = replace(self.done, doubts=doubts)
            self.options.warn(doubts)
        if fresh:
            self.done = replace(self.done, leaves=fresh)
        if fresh and not self.options.dry_run:
            if not self.options.ask(fresh):
                self.done = replace(self.done, held=fresh, pushed=0)
                return False
            agree(self.workspace, ours)
        return True

    def _push(self, ours: str, target: str) -> bool:
        """Pushes; False where a race was lost."""
        if target == SHARED_REF:
            pushed = self._send(ours, target)
            if not pushed.protected or IN_THE_WAY in pushed.words:
                return self._settled(pushed, ours, target)
            # A decision about that branch, not about what is in it, if the writer's own one may be pushed.
            self._refuse_to_ask(ours)
            return self._push_to_inbox(ours, pushed)
        return self._push_to_inbox(ours)

    def _push_to_inbox(self, ours: str, refused: Pushed | None = None) -> bool:
        """Sends what was learned to the writer's own branch.

        Args:
            refused: the remote's answer to a push to the memory branch, where that is why.
        """
        repo, inbox = self.repo, writer_branch(self.workspace)
        base = self._theirs()
        if base is None:
            # A request needs a branch to ask into: the empty commit that every memory begins with.
            # Where even that is refused, someone else has to make the branch; what is learned waits.
            base = root_commit(repo)
            if not refused and self.remote.push(base, SHARED_REF).outcome == "pushed":
                self.remote.note(repo, SHARED_REF, base)
                if adds_nothing(repo, ours, base):
                    return True  # No memory yet: nobody is asked for an empty decision.
        waiting = self._theirs(inbox)
        if waiting is not None:
            check_arrival(repo, waiting, inbox)
            if epochs_differ(repo, ours, waiting):
                ours = carry_over(repo, ours, waiting, side=True).commit
            else:
                ours = merge_commits(repo, ours, waiting).commit
            self._refuse_to_ask(ours)
        tip = with_base(repo, ours, base)
        pushed = Pushed("pushed") if tip == waiting else self._send(tip, inbox)
        if refused and pushed.outcome == "refused":
            return self._settled(refused, tip, SHARED_REF)
        if not self._settled(pushed, tip, inbox):
            return False
        if refused:
            set_mode(self.workspace, "review")
            self.mode = "review"
            self.done = replace(self.done, switched=refused.words)
        return True

    def _settled(self, pushed: Pushed, oid: str, branch: str) -> bool:
        """Notes what a push came to; False where a race was lost."""
        if pushed.outcome == "refused":
            short = short_name(branch)
            if IN_THE_WAY in pushed.words:
                hint = "A branch named gitmem is in the way there: have it renamed."
            elif "currently checked out" in pushed.words:
                hint = (
                    f"{self.remote.name} has that branch checked out: have another one checked out there."
                )
            elif branch == SHARED_REF:
                hint = "If the branch is protected, let a person decide there: git mem share --mode review"
            else:
                hint = "Ask whoever looks after the remote to allow branches named gitmem/inbox/*."
            raise RepositoryError(f"{self.remote.name} refused {short}: {pushed.words}", hint)
        if pushed.outcome == "race":
            return False
        self.remote.note(self.repo, branch, oid)
        if branch != SHARED_REF:
            note_asked(self.repo, branch, oid, self._theirs())
        self.done = replace(self.done, branch=branch)
        return True

    def _tend(self, before: Mapping[str, str]) -> None:
        """Looks after dreams and inboxes; what was learned has been exchanged by then."""
        options, inbox = self.options, writer_branch(self.workspace)
        if not options.dry_run:
            options.tell("bringing side branches up to date")
        with suppress(RepositoryError):
            everyone = self.mode == "direct"
            tended = tend(self.repo, self.remote, before, inbox, everyone, dry_run=options.dry_run)
            self.done = replace(self.done, tended=tended)


def _count(paths: Iterable[str]) -> int:
    return sum(kind(path) in ("memory", "log") for path in paths)


def _keep_index(repo: Repository, ref: str, before: str, published: str | None) -> str | None:
    """Puts lines back that a merge took from an index although nobody took them out.

    A side branch leaves the index as it is on the memory branch (`ledger.side_branches`), and this clone's
    own commits are among its ancestors: where it lands, git takes their index lines for withdrawn. Whoever
    accepted it gave its memories lines of gitmem's own; none of these stands beside what was written here.

    Args:
        ref: the memory ref, after the merge.
        before: its commit before the merge.
        published: the memory branch as this clone knew it before: the base of the indexes.

    Returns:
        The commit that was made, or None where no line was lost.
    """
    ours = repo.commit(before).tree
    base = repo.commit(published).tree if published else None

    def plan(tip: Tip) -> Write | None:
        edits = _kept_lines(repo, base, ours, tip.tree)
        return Write(edits, "Keep index lines", Provenance(op="sync", writer="sync")) if edits else None

    if repo.ref(ref) is None:
        return None
    done = land(Ref(repo, ref), plan, None)
    return done.commit if done else None


def _kept_lines(repo: Repository, base: str | None, ours: str, now: str) -> dict[str, bytes | None]:
    edits: dict[str, bytes | None] = {}
    for agent, entry in repo.tree(now).items():
        if entry.mode != TREE or not is_agent_folder(agent):
            continue
        path = f"{agent}/{index.INDEX}"
        mine, theirs = (_text(repo, tree, path) for tree in (ours, now))
        if mine == theirs or not mine:
            continue
        files = repo.tree(entry.oid)
        gone = frozenset(index.targets(theirs))
        unnamed = any(file in files and file not in gone for file in index.targets(mine))
        known = _text(repo, base, path)
        if not unnamed and not _unsaid(repo, agent, (ours, mine), (now, theirs), (base, known)):
            continue
        here = {file for file in index.named(mine) if file in files and _is_memory(agent, file)}
        versions = {
            file: {read_file(repo, tree, f"{agent}/{file}") or b"" for tree in (ours, now)}
            for file in sorted(here)
        }
        merged = index.merge(known, mine, index.align(theirs, versions, {}))
        dangling = {
            file: read_file(repo, ours, f"{agent}/{file}") or b""
            for file in index.targets(merged)
            if file not in files and _is_memory(agent, file) and file not in gone
        }
        merged = index.reconcile(merged, dangling, {})
        if merged != theirs:
            edits[path] = encode(merged)
    return edits


def _unsaid(
    repo: Repository, agent: str, ours: tuple[str, str], now: tuple[str, str], base: tuple[str | None, str]
) -> bool:
    """Whether something that was written here by hand, and was never published, is in the index no more.

    Args:
        ours, now, base: a tree, and the index of the agent in it.
    """
    mine, theirs, known = (
        index.spoken(text, hot(repo, tree, agent)).keys() if tree else set[str]()
        for tree, text in (ours, now, base)
    )
    return bool(mine - theirs - known)


def _is_memory(agent: str, file: str) -> bool:
    return kind(f"{agent}/{file}") == "memory"


def _text(repo: Repository, tree: str | None, path: str) -> str:
    return decode(read_file(repo, tree, path) or b"") if tree else ""


@dataclass(frozen=True)
class Options:
    """What a sync is to do.

    Attributes:
        remote: name of a configured remote; empty for the usual one.
        pull, push: whether to take in, and to send.
        dry_run: fetch only, and tell what would be done.
        allow: fingerprints of accepted secrets.
        ask: whether these memories, which leave for the first time, may.
        warn: is told what may be a secret in what is about to be sent.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
        now: seconds since the epoch, from which on what a purge replaces is kept for a while.
        tell: is told what is being done, for who watches.
    """

    ask: Callable[[tuple[Leaving, ...]], bool]
    pause: Callable[[int], None]
    now: float
    remote: str = ""
    pull: bool = True
    push: bool = True
    dry_run: bool = False
    allow: frozenset[str] = frozenset()
    tell: Callable[[str], None] = lambda _: None
    warn: Callable[[tuple[Finding, ...]], None] = lambda _: None


@dataclass(frozen=True)
class Synced:
    """What a sync did, or with `dry_run` would do.

    Attributes:
        fetched: memories that the remote changed or added here.
        merged: memories that both sides had changed.
        pushed: memories that neither the remote's branch nor the one that is pushed to had like this.
        sent: memories that were accepted here before, and are on the memory branch there now.
        branch: full name of the branch that was pushed to; empty where nothing was pushed.
        lost: races lost on the way.
        leaves: memories that leave for the first time.
        held: those of them that were not sent because nobody agreed.
        doubts: what may be a secret in what is sent, and is stored all the same.
        personal: memories about a person, which are held back while all else leaves.
        arrived: secrets that came from the remote: rotate them.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        aside: path to why a file that came stays in the tree alone (see `merge.set_aside`).
        before: commit of the project scope before anything was merged; empty where nothing was.
        switched: why the remote refuses the memory branch, which turned this clone to review; hostile text.
        left_to_host: why the remote refuses the memory branch, so that inboxes which were accepted here
            wait for its reviewers; hostile text.
        landed: (full name of a branch at the remote, how it landed) of what this clone had asked for.
        tended: what became of dreams and inboxes.
        carried: what was brought over a purge.
        stands_in_private: whether the private repository holds what was purged.
    """

    remote: str
    fetched: int = 0
    merged: int = 0
    pushed: int = 0
    sent: int = 0
    branch: str = ""
    lost: int = 0
    leaves: tuple[Leaving, ...] = ()
    held: tuple[Leaving, ...] = ()
    doubts: tuple[Finding, ...] = ()
    personal: tuple[Leaving, ...] = ()
    arrived: tuple[Finding, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = field(default=())
    aside: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    switched: str = ""
    left_to_host: str = ""
    landed: tuple[tuple[str, Landing], ...] = ()
    tended: Tended = field(default_factory=Tended)
    carried: tuple[Carried, ...] = ()
    stands_in_private: bool = False

    @property
    def in_inbox(self) -> bool:
        """Whether what was sent waits for review instead of being on the memory branch."""
        return self.branch.startswith(INBOX)


def _has_code(remote: Remote) -> bool:
    """Whether the remote has any branch that is no memory.

    Raises:
        RepositoryError: it cannot be reached.
    """
    return any(not name.startswith(BRANCHES) for name in remote.listed("refs/heads/*"))
