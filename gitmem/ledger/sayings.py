"""Which memories and logs say a thing, and which claims said it until a dream took them out.

Claims are found by their words, in all scopes, hot and archived.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import lru_cache

from gitmem.core.account import claims_at, is_memory, path_of, reference
from gitmem.core.claim import Claim, normal_form
from gitmem.core.daily_log import fact_of
from gitmem.core.errors import MissingObject, UsageError
from gitmem.core.names import kind
from gitmem.core.text import decode
from gitmem.core.trailers import Fate, Provenance, parse
from gitmem.git.repository import Commit, Repository
from gitmem.ledger.accounts import TRAILER
from gitmem.ledger.holdings import Spot, chosen_agent, memory_files
from gitmem.ledger.moments import commits_at
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class Saying:
    """A memory, or a daily log, that says it.

    Attributes:
        agent: the agent's folder in the tree.
        file: path inside that folder.
        commit: the commit of the memory ref that it was read at.
        claims: ids of the claims that say it.
        rank: 0 where a claim is just these words, 1 where it has them in a row, 2 where it has them all.
    """

    scope: Scope
    agent: str
    file: str
    commit: str
    claims: frozenset[str]
    rank: int


def sayings(
    workspace: Workspace,
    text: str,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
) -> tuple[Saying, ...]:
    """Finds the memories with a claim that says something; case, white space and markup marks do not count.

    Args:
        text: the words.
        scope, agent, at, now: as for `lookup.find`.

    Returns:
        The best first, then by scope and path. Those that only hold each of the words somewhere are given
        where none holds them in a row.

    Raises:
        UsageError: no words, an unknown scope, or `at` means nothing.
    """
    sought = words_of(text)
    if not sought:
        raise UsageError(f"{text!r} has no words to look for", "For example: --text 'real database'")
    found: list[Saying] = []
    for spot, data in texts(workspace, scope, agent, at, now):
        rank, claims = _said(spot.file, data, sought)
        if claims:
            where = workspace.scope(spot.scope)
            found.append(Saying(where, spot.agent, spot.file, spot.commit, claims, rank))
    best = min((one.rank for one in found), default=0)
    return tuple(sorted((one for one in found if one.rank < 2 or best == 2), key=lambda one: one.rank))


def texts(
    workspace: Workspace,
    scope: str | None = None,
    agent: str | None = None,
    at: str | None = None,
    now: float | None = None,
    missing: list[Spot] | None = None,
) -> Iterator[tuple[Spot, bytes]]:
    """Yields memories and daily logs with their content, hot and archived.

    Args:
        scope, agent, at, now: as for `lookup.find`.
        missing: is given those whose content is not here, or damaged.
    """
    for where, commit in commits_at(workspace, scope, at, now):
        for folder, files in memory_files(where.repo, commit, chosen_agent(agent), logs=True).items():
            for file, oid in files.items():
                spot = Spot(where.name, folder, file, oid, commit)
                try:
                    data = where.repo.blob(oid)
                except MissingObject:
                    if missing is not None:
                        missing.append(spot)
                    continue
                yield spot, data


def _said(file: str, data: bytes, sought: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """How well a memory says it, and which of its claims do so best."""
    plain = unicodedata.normalize("NFC", decode(data)).casefold()
    if not all(word in plain for word in sought):
        return 3, frozenset()
    ranked: dict[int, set[str]] = {}
    for claim in claims_at(file, data):
        said = claim.key
        if kind(file) == "log" and (told := fact_of(said)):
            said = told
        ranked.setdefault(rank_of(words_of(said), sought), set()).add(claim.id)
    ranked.pop(3, None)
    best = min(ranked, default=3)
    return best, frozenset(ranked.get(best, ()))


def rank_of(words: tuple[str, ...], sought: tuple[str, ...]) -> int:
    """How well some words say others: 0 just so, 1 with them in a row, 2 with all of them, 3 not at all."""
    if words == sought:
        return 0
    if f" {' '.join(sought)} " in f" {' '.join(words)} ":
        return 1
    return 2 if set(sought) <= set(words) else 3


def words_of(text: str) -> tuple[str, ...]:
    """The words of a claim or question; case, white space and markup marks do not count."""
    return tuple(re.findall(r"\w+", normal_form(text, item=True).casefold()))


@dataclass(frozen=True)
class ReplacedClaim:
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
) -> tuple[ReplacedClaim, ...]:
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
    found: dict[tuple[str, str, str], ReplacedClaim] = {}
    for where, tip in commits_at(workspace, scope, at, now):
        for one in _accounts(where, tip, sought):
            at_agent = one.path.partition("/")[0]
            key = (where.name, at_agent, one.claim.key)
            if key not in known and (folder is None or folder == at_agent):
                found.setdefault(key, one)
    best = min((one.rank for one in found.values()), default=0)
    fit = [one for one in found.values() if one.rank < 2 or best == 2]
    return tuple(sorted(fit, key=lambda one: (one.rank, -one.time)))


def _accounts(scope: Scope, tip: str, sought: tuple[str, ...]) -> Iterator[ReplacedClaim]:
    repo = scope.repo
    claims = _Claims(repo)
    try:
        for commit in repo.history(tip):
            if TRAILER in commit.message and commit.parents:
                yield from _of_commit(scope, commit, parse(commit.message), claims, sought)
    except MissingObject:
        # What is newer than the damage was told.
        return


def _of_commit(
    scope: Scope, commit: Commit, told: Provenance, claims: _Claims, sought: tuple[str, ...]
) -> Iterator[ReplacedClaim]:
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
        yield ReplacedClaim(
            scope, path, claim, commit.oid, before, fate, into, dream, who.name, who.time, rank
        )


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
