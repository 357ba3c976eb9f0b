"""Bringing a dream up to date: what memory learned since is merged into its branch."""

from __future__ import annotations

from collections.abc import Sequence

from gitmem.core.errors import UsageError
from gitmem.dream.proving import Overtaken, failures_of, overtaken_by
from gitmem.git.repository import Signature
from gitmem.git.trees import changed_files
from gitmem.ledger.decide import with_memory
from gitmem.ledger.dreams import Dream, read_dream
from gitmem.ledger.proposals import dreams_in
from gitmem.ledger.workspace import Scope
from gitmem.rules.account import NOWHERE, Lookup, errors
from gitmem.rules.findable import Recalled
from gitmem.rules.rule import Finding
from gitmem.values import dataclass


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
    overtaken = tuple(one for change in dream.open for one in overtaken_by(dream, change, tip))
    merged = with_memory(dream, tip)
    now = read_dream(scope, dreams_in(scope).waiting + dream.id, merged, tip, tip, dream.remote)
    still = {change.n for change in now.open}
    differs = changed_files(repo, repo.commit(tip).tree, repo.commit(merged).tree)
    moot = tuple(one.n for one in dream.open if one.n not in still or not differs & one.files.keys())
    left = tuple(one for one in overtaken if one.n not in moot)
    found = failures_of(now, author.time, allow, asked, lookup=lookup)
    return Refreshed(now, merged, moot, left, errors(found))
