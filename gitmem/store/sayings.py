"""Which memories and logs say a thing: claims found by their words, in all scopes, hot and archived."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core.account import claims_at
from gitmem.core.claim import normal_form
from gitmem.core.daily_log import fact_of
from gitmem.core.errors import UsageError
from gitmem.core.names import kind
from gitmem.core.text import decode
from gitmem.store.commits import memory_commit
from gitmem.store.history import resolve_all
from gitmem.store.holdings import memory_files
from gitmem.store.lookup import chosen_agent, chosen_scopes
from gitmem.store.repository import MissingObject
from gitmem.store.workspace import Scope, Workspace


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
    for where, commit in commits_at(workspace, scope, at, now):
        for folder, files in memory_files(where.repo, commit, chosen_agent(agent), logs=True).items():
            for file, oid in files.items():
                rank, claims = _said(where, file, oid, sought)
                if claims:
                    found.append(Saying(where, folder, file, commit, claims, rank))
    best = min((one.rank for one in found), default=0)
    return tuple(sorted((one for one in found if one.rank < 2 or best == 2), key=lambda one: one.rank))


def commits_at(
    workspace: Workspace, scope: str | None, at: str | None, now: float | None
) -> Iterator[tuple[Scope, str]]:
    """Yields the scopes that are asked, each with the commit of its memory ref at that time."""
    scopes = chosen_scopes(workspace, scope)
    past = resolve_all(workspace, scopes, at, now) if at else None
    for where in scopes:
        commit = memory_commit(where.repo, where.ref) if past is None else past.get(where.ref)
        if commit:
            yield where, commit


def _said(scope: Scope, file: str, oid: str, sought: tuple[str, ...]) -> tuple[int, frozenset[str]]:
    """How well a memory says it, and which of its claims do so best."""
    try:
        data = scope.repo.blob(oid)
    except MissingObject:
        return 3, frozenset()
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
