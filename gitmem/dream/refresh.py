"""Bringing a dream up to date: what memory learned since is merged into its branch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from gitmem.core.account import path_of, proposals, references
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.dream.branch import Dream, DreamCommit, read_dream
from gitmem.dream.editing import local_branch
from gitmem.dream.proving import failures_of
from gitmem.rules.account import NOWHERE, Lookup, errors
from gitmem.rules.findable import Recalled
from gitmem.rules.rule import Finding
from gitmem.store.repository import Signature
from gitmem.store.side_branches import with_base
from gitmem.store.trees import changed_files, read_paths
from gitmem.store.workspace import Scope
from gitmem.values import dataclass


@dataclass(frozen=True)
class Overtaken:
    """A claim that a change is about, and that is no longer what it was when the dream began.

    Attributes:
        n: number of the change.
        claim: `<file>#<12 hex>`.
        text: as it was then.
        now: what it says now; empty where it is gone.
    """

    n: int
    claim: str
    text: str
    now: str

    @property
    def what(self) -> Literal["gone", "changed"]:
        """What happened to it."""
        return "changed" if self.now else "gone"


@dataclass(frozen=True)
class Refreshed:
    """What came of it.

    Attributes:
        dream: as it is now.
        merged: the merge commit; empty where the dream was up to date.
        moot: numbers of changes that are in memory by now, or that change nothing there any more.
        overtaken: what memory changed under the changes that are still open; what arrived is kept.
        failures: what the dream cannot prove as it is now.
    """

    dream: Dream
    merged: str
    moot: tuple[int, ...] = ()
    overtaken: tuple[Overtaken, ...] = ()
    failures: tuple[Finding, ...] = ()


def refresh(
    scope: Scope,
    dream: Dream,
    author: Signature,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[Recalled] = (),
    lookup: Lookup = NOWHERE,
) -> Refreshed:
    """Merges the memory ref into a dream's branch, and proves it anew.

    The merge is the one that a sync makes of a side branch: fixed by its two parents, with the memory's
    own indexes. What arrived stays; where both changed one claim, both versions stand, disputed.

    Args:
        author: the person, at the present.
        allow: fingerprints of accepted secrets.
        asked: the last recalls that showed memories of the scope.
        lookup: sessions and code, where they are here.

    Raises:
        UsageError: the scope has no memory.
        CheckFailed: the branch was decided, or moved, meanwhile.
        RepositoryError: the two cannot be merged.
    """
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None:
        raise UsageError(f"There is no memory of the scope {scope.name}")
    if repo.is_ancestor(tip, dream.tip):
        found = failures_of(dream, author.time, allow, asked, lookup=lookup)
        return Refreshed(dream, "", failures=errors(found))
    overtaken = tuple(one for change in dream.open for one in _overtaken(dream, change, tip))
    ref = local_branch(dream)
    merged = with_base(repo, dream.tip, tip)
    if merged == tip:
        raise CheckFailed(f"All of {dream.id} is in memory already", "See what waits: git mem review")
    repo.move_ref(ref, merged, dream.tip, f"gitmem dream: refresh {dream.id}")
    now = read_dream(scope, ref, merged, tip, tip, dream.remote)
    still = {change.n for change in now.open}
    differs = changed_files(repo, repo.commit(tip).tree, repo.commit(merged).tree)
    moot = tuple(one.n for one in dream.open if one.n not in still or not differs & one.files.keys())
    left = tuple(one for one in overtaken if one.n not in moot)
    found = failures_of(now, author.time, allow, asked, lookup=lookup)
    return Refreshed(now, merged, moot, left, errors(found))


def _overtaken(dream: Dream, change: DreamCommit, tip: str) -> Iterator[Overtaken]:
    """The claims of a change that memory itself re-worded or dropped since the dream left it."""
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(tip).tree
    sources = {fate.source for fate in change.fates}
    paths = changed_files(repo, *trees) & set(map(path_of, sources))
    if not paths:
        return
    before, after = (read_paths(repo, tree, paths) for tree in trees)
    old, new = references(before), references(after)
    became = {one.before: one for one in proposals(before, after)}
    for source in sorted(sources & old.keys() - new.keys()):
        one = became.get(source)
        now = one.new.text if one is not None and one.new is not None else ""
        if one is None or one.kind != "moved":
            yield Overtaken(change.n, source, old[source].text, now)
