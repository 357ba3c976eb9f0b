"""`sync`: fetch, merge, push; a lost race is run again, a refusal is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from gitmem.core.errors import CheckFailed, RepositoryError
from gitmem.core.merge import kind
from gitmem.share.acceptance import publish
from gitmem.share.arrival import check_arrival, take_in
from gitmem.share.carrying import carry_over
from gitmem.share.departure import depart
from gitmem.share.inbox import writer_branch
from gitmem.share.index_kept import keep_index
from gitmem.share.landed import close, closed_at_host, says_more, settle
from gitmem.share.leaving import doubts_to_leave, leaving, refuse_secrets, secrets_to_leave
from gitmem.share.synced import Options, Synced
from gitmem.share.tending import plan_tending, tend
from gitmem.share.turning import agree, agreed, change_mode, fold_private
from gitmem.share.unpushed import prepare
from gitmem.store.commits import read_tip, root_commit
from gitmem.store.epochs import OtherEpoch, epoch_of
from gitmem.store.git import config_get
from gitmem.store.landing import note_asked
from gitmem.store.locks import Locked, writer_lock
from gitmem.store.merging import merge_commits
from gitmem.store.remote import IN_THE_WAY, MEMORY_BRANCH, Pushed, Remote, find_remote
from gitmem.store.repository import RefMoved, Repository, short_name
from gitmem.store.side_branches import adds_nothing, with_base
from gitmem.store.tidying import tidy_ref
from gitmem.store.trees import changed_files
from gitmem.store.workspace import SHARED_REF, Workspace

TRIES = 8
"""Lost races after which a push goes to the writer's own branch (design.md section 8)."""


def sync(workspace: Workspace, options: Options) -> Synced:
    """Brings the project scope and a remote's memory branch together.

    Raises:
        CheckFailed: sharing is off, or something may not leave.
        RepositoryError: the remote cannot be used, refuses, or holds what may not become memory.
    """
    if workspace.sharing == "off":
        raise CheckFailed("Sharing is off here: nothing leaves this machine", "Turn it on: git mem share")
    remote = find_remote(workspace.git, workspace.top, options.remote)
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
    git, common = workspace.git, workspace.layout.common_dir
    remote = find_remote(git, workspace.layout.worktree or common)
    if config_get(git, None, f"remote.{remote.name}.promisor", git_dir=common):
        return None
    if workspace.code.ref(remote.tracking(MEMORY_BRANCH)) is None:
        return None
    with suppress(Locked), writer_lock(workspace.state, "sync", blocking=False):
        return _Sync(workspace, remote, options).take()
    return None


