"""Claims that a dream superseded, dropped or merged: found by their words, with what became of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

from gitmem.core.account import claims_at, is_memory, path_of, reference
from gitmem.core.claim import Claim
from gitmem.core.trailers import Fate, Provenance, parse
from gitmem.store.lookup import chosen_agent
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.sayings import commits_at, rank_of, words_of
from gitmem.store.workspace import Scope, Workspace
from gitmem.values import dataclass

_TRAILER = "Gitmem-Claim:"


@dataclass(frozen=True)
class Replaced:
    """A claim that memory does not say any more, and the commit that says why.

    Attributes:
        path: the memory that it stood in, from the root of the tree.
        commit: that took it out.
        before: the commit in which it stood last.
        into: the claim that it went into; None where it was dropped.
        dream: id of the dream, where a person accepted it here; else empty.
        by: author of the commit.
        time: author time, seconds since the epoch.
        rank: as for `Saying`.
    """

    scope: Scope
    path: str
    claim: Claim
    commit: str
    before: str
    fate: Fate
    into: Claim | None
    dream: str
    by: str
    time: int
    rank: int


def replaced(
    workspace: Workspace,
    text: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
    known: Collection[tuple[str, str, str]] = (),
) -> tuple[Replaced, ...]:
    """Finds claims that said something until a dream took them out.

    Args:
        text, scope, agent, at, now: as for `sayings`.
        known: (scope, agent's folder, normal form) of claims that are said still.

    Returns:
        Of each claim the newest account; the best match first, then the newest. Those that only hold each
        of the words somewhere are given where none holds them in a row.
    """
    sought = words_of(text)
    folder = chosen_agent(agent)
    found: dict[tuple[str, str, str], Replaced] = {}
    for where, tip in commits_at(workspace, scope, at, now):
        for one in _accounts(where, tip, sought):
            at_agent = one.path.partition("/")[0]
            key = (where.name, at_agent, one.claim.key)
            if key not in known and (folder is None or folder == at_agent):
                found.setdefault(key, one)
    best = min((one.rank for one in found.values()), default=0)
    fit = [one for one in found.values() if one.rank < 2 or best == 2]
    return tuple(sorted(fit, key=lambda one: (one.rank, -one.time)))


def _accounts(scope: Scope, tip: str, sought: tuple[str, ...]) -> Iterator[Replaced]:
    repo = scope.repo
    claims = _Claims(repo)
    try:
        for commit in repo.history(tip):
            if _TRAILER in commit.message and commit.parents:
                yield from _of_commit(scope, commit, parse(commit.message), claims, sought)
    except MissingObject:
        # What is newer than the damage was told.
        return


def _of_commit(
    scope: Scope, commit: Commit, told: Provenance, claims: _Claims, sought: tuple[str, ...]
) -> Iterator[Replaced]:
    before = commit.parents[0]
    dream = told.reviewed.partition(" ")[0] if told.writer == "dream" else ""
    for fate in told.claims:
        if fate.kind == "kept":
            continue
        claim = claims.named(before, fate.source)
        # What a commit says of a claim that it left where it was is not so.
        gone = claim is not None and claims.named(commit.oid, fate.source) is None
        rank = rank_of(words_of(claim.key), sought) if claim is not None else 3
        if claim is None or not gone or rank == 3:
            continue
        into = claims.named(commit.oid, fate.target) if fate.target else None
        who = commit.author
        path = path_of(fate.source)
        yield Replaced(scope, path, claim, commit.oid, before, fate, into, dream, who.name, who.time, rank)


class _Claims:
    """Claims of memories at commits, by the name that a trailer gives them."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._at = lru_cache(maxsize=4096)(self._read)

    def named(self, oid: str, ref: str) -> Claim | None:
        path = path_of(ref)
        return self._at(oid, path).get(ref) if is_memory(path) else None

    def _read(self, oid: str, path: str) -> dict[str, Claim]:
        try:
            entry = self._repo.entry(self._repo.commit(oid).tree, path)
            data = self._repo.blob(entry.oid) if entry else None
        except MissingObject:
            return {}
        return (
            {reference(path, claim): claim for claim in claims_at(path, data)} if data is not None else {}
        )
