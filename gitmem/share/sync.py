"""`sync`: fetch, merge, push; a lost race is run again, a refusal is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from gitmem.errors import CheckFailed, RepositoryError
from gitmem.guard.check import Refusal
from gitmem.memory.merge import kind
from gitmem.memory.names import slugify
from gitmem.share.arrival import check_arrival, take_in
from gitmem.share.leaving import Leaving, leaving, refuse_personal, refuse_secrets, secrets_to_leave
from gitmem.share.turning import agree, agreed, fold_private
from gitmem.store.commits import read_tip, root_commit
from gitmem.store.git import identity
from gitmem.store.locks import writer_lock
from gitmem.store.merging import merge_commits
from gitmem.store.remote import IN_THE_WAY, INBOX, MEMORY_BRANCH, Remote, find_remote
from gitmem.store.repository import Repository
from gitmem.store.trees import changed_files
from gitmem.store.workspace import SHARED_REF, Workspace

TRIES = 8
"""Lost races after which a push goes to the writer's own branch (design.md section 8)."""


@dataclass(frozen=True)
class Options:
    """What a sync is to do.

    Attributes:
        remote: name of a configured remote; empty for the usual one.
        pull, push: whether to take in, and to send.
        dry_run: fetch only, and tell what would be done.
        allow: fingerprints of accepted secrets.
        ask: whether these memories, which leave for the first time, may.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
    """

    ask: Callable[[tuple[Leaving, ...]], bool]
    pause: Callable[[int], None]
    remote: str = ""
    pull: bool = True
    push: bool = True
    dry_run: bool = False
    allow: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Synced:
    """What a sync did, or with `dry_run` would do.

    Attributes:
        fetched: memories that the remote changed or added here.
        merged: memories that both sides had changed.
        pushed: memories that the remote's branch did not have like this.
        branch: full name of the branch that was pushed to; empty where nothing was pushed.
        lost: races lost on the way.
        held: memories that were not sent because nobody agreed.
        arrived: secrets that came from the remote: rotate them.
        buried: (path, text) of claims that a tombstone took.
        split: files that moved aside because two wanted one path.
        before: commit of the project scope before anything was merged; empty where nothing was.
    """

    remote: str
    fetched: int = 0
    merged: int = 0
    pushed: int = 0
    branch: str = ""
    lost: int = 0
    held: tuple[Leaving, ...] = ()
    arrived: tuple[Refusal, ...] = ()
    buried: tuple[tuple[str, str], ...] = ()
    split: tuple[str, ...] = field(default=())
    before: str = ""

    @property
    def in_inbox(self) -> bool:
        """Whether what was sent waits for review instead of being on the memory branch."""
        return self.branch.startswith(INBOX)


def sync(workspace: Workspace, options: Options) -> Synced:
    """Brings the project scope and a remote's memory branch together.

    Raises:
        CheckFailed: sharing is off, or something may not leave.
        RepositoryError: the remote cannot be used, refuses, or holds what may not become memory.
    """
    if workspace.sharing == "off":
        raise CheckFailed("Sharing is off here: nothing leaves this machine", "Turn it on: git mem share")
    remote = find_remote(
        workspace.git, workspace.layout.worktree or workspace.layout.common_dir, options.remote
    )
    with writer_lock(workspace.state, "sync", timeout=120.0):
        return _Sync(workspace, remote, options).run()


def writer_branch(workspace: Workspace) -> str:
    """The branch that this person's memories wait on: `refs/heads/gitmem/inbox/<slug of the address>`.

    Raises:
        RepositoryError: git knows no identity.
    """
    who = identity(workspace.git, None, 0, git_dir=workspace.layout.common_dir)
    return INBOX + slugify(who.email)