class _Sync:
    """One run: collects what `sync` returns."""

    def __init__(self, workspace: Workspace, remote: Remote, options: Options) -> None:
        self.workspace = workspace
        self.repo: Repository = workspace.code
        self.remote = remote
        self.options = options
        self.done = Synced(remote.name)
        self.mode = workspace.sharing

    def run(self) -> Synced:
        known = self.remote.fetched(self.repo)
        self._exchange(known.get(MEMORY_BRANCH))
        if self.options.push:
            self._tend(known)
        self.options.tell("")
        return self.done

    def take(self) -> Synced:
        """Merges what the last fetch brought."""
        fold_private(self.repo)
        self._merge(None)
        return self.done

    def _exchange(self, published: str | None) -> None:
        """Fetches, merges and pushes until one of its pushes counts.

        Args:
            published: the memory branch there, as last known.
        """
        options, name = self.options, self.remote.name
        if not options.dry_run:
            fold_private(self.repo)
        while True:
            options.tell(f"fetching memory from {name}")
            self.remote.fetch()
            if options.push and not options.dry_run:
                self._send_accepted()
            options.tell("merging")
            here = self._merge(published) if options.pull else read_tip(self.repo, SHARED_REF).commit
            if not options.push:
                return
            prepared = prepare(self.repo, self.remote, here)
            self.done = replace(self.done, personal=prepared.held)
            ours, target = prepared.tip, self._target()
            if target != MEMORY_BRANCH:
                self._refuse_to_ask(ours)
            is_there = self._is_there(ours, target)
            if not is_there and not self._may_leave(ours):
                return
            if options.dry_run:
                self.done = replace(self.done, branch="" if is_there else target)
                return
            try:
                depart(self.repo, SHARED_REF, here, prepared)
            except RefMoved:
                continue
            if is_there:
                return
            options.tell(f"sending memory to {name}")
            if self._push(ours, target):
                return
            published = self._theirs()
            if not options.pull:
                raise CheckFailed(f"{self.remote.name} has memory that is not here", "Run: git mem sync")
            self.done = replace(self.done, lost=self.done.lost + 1)
            if self.done.lost >= 2 * TRIES:
                raise RepositoryError(
                    f"{self.remote.name} kept moving under {2 * TRIES} pushes", "Run it again."
                )
            options.pause(self.done.lost)

    def _send_accepted(self) -> None:
        """Pushes what a person accepted while the remote was out of reach."""
        pushed = publish(self.workspace, self.remote, self.options.allow)
        if pushed is not None and pushed.outcome == "refused":
            self.done = replace(self.done, left_to_host=pushed.words)

    def _target(self) -> str:
        if self.mode == "review" or self.done.lost >= TRIES:
            return writer_branch(self.workspace)
        return MEMORY_BRANCH

    def _theirs(self, branch: str = MEMORY_BRANCH) -> str | None:
        return self.repo.ref(self.remote.tracking(branch))

    def _merge(self, published: str | None) -> str:
        """Merges what was fetched into the branch; returns where that stands."""
        theirs = self._theirs()
        if theirs is None:
            return read_tip(self.repo, SHARED_REF).commit
        message = f"gitmem sync: {self.remote.name}"
        options, done = self.options, self.done
        # Where others decide what the branch holds, theirs counts if it is as clean as ours.
        follow = self.mode == "review"
        if not options.dry_run and self._is_other_epoch(theirs):
            # Over a purge first: whatever follows compares commits of one epoch.
            over = take_in(self.repo, SHARED_REF, theirs, message, options.allow, follow=follow)
            if over.carried:
                done = self.done = replace(done, carried=(*done.carried, over.carried))
        settled = settle(self.repo, self.remote, theirs)
        taken = take_in(
            self.repo,
            SHARED_REF,
            settled.onto,
            message,
            options.allow,
            dry_run=options.dry_run,
            follow=follow,
        )
        if options.push and not options.dry_run:
            close(self.repo, self.remote, settled.landed)
        self.done = replace(
            done,
            fetched=done.fetched + _count(taken.changed),
            merged=done.merged + _count(taken.both),
            arrived=done.arrived + taken.arrived,
            buried=done.buried + taken.buried,
            split=done.split + taken.split,
            before=done.before or (taken.before if taken.before != taken.commit else ""),
            landed=done.landed + settled.landed,
        )
        if options.dry_run or taken.before == taken.commit:
            return taken.commit
        kept = keep_index(self.repo, SHARED_REF, taken.before, published) or taken.commit
        direct = self.workspace.sharing == "direct"
        tidied = tidy_ref(self.repo, SHARED_REF, self.workspace.state, host_files=direct)
        return tidied.commit if tidied else kept

    def _is_other_epoch(self, theirs: str, ours: str = "") -> bool:
        repo, ours = self.repo, ours or read_tip(self.repo, SHARED_REF).commit
        if epoch_of(repo, theirs) == epoch_of(repo, ours):
            return False
        return not (repo.is_ancestor(theirs, ours) or repo.is_ancestor(ours, theirs))

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
            replaced = there if known < now or (branch != MEMORY_BRANCH and known != now) else None
        return self.remote.push(oid, branch, replaced)

    def _is_there(self, ours: str, target: str) -> bool:
        """Whether the remote has all of it, on the memory branch or where it would be pushed."""
        theirs = self._theirs()
        if theirs and (
            theirs == ours or (target != MEMORY_BRANCH and adds_nothing(self.repo, ours, theirs))
        ):
            return True
        waiting = self._theirs(target)
        if waiting is not None:
            return self.repo.is_ancestor(ours, waiting)
        # What a reviewer closed is not asked for again unless a person says so, or there is more to ask.
        closed = closed_at_host(self.repo, self.remote, target)
        return closed is not None and not says_more(self.repo, closed, ours, theirs)

    def _may_leave(self, ours: str) -> bool:
        """Counts what would be sent, and sees to it that it may be."""
        repo, theirs = self.repo, self._theirs()
        if theirs is None and not (self.remote.holds_memory_alone() or self.remote.has_code()):
            raise RepositoryError(
                f"{self.remote.name} has no branch yet: memory would become its default branch",
                f"Push your code first: git push {self.remote.name} HEAD",
            )
        there = repo.commit(theirs).tree if theirs else None
        tree = repo.commit(ours).tree
        changed = changed_files(repo, there, tree)
        self.done = replace(self.done, pushed=_count(changed))
        there_already = [tip for tip in (theirs, self._theirs(writer_branch(self.workspace))) if tip]
        consented = agreed(self.workspace)
        fresh = leaving(repo, ours, [*there_already, *([consented] if consented else [])])
        refuse_secrets(secrets_to_leave(repo, self.remote, [ours], self.options.allow))
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
        if target == MEMORY_BRANCH:
            pushed = self._send(ours, target)
            if not pushed.protected or IN_THE_WAY in pushed.words:
                return self._settled(pushed, ours, target)
            # A decision about that branch, not about what is in it, if the writer's own one may be pushed.
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
            if not refused and self.remote.push(base, MEMORY_BRANCH).outcome == "pushed":
                self.remote.note(repo, MEMORY_BRANCH, base)
        waiting = self._theirs(inbox)
        if waiting is not None:
            check_arrival(repo, waiting, inbox)
            same = epoch_of(repo, ours) == epoch_of(repo, waiting)
            ours = (merge_commits if same else carry_over)(repo, ours, waiting).commit
            self._refuse_to_ask(ours)
        tip = with_base(repo, ours, base)
        pushed = Pushed("pushed") if tip == waiting else self._send(tip, inbox)
        if refused and pushed.outcome == "refused":
            return self._settled(refused, tip, MEMORY_BRANCH)
        if not self._settled(pushed, tip, inbox):
            return False
        if refused:
            change_mode(self.workspace, "review")
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
            elif branch == MEMORY_BRANCH:
                hint = "If the branch is protected, let a person decide there: git mem share --mode review"
            else:
                hint = "Ask whoever looks after the remote to allow branches named gitmem/inbox/*."
            raise RepositoryError(f"{self.remote.name} refused {short}: {pushed.words}", hint)
        if pushed.outcome == "race":
            return False
        self.remote.note(self.repo, branch, oid)
        if branch != MEMORY_BRANCH:
            note_asked(self.repo, branch, oid, self._theirs())
        self.done = replace(self.done, branch=branch)
        return True

    def _tend(self, before: Mapping[str, str]) -> None:
        """Looks after dreams and inboxes; what was learned has been exchanged by then."""
        everyone = self.mode == "direct"
        plan = plan_tending(self.repo, self.remote, before, writer_branch(self.workspace), everyone)
        if self.options.dry_run:
            self.done = replace(self.done, tended=plan.outcome)
            return
        self.options.tell("bringing side branches up to date")
        with suppress(RepositoryError):
            self.done = replace(self.done, tended=tend(self.repo, self.remote, plan))


def _count(paths: Iterable[str]) -> int:
    return sum(kind(path) in ("memory", "log") for path in paths)
