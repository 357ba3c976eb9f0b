"""`purge`: a text, or a memory, out of all history of memory, here and at the remotes that take it.

In this order, so that a process that dies anywhere leaves memory in one epoch or the other, and whoever
runs it again finishes: what is old is written down, remotes are moved by lease, the refs of a repository
move in one transaction, live directories and state are cleaned, old objects are erased, all is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.core.purge import Purge
from gitmem.share.arrival import take_in
from gitmem.share.proof import look_at_files, look_at_objects
from gitmem.share.purge_plan import (
    Left,
    Options,
    Purged,
    RefPlan,
    Target,
    lives,
    repositories,
    rewritable,
    scrub_states,
)
from gitmem.store.epochs import epoch_of
from gitmem.store.erasing import sweep_unfinished
from gitmem.store.git import GitCommand
from gitmem.store.memory_refs import (
    clear_logs,
    logged,
    memory_refs,
    move_together,
)
from gitmem.store.merging import merge_commits
from gitmem.store.new_epoch import Rewriting, rewrite
from gitmem.store.old_epochs import erase_old, note_clean, note_old, old_tips
from gitmem.store.remote import MEMORY_BRANCH, Move, Remote, find_remote
from gitmem.store.repository import RefMoved, Repository
from gitmem.store.scrubbing import scrub_live, scrub_records
from gitmem.store.workspace import Workspace

TRIES = 8
"""Lost leases after which the remote is left to a later sync."""

MESSAGE = "gitmem purge"


class Purging:
    """One purge, step by step; the caller holds the locks, and lays out live directories in between."""

    def __init__(self, workspace: Workspace, target: Target, options: Options) -> None:
        self.workspace, self.target, self.options = workspace, target, options
        self.git: GitCommand = workspace.git
        self.done = Purged()
        self.purge = target.purge
        self._commits: dict[bool, Mapping[str, str]] = {}
        self._gone: dict[bool, set[str]] = {}
        self._carried: dict[str, str] = {}

    def rewrite(self) -> None:
        """Rewrites both repositories, moves the remote by lease, and then the refs here.

        Raises:
            RepositoryError: history cannot be read, or a ref cannot be written.
        """
        for repo, private in repositories(self.workspace, self.target):
            remote = None if private else self._remote()
            rewriting, published = self._publish(repo, private, remote)
            known = self._move(repo, rewriting, published)
            over = {} if private else {old: known.get(new, new) for old, new in self._carried.items()}
            self._commits[private] = over | known
            self._gone[private] = rewriting.told.blobs
            self.purge |= rewriting.purge
            told = rewriting.told
            self.done = replace(
                self.done,
                refs=(*self.done.refs, *(RefPlan(ref, private) for ref in sorted(rewriting.tips))),
                commits=self.done.commits + told.rewritten,
                unsigned=self.done.unsigned + told.unsigned,
            )

    def scrub(self) -> None:
        """Takes it out of live directories, records, logs, jobs and search indexes."""
        workspace, texts = self.workspace, Purge(self.purge.texts, keys=self.purge.keys)
        seen = lives(workspace)
        files, left = 0, []
        for live in seen:
            private = live.scope.name != "project"
            purge = self.purge if live.scope.name == self.target.scope else texts
            count, kept = scrub_live(live, purge, self._commits.get(private, {}), live.scope.repo)
            files += count
            left += [Left(str(path), "the code branch tracks it, or it cannot be written") for path in kept]
        keys = [live.key for live in seen]
        for repo, private in repositories(workspace, Target(texts)):
            state = workspace.private_state if private else workspace.state
            scrub_records(state, keys, texts, self._commits.get(private, {}), repo)
        scrub_states(workspace, texts)
        for repo, _ in repositories(workspace, self.target):
            note_clean(repo)
        self.done = replace(self.done, files=files, left=(*self.done.left, *left))

    def finish(self) -> Purged:
        """Forgets where refs were, erases what nothing refers to any more, and looks whether it is gone.

        Raises:
            RepositoryError: what is still used cannot be told, or a pack cannot be written.
        """
        states = (self.workspace.state, self.workspace.private_state)
        for repo, private in repositories(self.workspace, self.target):
            old = [*old_tips(repo), *self._commits.get(private, {})]
            refs = memory_refs(repo, private=private)
            # What remotes had before, where they were not reached: to be fetched again by a sync.
            stale = {ref: oid for ref, oid in refs.tracking.items() if _is_old(self._commits, private, oid)}
            if stale:
                moves = {ref: (oid, None) for ref, oid in stale.items()}
                note_old(repo, stale.values())
                move_together(self.git, repo.git_dir, moves, MESSAGE)
            clear_logs(self.git, repo.git_dir, {*refs.all}, _changed(self._commits.get(private, {}), old))
            sweep_unfinished(repo.git_dir, self.purge.holds)
            erased = erase_old(repo, self.git, states).count
            name = f"the {'private' if private else 'code'} repository"
            proof = look_at_objects(
                repo, self.git, self.purge, self._gone.get(private, set()), states, name
            )
            self.done = replace(
                self.done,
                erased=self.done.erased + erased + proof.erased,
                scanned=self.done.scanned + proof.scanned,
                left=(*self.done.left, *proof.left),
            )
        texts = Purge(self.purge.texts)
        scrub_states(self.workspace, texts)
        known = {one.where for one in self.done.left}
        left = (one for one in look_at_files(self.workspace, texts) if one.where not in known)
        self.done = replace(self.done, left=(*self.done.left, *left))
        return self.done

    def _remote(self) -> Remote | None:
        workspace = self.workspace
        if workspace.sharing == "off" or not self.options.push:
            return None
        try:
            return find_remote(workspace.git, workspace.top)
        except RepositoryError as error:
            self.done = replace(self.done, unreachable=error.message)
            return None

    def _publish(
        self, repo: Repository, private: bool, remote: Remote | None
    ) -> tuple[Rewriting, dict[str, str]]:
        """Rewrites, and pushes what remotes had, less what is purged; nothing else leaves by this.

        Returns:
            The rewriting; and the branches that the remote took, with where they are now.
        """
        asked: dict[str, Move] = {}
        said: dict[str, str] = {}
        for lost in range(TRIES):
            if remote is not None:
                remote = self._fetched(repo, remote)
            refs = rewritable(self.workspace, repo, private, self.target)
            rewriting = rewrite(repo, self.git, refs, self.target.purge, self.options.mark)
            moves = self._moves(repo, remote, rewriting) if remote is not None else {}
            if remote is None or not moves:
                return rewriting, {}
            # One that is where it was did not move under the push: it was refused.
            refused = {
                branch: said[branch]
                for branch, one in moves.items()
                if branch in said and one.expected == asked[branch].expected
            }
            asked, moves = moves, {branch: one for branch, one in moves.items() if branch not in refused}
            note_old(repo, [one.expected for one in asked.values() if one.expected])
            try:
                pushed = remote.push_all(list(moves.values())) if moves else {}
            except RepositoryError as error:
                self.done = replace(self.done, unreachable=error.message)
                return rewriting, {}
            said = {branch: one.words for branch, one in pushed.items() if one.outcome == "race"}
            if said:
                self.options.pause(lost + 1)
                continue
            took = {
                branch: one.oid
                for branch, one in moves.items()
                if one.oid and pushed[branch].outcome == "pushed"
            }
            refused |= {branch: pushed[branch].words for branch in moves if branch not in took}
            self.done = replace(self.done, pushed=tuple(took), refused=tuple(refused.items()))
            return rewriting, took
        self.done = replace(self.done, unreachable=f"it kept moving under {TRIES} pushes")
        return rewriting, {}

    def _fetched(self, repo: Repository, remote: Remote) -> Remote | None:
        try:
            remote.fetch()
            theirs = repo.ref(remote.tracking(MEMORY_BRANCH))
            if theirs is not None:
                ref = self.workspace.scope("project").ref
                taken = take_in(repo, ref, theirs, MESSAGE, self.options.allow)
                if taken.carried:
                    # Someone else purged, too: what that took out is cleared up along with ours.
                    self.purge |= taken.carried.purge
                    self._carried |= taken.carried.commits
        except GitmemError as error:
            self.done = replace(self.done, unreachable=error.message)
            return None
        return remote

    def _moves(self, repo: Repository, remote: Remote, rewriting: Rewriting) -> dict[str, Move]:
        """What is to be pushed: branch to its move."""
        moves = {}
        for branch, old in remote.fetched(repo).items():
            new = rewriting.tips.get(remote.tracking(branch))
            if new is None:
                continue
            if branch == MEMORY_BRANCH:
                new = rewriting.rewriter.note(new, self.options.who)
            if new != old:
                moves[branch] = Move(branch, new, old)
        return moves

    def _move(self, repo: Repository, rewriting: Rewriting, published: Mapping[str, str]) -> dict[str, str]:
        """Moves the refs here in one go; a writer who was quicker is taken along.

        Returns:
            Old commit to the one in its place.
        """
        rewriter, refs = rewriting.rewriter, rewriting.refs
        above = published.get(MEMORY_BRANCH)
        while True:
            now = {ref: oid for ref in rewriting.tips if ref in refs.own and (oid := repo.ref(ref))}
            known = rewriter.history(list(now.values()))
            moves: dict[str, tuple[str | None, str | None]] = {}
            for ref, old in now.items():
                new = known[old]
                if refs.is_main(ref):
                    if refs.private or above is None:
                        new = rewriter.note(new, self.options.who)
                    else:
                        new = self._above(repo, rewriting, new, above)
                moves[ref] = (old, new)
            for ref in refs.tracking:
                if ref in rewriting.tips and not refs.private:
                    branch = f"refs/heads/{ref.split('/', 3)[3]}"
                    moves[ref] = (repo.ref(ref), published.get(branch))
            names = [ref for ref in moves if moves[ref][0]]
            left = {ref: old for ref, (old, _) in moves.items() if old and refs.is_main(ref)}
            note_old(repo, {*(old for old, _ in moves.values() if old), *logged(repo, names)}, left)
            try:
                move_together(self.git, repo.git_dir, moves, MESSAGE)
            except RefMoved:
                continue
            return dict(known)

    def _above(self, repo: Repository, rewriting: Rewriting, tip: str, published: str) -> str:
        """What stands here together with the commit that the remote has now."""
        if repo.is_ancestor(tip, published):
            return published
        if epoch_of(repo, tip) != rewriting.epoch:
            tip = rewriting.rewriter.note(tip, self.options.who)
        return merge_commits(repo, tip, published).commit


def _is_old(commits: Mapping[bool, Mapping[str, str]], private: bool, oid: str) -> bool:
    known = commits.get(private, {})
    return known.get(oid, oid) != oid


def _changed(commits: Mapping[str, str], old: Iterable[str]) -> set[str]:
    return {oid for oid in old if commits.get(oid, "") != oid}