class _Sync:
    """One run: collects what `sync` returns."""

    def __init__(self, workspace: Workspace, remote: Remote, options: Options) -> None:
        self.workspace = workspace
        self.repo: Repository = workspace.code
        self.remote = remote
        self.options = options
        self.done = Synced(remote.name)

    def run(self) -> Synced:
        options = self.options
        if not options.dry_run:
            fold_private(self.repo)
        while True:
            self.remote.fetch()
            ours = self._merge() if options.pull else read_tip(self.repo, SHARED_REF).commit
            if not options.push:
                return self.done
            target = self._target()
            if self._is_there(ours, target):
                self._tidy()
                return self.done
            if not self._may_leave(ours):
                return self.done
            if options.dry_run:
                return replace(self.done, branch=target)
            if self._push(ours, target):
                return self.done
            if not options.pull:
                raise CheckFailed(f"{self.remote.name} has memory that is not here", "Run: git mem sync")
            self.done = replace(self.done, lost=self.done.lost + 1)
            if self.done.lost >= 2 * TRIES:
                raise RepositoryError(
                    f"{self.remote.name} kept moving under {2 * TRIES} pushes", "Run it again."
                )
            options.pause(self.done.lost)

    def _target(self) -> str:
        if self.workspace.sharing == "review" or self.done.lost >= TRIES:
            return writer_branch(self.workspace)
        return MEMORY_BRANCH

    def _theirs(self, branch: str = MEMORY_BRANCH) -> str | None:
        return self.repo.ref(self.remote.tracking(branch))

    def _merge(self) -> str:
        """Merges what was fetched into the branch; returns where that stands."""
        theirs = self._theirs()
        if theirs is None:
            return read_tip(self.repo, SHARED_REF).commit
        message = f"gitmem sync: {self.remote.name}"
        options, done = self.options, self.done
        taken = take_in(self.repo, SHARED_REF, theirs, message, options.allow, dry_run=options.dry_run)
        self.done = replace(
            done,
            fetched=done.fetched + _count(taken.changed),
            merged=done.merged + _count(taken.both),
            arrived=done.arrived + taken.arrived,
            buried=done.buried + taken.buried,
            split=done.split + taken.split,
            before=done.before or (taken.before if taken.before != taken.commit else ""),
        )
        return taken.commit

    def _is_there(self, ours: str, target: str) -> bool:
        """Whether the remote has all of it, on the memory branch or where it would be pushed."""
        tree = self.repo.commit(ours).tree
        theirs = self._theirs()
        if theirs and (
            theirs == ours or (target != MEMORY_BRANCH and self.repo.commit(theirs).tree == tree)
        ):
            return True
        waiting = self._theirs(target)
        return waiting is not None and self.repo.is_ancestor(ours, waiting)

    def _may_leave(self, ours: str) -> bool:
        """Counts what would be sent, and sees to it that it may be."""
        repo, theirs = self.repo, self._theirs()
        if theirs is None and not self.remote.has_code():
            raise RepositoryError(
                f"{self.remote.name} has no branch yet: memory would become its default branch",
                f"Push your code first: git push {self.remote.name} HEAD",
            )
        there = repo.commit(theirs).tree if theirs else None
        tree = repo.commit(ours).tree
        self.done = replace(self.done, pushed=_count(changed_files(repo, there, tree)))
        there_already = [tip for tip in (theirs, self._theirs(writer_branch(self.workspace))) if tip]
        refuse_personal(leaving(repo, ours, there_already))
        consented = agreed(self.workspace)
        fresh = leaving(repo, ours, [*there_already, *([consented] if consented else [])])
        refuse_secrets(secrets_to_leave(repo, self.remote, [ours], self.options.allow))
        if fresh and not self.options.dry_run:
            if not self.options.ask(fresh):
                self.done = replace(self.done, held=fresh, pushed=0)
                return False
            agree(self.workspace, ours)
        elif fresh:
            self.done = replace(self.done, held=fresh)
        return True

    def _push(self, ours: str, target: str) -> bool:
        """Pushes; False where a race was lost."""
        repo = self.repo
        if target != MEMORY_BRANCH:
            if self._theirs() is None:
                # A request needs a branch to ask into: the empty commit that every memory begins with.
                # Where even that is refused, someone else has to make the branch; what is learned waits.
                root = root_commit(repo)
                if self.remote.push(root, MEMORY_BRANCH).outcome == "pushed":
                    self.remote.note(self.repo, MEMORY_BRANCH, root)
            waiting = self._theirs(target)
            if waiting is not None:
                check_arrival(repo, waiting, target)
                ours = merge_commits(repo, ours, waiting).commit
        if not self._send(ours, target):
            return False
        self.done = replace(self.done, branch=target)
        if target == MEMORY_BRANCH:
            self._tidy()
        return True

    def _send(self, oid: str, branch: str) -> bool:
        pushed = self.remote.push(oid, branch)
        if pushed.outcome == "refused":
            short = branch.removeprefix("refs/heads/")
            if IN_THE_WAY in pushed.words:
                hint = "A branch named gitmem is in the way there: have it renamed."
            elif branch == MEMORY_BRANCH:
                hint = "If the branch is protected, let a person decide there: git mem share --mode review"
            else:
                hint = "Ask whoever looks after the remote to allow branches named gitmem/inbox/*."
            raise RepositoryError(f"{self.remote.name} refused {short}: {pushed.words}", hint)
        if pushed.outcome == "race":
            return False
        self.remote.note(self.repo, branch, oid)
        return True

    def _tidy(self) -> None:
        """Removes the writer's own branch once the memory branch holds all of it."""
        mine = writer_branch(self.workspace)
        waiting = self._theirs(mine)
        published = self._theirs()
        if waiting is None or published is None or self.options.dry_run:
            return
        if self.repo.is_ancestor(waiting, published) and (
            self.remote.push(None, mine, waiting).outcome == "pushed"
        ):
            self.remote.note(self.repo, mine, None)


def _count(paths: Iterable[str]) -> int:
    return sum(kind(path) == "memory" for path in paths)
