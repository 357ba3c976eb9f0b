"""Brings every catalog that applies up to date and asks it: the first half of a recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import CANDIDATES
from gitmem.search.index import Catalog, Read, read_memory
from gitmem.search.query import Candidate, search
from gitmem.store.commits import memory_commit
from gitmem.store.repository import Repository
from gitmem.values import dataclass

MOST_RAISED = 5.0
"""Factor by which scores are raised at most: among three memories rarity tells next to nothing."""


@dataclass(frozen=True)
class Source:
    """One repository to recall from.

    Attributes:
        scopes: full ref name to scope (`user`, `project`, `local`).
        at: ref to commit, to answer as of then; a ref that is not named here answers from its tip.
    """

    repo: Repository
    catalog: Catalog
    scopes: Mapping[str, str]
    at: Mapping[str, str] = field(default_factory=dict)


def gather(
    query: str,
    sources: Sequence[Source],
    agents: Collection[str] | None = None,
    limit: int = CANDIDATES,
    read: Read = read_memory,
    now: int | None = None,
) -> tuple[tuple[Source, Candidate], ...]:
    """Finds candidates in every source.

    Args:
        agents: name spaces that apply; None for all.
        limit: candidates at most, over all sources.
        read: parser of memory files, for what is not indexed yet.
        now: epoch seconds, from which times that the question names are counted; None names none.

    Returns:
        Candidates with their source, best first. A source whose index another process is just writing
        answers from an older state.
    """
    found: list[list[tuple[Source, Candidate]]] = []
    for source in sources:
        for ref in source.scopes:
            if ref in source.at:
                source.catalog.lay_out(source.repo, ref, source.at[ref], read)
            else:
                # A ref that cannot be read takes nothing from what the index knows of it and of others.
                with suppress(RepositoryError):
                    tip = memory_commit(source.repo, ref)
                    source.catalog.bring_up_to_date(source.repo, ref, tip, read)
        hits = search(source.catalog, query, source.scopes.keys(), agents, limit, source.at, now)
        found.append([(source, hit) for hit in hits])
    pairs = _on_one_scale(found)
    pairs.sort(key=lambda pair: (-pair[1].score, pair[0].scopes[pair[1].ref], pair[1].path))
    return tuple(pairs[:limit])


def _on_one_scale(found: Sequence[Sequence[tuple[Source, Candidate]]]) -> list[tuple[Source, Candidate]]:
    """Makes scores of several repositories comparable.

    A word is rarer among thousands of memories than among three, and a score counts rarity: a full match in
    a small repository would lie below a partial one in a large one.
    """
    worth = [max((_asked_worth(one) for _, one in pairs), default=0.0) for pairs in found]
    most = max(worth, default=0.0)
    scaled = []
    for pairs, own in zip(found, worth, strict=True):
        factor = min(MOST_RAISED, most / own) if own else 1.0
        scaled += [(source, one if factor == 1.0 else _times(one, factor)) for source, one in pairs]
    return scaled


def _asked_worth(one: Candidate) -> float:
    """The rarity of all that was asked, in the repository that a candidate is from."""
    covered = one.parts.get("covered", 0.0)
    return one.parts.get("rarity", 0.0) / covered if covered else 0.0


def _times(one: Candidate, factor: float) -> Candidate:
    why = {name: share * factor for name, share in one.why.items()}
    return replace(one, score=one.score * factor, why=why)
