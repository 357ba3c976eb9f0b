"""What becomes of claims through nights of dreams: each is followed from its arrival by account."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitmem.core.account import account, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.memory import parse
from gitmem.core.merge import Files, agent_folder
from gitmem.core.trailers import Fate, FateKind


@dataclass
class Followed:
    """One claim that arrived.

    Attributes:
        ref: what it is now, or was when it went, as `<file>#<12 hex>`.
        came: the same on its arrival.
        described: whether it is a memory's description.
        fates: kinds of all that became of it, in order.
        lost: why it is missing without a true account; empty where it is not.
    """

    ref: str
    came: str
    claim: Claim
    described: bool = False
    fates: tuple[FateKind, ...] = ()
    lost: str = ""

    @property
    def alive(self) -> bool:
        """Whether it stands, or what took its place."""
        return not self.lost and "dropped" not in self.fates

    @property
    def path(self) -> str:
        """The memory that it is in."""
        return path_of(self.ref)


@dataclass(frozen=True)
class Survival:
    """What became of all claims that arrived; the four add up to `claims`.

    Attributes:
        by_hash: those whose words stand in some memory of their agent.
        by_account: others, that an unbroken account leads to a claim that stands.
        dropped: given up with a reason, which is an account as well.
        lost: all others.
        superseded: of `by_account`, those in whose place stands what says something else.
    """

    claims: int
    by_hash: int
    by_account: int
    dropped: int
    lost: int
    superseded: int


class Claims:
    """All claims that arrived so far."""

    def __init__(self) -> None:
        self.all: list[Followed] = []

    def arrive(self, files: Files) -> tuple[Followed, ...]:
        """Adds the claims of new memories, and tells which they are."""
        said = {
            path: {claim.id for claim in parse(path, data).parsed.claims} for path, data in files.items()
        }
        fresh = tuple(
            Followed(ref, ref, claim, claim.id not in said[path_of(ref)])
            for ref, claim in references(files).items()
        )
        self.all += fresh
        return fresh

    def follow(self, before: Files, after: Files, fates: Sequence[Fate]) -> None:
        """Takes in what a dream did, from the trees, with what is said of it."""
        done = account(before, after, fates)
        told = {fate.source: fate for fate in done.fates}
        lost = {one.source: one.problem for one in done.unaccounted}
        for one in self.all:
            if not one.alive:
                continue
            if one.ref in lost:
                one.lost = lost[one.ref]
            elif fate := told.get(one.ref):
                one.fates = (*one.fates, fate.kind)
                one.ref = fate.target or one.ref

    def survival(self, files: Files) -> Survival:
        """Counts what became of them, against the tree as it is."""
        here, words = _standing(files)
        by_hash = by_account = dropped = superseded = 0
        for one in self.all:
            if (agent_folder(path_of(one.came)), one.claim.key) in words:
                by_hash += 1
            elif one.alive and one.ref in here:
                by_account += 1
                superseded += "superseded" in one.fates
            elif not one.lost and "dropped" in one.fates:
                dropped += 1
        lost = len(self.all) - by_hash - by_account - dropped
        return Survival(len(self.all), by_hash, by_account, dropped, lost, superseded)

    def missing(self, files: Files) -> Iterator[Followed]:
        """Those that are lost."""
        here, words = _standing(files)
        for one in self.all:
            stands = (agent_folder(path_of(one.came)), one.claim.key) in words
            if not stands and (one.lost or ("dropped" not in one.fates and one.ref not in here)):
                yield one


def _standing(files: Files) -> tuple[dict[str, Claim], set[tuple[str, str]]]:
    """The claims of a tree by name, and what is said there, by agent."""
    here = references(files)
    return here, {(agent_folder(path_of(ref)), claim.key) for ref, claim in here.items()}
