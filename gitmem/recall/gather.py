"""Brings every catalog that applies up to date and asks it: the first half of a recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import field

from gitmem.errors import RepositoryError
from gitmem.store.candidates import Candidate, search
from gitmem.store.catalog import Catalog, Read, read_memory
from gitmem.store.commits import memory_commit
from gitmem.store.repository import Repository
from gitmem.values import dataclass


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
    limit: int = 50,
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
    found: list[tuple[Source, Candidate]] = []
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
        found += [(source, hit) for hit in hits]
    found.sort(key=lambda pair: (-pair[1].score, pair[0].scopes[pair[1].ref], pair[1].path))
    return tuple(found[:limit])
