"""`purge`: a text, or a memory, out of all history of memory, here and at the remotes that take it.

In this order, so that a process that dies anywhere leaves memory in one epoch or the other, and whoever
runs it again finishes: what is old is written down, remotes are moved by lease, the refs of a repository
move in one transaction, live directories and state are cleaned, old objects are erased. In the end every
object of a repository and every file of gitmem's is looked at for what may be left.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import homes, kind
from gitmem.core.purge import Purge, unfit
from gitmem.git.command import GitCommand
from gitmem.git.packs import objects_with
from gitmem.git.refs import move_refs
from gitmem.git.remote import Move, Remote
from gitmem.git.repository import Difference, RefMoved, Repository, Signature
from gitmem.git.trees import blob_or_none
from gitmem.ledger.arrival import take_in
from gitmem.ledger.consent import Peer
from gitmem.ledger.epochs import Epoch, epoch_of
from gitmem.ledger.erase import erase_old, existing, leave_epoch, note_clean, note_old, old_tips
from gitmem.ledger.lookup import FoundMemory
from gitmem.ledger.memory_refs import MemoryRefs, lines, memory_refs, reflog_commits
from gitmem.ledger.merge import merge_commits
from gitmem.ledger.proposals import about
from gitmem.ledger.remotes import find_remote
from gitmem.ledger.rewrite import Rewriting, rewrite
from gitmem.ledger.scrub import Crossing, files_with, lives, repositories, scrub_states, settle
from gitmem.ledger.workspace import DOCS_REF, SHARED_REF, Workspace

_Moves = list[tuple[tuple[str, str], tuple[str, str]]]


TRIES = 8
"""Lost leases after which the remote is left to a later sync."""

MESSAGE = "gitmem purge"

PROPOSED = (
    "a change to a document that waits in review has it: git branch -D gitmem/docs, and purge it once more"
)

FETCHED = "the remote has it still, from where it was fetched: git mem sync"

MOST_LEFT = 20
"""Places where a text still is that are listed."""


@dataclass(frozen=True)
class Target:
    """What is to go.

    Attributes:
        purge: the text, or the memory with all paths that it had.
        scope: of a memory; empty for a text, which goes from all scopes.
    """

    purge: Purge
    scope: str = ""

    def concerns(self, private: bool) -> bool:
        """Whether anything may be to do in the private, or the code, repository."""
        return not self.scope or (self.scope != "project") == private


@dataclass(frozen=True)
class RefPlan:
    """One ref that is rewritten.

    Attributes:
        private: whether it is in the private repository.
    """

    ref: str
    private: bool


@dataclass(frozen=True)
class PurgePlan:
    """What a purge would do.

    Attributes:
        commits: how many are rewritten.
        held: how many of them hold it; the others come after one that does.
        paths: memories and other files that hold it, in any commit.
        live: files in live directories that do.
        unfinished: whether an earlier purge is still to be finished.
    """

    refs: tuple[RefPlan, ...]
    commits: int
    held: int
    paths: tuple[str, ...]
    live: tuple[Path, ...] = ()
    unfinished: bool = False

    def __bool__(self) -> bool:
        return bool(self.refs or self.live or self.unfinished)


@dataclass(frozen=True)
class LeftPlace:
    """Where it still is.

    Attributes:
        where: a path in history, or a file.
        why: why it could not be reached.
    """

    where: str
    why: str


@dataclass(frozen=True)
class Purged:
    """What a purge did.

    Attributes:
        refs: refs that moved.
        commits: commits that were rewritten.
        unsigned: those of them that were signed.
        files: live files that were changed.
        erased: objects that were erased.
        scanned: objects that were looked at afterwards.
        left: where it still is.
        pushed: branches of the remote that were moved.
        refused: (branch, the remote's reason) of those that were not.
        unreachable: why the remote could not be used; empty where it was, or is not shared with.
    """

    refs: tuple[RefPlan, ...] = ()
    commits: int = 0
    unsigned: int = 0
    files: int = 0
    erased: int = 0
    scanned: int = 0
    left: tuple[LeftPlace, ...] = ()
    pushed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    unreachable: str = ""


def memory_target(workspace: Workspace, found: FoundMemory) -> Target:
    """What has to go for a memory to be gone."""
    scope = workspace.scope(found.scope)
    tip = scope.repo.ref(scope.ref)
    assert tip is not None  # noqa: S101 - it was found there
    return Target(whole_memory(scope.repo, tip, found.path), found.scope)


def plan_purge(workspace: Workspace, target: Target) -> PurgePlan:
    """Finds what a purge would rewrite; nothing is written, and nothing fetched."""
    refs: list[RefPlan] = []
    commits = held = 0
    paths: set[str] = set()
    unfinished = False
    for repo, private in concerned(workspace, target):
        rewriting = rewrite(repo, rewritable(workspace, repo, private, target), target.purge, "", dry=True)
        refs += [RefPlan(ref, private) for ref in sorted(rewriting.tips)]
        commits += rewriting.rewriter.rewritten
        held += rewriting.rewriter.purged
        paths |= rewriting.rewriter.paths
        unfinished = unfinished or bool(old_tips(repo))
    live = tuple(
        path
        for one in lives(workspace)
        if not target.scope and one.path.is_dir()
        for path in files_with(one.path, target.purge)
    )
    return PurgePlan(tuple(refs), commits, held, tuple(sorted(paths)), live, unfinished)


def concerned(workspace: Workspace, target: Target) -> list[tuple[Repository, bool]]:
    """The repositories that a purge may concern, and whether each is the private one."""
    return [(repo, private) for repo, private in repositories(workspace) if target.concerns(private)]


def rewritable(workspace: Workspace, repo: Repository, private: bool, target: Target) -> MemoryRefs:
    """The refs that a purge rewrites.

    What the backup has is moved by the backup itself; what a remote has of an older epoch, by a sync.
    """
    found = memory_refs(repo, private=private)
    if private:
        found = replace(found, tracking={})
        if target.scope:
            ref = workspace.scope(target.scope).ref
            line = next((group for group in lines(repo, found) if ref in group), frozenset())
            found = replace(found, own={name: oid for name, oid in found.own.items() if name in line})
    mains = [oid for ref, oid in found.own.items() if found.is_main(ref)]
    newest = max((epoch_of(repo, oid) for oid in mains), default=Epoch())
    if not private:
        kept = {ref: oid for ref, oid in found.tracking.items() if epoch_of(repo, oid) >= newest}
        found = replace(found, tracking=kept)
    return found


class Purging:
    """One purge, step by step; the caller holds the locks, and lays out live directories in between.

    Args:
        mark: of the new epoch, 8 random hexadecimal digits.
        who: who purges, and when.
        push: whether remotes are rewritten, too.
        allow: fingerprints of accepted secrets.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
    """

    def __init__(
        self,
        workspace: Workspace,
        target: Target,
        mark: str,
        who: Signature,
        push: bool = True,
        allow: frozenset[str] = frozenset(),
        pause: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.workspace, self.target = workspace, target
        self.mark, self.who, self.push, self.allow, self.pause = mark, who, push, allow, pause
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
        self._dropped = self._drop_proposals()
        for repo, private in concerned(self.workspace, self.target):
            remote = None if private else self._remote()
            rewriting, published = self._publish(repo, private, remote)
            known = self._move(repo, rewriting, published)
            over = {} if private else {old: known.get(new, new) for old, new in self._carried.items()}
            self._commits[private] = over | known
            self._gone[private] = rewriting.rewriter.blobs
            self.purge |= rewriting.rewriter.purge
            self.done = replace(
                self.done,
                refs=(*self.done.refs, *(RefPlan(ref, private) for ref in sorted(rewriting.tips))),
                commits=self.done.commits + rewriting.rewriter.rewritten,
                unsigned=self.done.unsigned + rewriting.rewriter.unsigned,
            )

    def scrub(self) -> None:
        """Takes it out of live directories, records, logs, jobs and search indexes."""
        workspace, scope = self.workspace, self.target.scope
        ref = workspace.scope(scope).ref if scope else ""
        for repo, private in repositories(workspace):
            crossing = Crossing(ref, self.purge, self._commits.get(private, {}))
            files, kept = settle(workspace, repo, [crossing], private=private)
            left = (
                LeftPlace(str(path), "the code branch tracks it, or it cannot be written") for path in kept
            )
            self.done = replace(self.done, files=self.done.files + files, left=(*self.done.left, *left))
            if self.target.concerns(private):
                note_clean(repo)

    def finish(self) -> Purged:
        """Forgets where refs were, erases what nothing refers to any more, and looks whether it is gone.

        Raises:
            RepositoryError: what is still used cannot be told, or a pack cannot be written.
        """
        states = (self.workspace.state, self.workspace.private_state)
        for repo, private in concerned(self.workspace, self.target):
            made = self._commits.get(private, {})
            replaced = {old for old, new in made.items() if old != new}
            refs = memory_refs(repo, private=private)
            # What remotes had before, where they were not reached.
            stale = {ref: oid for ref, oid in refs.tracking.items() if oid in replaced}
            _sweep_unfinished(repo.git_dir, self.purge.holds)
            old = replaced | {oid for oid in old_tips(repo) if oid not in made}
            erased = leave_epoch(repo, refs, stale, old, states)
            name = f"the {'private' if private else 'code'} repository"
            looked = objects_with(repo, self.purge.holds)
            hits = {*looked.found, *existing(repo, self._gone.get(private, ()))}
            if hits:
                erased += erase_old(repo, states, hits)
            self.done = replace(
                self.done,
                erased=self.done.erased + erased,
                scanned=self.done.scanned + looked.number,
                left=(*self.done.left, *_left_in(repo, hits, name)),
            )
        if self._dropped and not self.target.concerns(private=True):
            erased = erase_old(self.workspace.private, states)
            self.done = replace(self.done, erased=self.done.erased + erased)
        texts = Purge(self.purge.texts)
        scrub_states(self.workspace, texts)
        known = {one.where for one in self.done.left}
        left = (one for one in look_at_files(self.workspace, texts) if one.where not in known)
        self.done = replace(self.done, left=(*self.done.left, *left))
        return self.done

    def _drop_proposals(self) -> bool:
        """Drops what waits, or was decided lately, about a memory that goes as a whole; whether any did."""
        workspace, scope = self.workspace, self.target.scope
        if not scope:
            return False
        repo = workspace.private
        project = "" if scope == "user" else workspace.project_id
        found = about(repo, scope, self.target.purge.memories, project)
        note_old(repo, found.values())
        move_refs(repo, {ref: (oid, None) for ref, oid in found.items()}, MESSAGE)
        return bool(found)

    def _remote(self) -> Remote | None:
        workspace = self.workspace
        if workspace.sharing == "off" or not self.push:
            return None
        try:
            return find_remote(workspace)
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
            rewriting = rewrite(repo, refs, self.target.purge, self.mark)
            if remote is None:
                return rewriting, {}
            moves = self._moves(repo, remote, rewriting)
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
                self.pause(lost + 1)
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
            theirs = repo.ref(remote.tracking(SHARED_REF))
            if theirs is not None:
                ref = self.workspace.scope("project").ref
                peer = Peer(remote.name, remote.tracking(SHARED_REF), self.who.time)
                taken = take_in(repo, ref, theirs, MESSAGE, self.allow, peer)
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
            if branch == SHARED_REF:
                new = rewriting.rewriter.note(new, self.who)
            if new != old:
                moves[branch] = Move(branch, new, old)
        return moves

    def _move(self, repo: Repository, rewriting: Rewriting, published: Mapping[str, str]) -> dict[str, str]:
        """Moves the refs here in one go; a writer who was quicker is taken along.

        Returns:
            Old commit to the one in its place.
        """
        rewriter, refs = rewriting.rewriter, rewriting.refs
        above = published.get(SHARED_REF)
        while True:
            now = {ref: oid for ref in rewriting.tips if ref in refs.own and (oid := repo.ref(ref))}
            known = rewriter.history(list(now.values()))
            moves: dict[str, tuple[str | None, str | None]] = {}
            for ref, old in now.items():
                new = known[old]
                if refs.is_main(ref):
                    if refs.private or above is None:
                        new = rewriter.note(new, self.who)
                    else:
                        new = self._above(repo, rewriting, new, above)
                moves[ref] = (old, new)
            for ref in refs.tracking:
                if ref in rewriting.tips:
                    branch = f"refs/heads/{ref.split('/', 3)[3]}"
                    moves[ref] = (repo.ref(ref), published.get(branch))
            names = [ref for ref in moves if moves[ref][0]]
            left = {ref: old for ref, (old, _) in moves.items() if old and refs.is_main(ref)}
            note_old(repo, {*(old for old, _ in moves.values() if old), *reflog_commits(repo, names)}, left)
            try:
                move_refs(repo, moves, MESSAGE)
            except RefMoved:
                continue
            return dict(known)

    def _above(self, repo: Repository, rewriting: Rewriting, tip: str, published: str) -> str:
        """What stands here together with the commit that the remote has now."""
        if repo.is_ancestor(tip, published):
            return published
        if epoch_of(repo, tip) != rewriting.rewriter.epoch:
            tip = rewriting.rewriter.note(tip, self.who)
        return merge_commits(repo, tip, published).commit


def look_at_files(workspace: Workspace, texts: Purge) -> list[LeftPlace]:
    """Files of gitmem's state and of live directories that hold a text."""
    if not texts:
        return []
    places = (workspace.state, workspace.around.data, *(live.path for live in lives(workspace)))
    found = [path for place in places for path in files_with(place, texts, [workspace.private_path])]
    return [LeftPlace(str(path), "it cannot be written") for path in dict.fromkeys(found)]


def _left_in(repo: Repository, oids: Collection[str], name: str) -> list[LeftPlace]:
    """Where objects that could not be erased are in history, and why."""
    found = sorted(existing(repo, oids))
    if not found:
        return []
    # What no ref has but the one of changes to documents is listed as theirs; its log has it, too.
    refs = _listed(repo, f"--exclude={DOCS_REF}", "--all")
    others = _listed(repo, "--reflog", "--indexed-objects") | refs
    documents = _listed(repo, DOCS_REF) if repo.ref(DOCS_REF) is not None else {}
    fetched = _listed(repo, "--glob=refs/remotes/*/gitmem/*")
    why = dict.fromkeys(fetched, FETCHED) | {oid: PROPOSED for oid in documents if oid not in refs}
    return [
        LeftPlace(
            f"{others.get(oid) or documents.get(oid) or oid[:12]} in {name}",
            why.get(oid) or _why(repo.git_dir, oid),
        )
        for oid in found[:MOST_LEFT]
    ]


def _listed(repo: Repository, *words: str) -> dict[str, str]:
    """Objects that some refs reach, and the path of each, empty where it has none."""
    listed = repo.git.run(
        ["rev-list", "--objects", "--missing=allow-any", *words], git_dir=repo.git_dir, check=False
    ).text
    return {oid: path for oid, _, path in (line.partition(" ") for line in listed.split("\n"))}


def _why(git_dir: Path, oid: str) -> str:
    borrowed = git_dir / "objects" / "info" / "alternates"
    if borrowed.exists() and not (git_dir / "objects" / oid[:2] / oid[2:]).exists():
        with suppress(OSError):
            return (
                f"another ref or index refers to it, or it is borrowed from {borrowed.read_text().strip()}"
            )
    return "a ref, index or log that is not gitmem's refers to it"


def whole_memory(repo: Repository, tip: str, path: str) -> Purge:
    """What has to go for a memory to be gone from history.

    Args:
        path: where it stands or stood in the tree.

    Raises:
        MissingObject: history is incomplete.
    """
    contents: dict[str, set[str]] = {}
    moves: _Moves = []
    for step in repo.steps(tip):
        for before in step.before:
            moves += _moves(before)
            for place, *blobs in before:
                contents.setdefault(place, set()).update(filter(None, blobs))
    paths = _with_twins({path})
    while True:
        more = {
            there
            for old, new in moves
            for here, there in ((old[0], new[0]), (new[0], old[0]))
            if here in paths and there not in paths and _is_same(repo, old, new)
        }
        if not more:
            break
        paths |= _with_twins(more)
    said: set[str] = set()
    for place in paths:
        for oid in contents.get(place, ()):
            data = blob_or_none(repo, oid)
            if data is not None:
                said |= _said(parse(place, data))
    return Purge(memories=frozenset(paths), said=frozenset(text for text in said if unfit(text) is None))


def _moves(before: tuple[Difference, ...]) -> _Moves:
    """Pairs of a memory that went and one that came, of one agent, in one commit."""
    gone = [(path, old) for path, old, new in before if old and new is None and kind(path) == "memory"]
    come = [(path, new) for path, old, new in before if new and old is None and kind(path) == "memory"]
    return [
        (one, other)
        for one in gone
        for other in come
        if one[0].partition("/")[0] == other[0].partition("/")[0]
    ]


def _is_same(repo: Repository, old: tuple[str, str], new: tuple[str, str]) -> bool:
    """Whether one is the other renamed: the same name, or at least half of the claims."""
    sides = [blob_or_none(repo, oid) for _, oid in (old, new)]
    if sides[0] is None or sides[1] is None:
        return False
    one, other = parse(old[0], sides[0]), parse(new[0], sides[1])
    keys = [{claim.key for claim in memory.claims} for memory in (one, other)]
    common = keys[0] & keys[1]
    return one.name == other.name or 2 * len(common) >= max(map(len, keys)) > 0


def _with_twins(paths: set[str]) -> set[str]:
    return {home for path in paths for home in homes(path)}


def _said(memory: Memory) -> set[str]:
    return {memory.name, *(claim.key for claim in memory.claims)}


def _sweep_unfinished(git_dir: Path, holds: Callable[[bytes], bool]) -> int:
    """Deletes files of interrupted writes among the objects that hold a text; returns how many."""
    gone = 0
    for path in [*(git_dir / "objects").glob("??/tmp_obj*"), *(git_dir / "objects").glob("tmp_obj*")]:
        with suppress(OSError):
            if holds(zlib.decompressobj().decompress(path.read_bytes())):
                path.unlink()
                gone += 1
    return gone
