"""What a purge is to take out, of which refs, and what it did: values, and what only looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gitmem.core.purge import Purge
from gitmem.store.epochs import Epoch, epoch_of
from gitmem.store.lookup import Found
from gitmem.store.memory_refs import MemoryRefs, lines, memory_refs
from gitmem.store.new_epoch import rewrite
from gitmem.store.old_epochs import old_tips
from gitmem.store.repository import Repository, Signature
from gitmem.store.scrubbing import files_with, scrub_state
from gitmem.store.whole_memory import whole_memory
from gitmem.store.workspace import LiveDirectory, Workspace


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
class Left:
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
    left: tuple[Left, ...] = ()
    pushed: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    unreachable: str = ""


@dataclass(frozen=True)
class Options:
    """How a purge is done.

    Attributes:
        mark: of the new epoch, 8 random hexadecimal digits.
        who: who purges, and when.
        push: whether remotes are rewritten, too.
        allow: fingerprints of accepted secrets.
        pause: waits after a lost race; called with the number of races lost so far, from 1.
    """

    mark: str
    who: Signature
    push: bool = True
    allow: frozenset[str] = frozenset()
    pause: Callable[[int], None] = lambda _: None


def memory_target(workspace: Workspace, found: Found) -> Target:
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
    for repo, private in repositories(workspace, target):
        rewriting = rewrite(
            repo, workspace.git, rewritable(workspace, repo, private, target), target.purge, "", dry=True
        )
        refs += [RefPlan(ref, private) for ref in sorted(rewriting.tips)]
        commits += rewriting.told.rewritten
        held += rewriting.told.purged
        paths |= rewriting.told.paths
        unfinished = unfinished or bool(old_tips(repo))
    live = tuple(
        path
        for one in lives(workspace)
        if not target.scope and one.path.is_dir()
        for path in files_with(one.path, target.purge)
    )
    return PurgePlan(tuple(refs), commits, held, tuple(sorted(paths)), live, unfinished)


def repositories(workspace: Workspace, target: Target) -> list[tuple[Repository, bool]]:
    """The repositories that a purge may concern, and whether each is the private one."""
    found: list[tuple[Repository, bool]] = []
    if target.concerns(private=False):
        found.append((workspace.code, False))
    if target.concerns(private=True) and workspace.has_private:
        found.append((workspace.private, True))
    return found


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


def lives(workspace: Workspace) -> tuple[LiveDirectory, ...]:
    """Live directories of all work trees."""
    found: dict[Path, LiveDirectory] = {}
    for top in [tree.path for tree in workspace.worktrees]:
        for live in workspace.live_directories(top):
            found.setdefault(live.path, live)
    return tuple(found.values())


def scrub_states(workspace: Workspace, texts: Purge) -> None:
    """Takes texts out of gitmem's own state, and search indexes away."""
    scrub_state(workspace.state, texts)
    scrub_state(workspace.private_state, texts)
    scrub_state(workspace.around.data, texts, [workspace.private_path, workspace.private_state])
