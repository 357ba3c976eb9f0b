"""What a dream that waits cannot prove: asked before it is shown, accepted, or after it was changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from gitmem.core.account import claims_at, is_memory, path_of, proposals, references
from gitmem.core.merge import agent_folder
from gitmem.core.names import homes
from gitmem.dream.cards import untold
from gitmem.dream.steps import prove_branch
from gitmem.git.trees import changed_files, read_paths
from gitmem.ledger.dreams import Dream, DreamCommit
from gitmem.rules.account import NOWHERE, Lookup
from gitmem.rules.findable import Recalled
from gitmem.rules.rule import Finding
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


def failures_of(
    dream: Dream,
    now: float,
    allow: frozenset[str] = frozenset(),
    asked: Sequence[Recalled] = (),
    replay: str | None = None,
    lookup: Lookup = NOWHERE,
) -> tuple[Finding, ...]:
    """Judges a dream from the trees, whatever its commits say.

    Args:
        now: seconds since the epoch.
        allow: fingerprints of accepted secrets.
        asked: the last recalls that showed memories of the scope.
        replay: commits of some of its changes on the memory ref; they are judged instead of the branch.
        lookup: sessions and code, where they are here.

    Returns:
        What it cannot prove, claims that somebody took out of the branch by hand without a word among it;
        as notices what a person answered for.
    """
    repo = dream.scope.repo
    base = repo.ref(dream.scope.ref) or dream.base
    tip, left = (replay, dream.base) if replay else (dream.tip, "")
    found = prove_branch(repo, base, tip, now=now, allow=allow, asked=asked, lookup=lookup, left=left)
    known = {failure.claim for failure in found if failure.claim}
    silent = () if replay else _silent(dream)
    return (*found, *(failure for failure in silent if failure.claim not in known))


def by_hand(dream: Dream) -> tuple[Finding, ...]:
    """What people wrote on the branch is theirs: nobody asks who taught it."""
    what = "{}. is by hand, by {}: who taught what it says is not asked"
    return tuple(
        Finding("", 1, "unchecked", what.format(change.n, change.by), "notice")
        for change in dream.open
        if change.by
    )


def _silent(dream: Dream) -> tuple[Finding, ...]:
    gone = [
        (change, one)
        for change in dream.open
        for one in (untold(change) if change.by else ())
        if one.kind == "deleted" and one.old is not None
    ]
    if not gone:
        return ()
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(dream.tip).tree
    paths = {*filter(is_memory, changed_files(repo, *trees)), *(one.path for _, one in gone)}
    standing = {
        (agent_folder(path), claim.key)
        for path, data in read_paths(repo, trees[1], paths).items()
        for claim in claims_at(path, data)
    }
    return tuple(
        Finding(
            one.path,
            1,
            "account",
            f"{change.by} took it out by hand, and nothing says why",
            claim=one.before,
            commit=change.commit,
        )
        for change, one in gone
        if one.old is not None and (agent_folder(one.path), one.old.key) not in standing
    )


def overtaken_by(dream: Dream, change: DreamCommit, tip: str) -> Iterator[Overtaken]:
    """The claims of a change that memory itself re-worded or dropped since the dream left it."""
    repo = dream.scope.repo
    trees = repo.commit(dream.base).tree, repo.commit(tip).tree
    sources = {fate.source for fate in change.fates}
    paths = changed_files(repo, *trees) & {home for one in sources for home in homes(path_of(one))}
    if not paths:
        return
    before, after = (read_paths(repo, tree, paths) for tree in trees)
    old, new = references(before), references(after)
    standing = {(agent_folder(path_of(one)), one.rpartition("#")[2]) for one in new}
    became = {one.before: one for one in proposals(before, after)}
    for source in sorted(sources & old.keys() - new.keys()):
        one = became.get(source)
        now = one.new.text if one is not None and one.new is not None else ""
        # It may have been paged out.
        paged = (agent_folder(path_of(source)), source.rpartition("#")[2]) in standing
        if not paged and (one is None or one.kind != "moved"):
            yield Overtaken(change.n, source, old[source].text, now)
