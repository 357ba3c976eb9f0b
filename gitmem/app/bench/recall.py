"""Measures recall on a corpus, through the catalog and the search that answer a person."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

from gitmem.app.bench.corpus import Given, Query, Space
from gitmem.app.bench.ground import REF, Grown, build, number_of, read_line
from gitmem.core.limits import CANDIDATES, RECALLED
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand
from gitmem.ledger.files import CATALOG
from gitmem.search.gate import select
from gitmem.search.index import Catalog
from gitmem.search.query import Candidate, search

DEPTHS = (1, 5, 10)

PROGRESS_SECONDS = 2.0

MANY = 5_000
"""Memories from which on writing or indexing them takes more than a moment."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Asked:
    """What came of one query.

    Attributes:
        ranked: ids of all candidates, best first: the order before the choice.
        selected: ids of those that the default choice shows, at most five.
        relevant: ids of what answers it, those that were there to be found.
        missing: ids that the query names and its space does not hold, or did not by then.
        ms: milliseconds that search and choice took.
    """

    space: str
    query: Query
    ranked: tuple[str, ...]
    selected: tuple[str, ...]
    relevant: tuple[str, ...]
    missing: tuple[str, ...]
    ms: float

    @property
    def unanswerable(self) -> bool:
        """Whether all that the query names is missing, so that nothing can be said of it."""
        return not self.relevant and bool(self.missing)

    @property
    def first(self) -> int | None:
        """Rank of the first that is relevant, from 1 on."""
        return next((rank for rank, one in enumerate(self.ranked, 1) if one in self.relevant), None)

    def share(self, depth: int) -> float:
        """Share of what is relevant among the best so many."""
        return len(set(self.ranked[:depth]) & set(self.relevant)) / len(self.relevant)

    @property
    def selected_share(self) -> float:
        """Share of what is relevant among what is shown."""
        return len(set(self.selected) & set(self.relevant)) / len(self.relevant)


@dataclass
class Measured:
    """All queries, and what the indexes cost.

    Attributes:
        index_seconds: time that the catalogs took to read and index their lines, together.
        index_bytes: size of their files, together.
    """

    given: Given
    asked: list[Asked] = field(default_factory=list)
    index_seconds: float = 0.0
    index_bytes: int = 0


def measure(given: Given, git: GitCommand, folder: Path, now: int, say: Progress) -> Measured:
    """Asks every query of its space.

    Args:
        folder: an empty one, for the repository and one catalog at a time.
        now: epoch seconds, for spaces whose lines have no time; else the present is a space's newest time.
        say: told how far it is, every two seconds.

    Raises:
        RepositoryError: git failed.
    """
    measured = Measured(given)
    total = sum(len(space.queries) for space in given.spaces)
    lines = sum(len(space.lines) for space in given.spaces)
    if lines >= MANY:
        say(f"writing {lines:,} memories in {len(given.spaces):,} spaces")
    repo, grown = build(git, folder / "corpus.git", given.spaces)
    told = perf_counter()
    try:
        for number, (space, history) in enumerate(zip(given.spaces, grown, strict=True), 1):
            if not space.queries:
                continue
            if len(space.lines) >= MANY:
                say(f"indexing {len(space.lines):,} memories")
            for asked in _ask_all(measured, repo, space, history, folder / "catalog", now):
                measured.asked.append(asked)
                if perf_counter() - told > PROGRESS_SECONDS:
                    told = perf_counter()
                    spaces = f"space {number} of {len(given.spaces)}"
                    say(f"{spaces}, {len(measured.asked)} of {total} questions")
    finally:
        repo.close()
    return measured


def _ask_all(
    measured: Measured, repo: GitRepository, space: Space, history: Grown, folder: Path, now: int
) -> Iterator[Asked]:
    begun = perf_counter()
    catalog = Catalog.open(folder)
    try:
        catalog.bring_up_to_date(repo, REF, history.tip, read_line)
        measured.index_seconds += perf_counter() - begun
        present = max((time for time in history.times if time), default=now)
        times = {line.id: line.time or 0 for line in space.lines}
        for query in space.queries:
            limit = present if query.at is None else query.at
            there = [
                one for one in query.relevant if one in times and (query.at is None or times[one] <= limit)
            ]
            then = {} if query.at is None else _then(catalog, repo, history, query.at)
            begun = perf_counter()
            found: Sequence[Candidate] = ()
            if then is not None:
                found = search(catalog, query.text, (REF,), limit=CANDIDATES, when=then, now=limit)
            chosen = select(found).chosen[:RECALLED]
            ms = 1000 * (perf_counter() - begun)
            missing = tuple(one for one in query.relevant if one not in there)
            yield Asked(
                space.name, query, _ids(space, found), _ids(space, chosen), tuple(there), missing, ms
            )
    finally:
        catalog.close()
        measured.index_bytes += (folder / CATALOG).stat().st_size
        shutil.rmtree(folder)


def _ids(space: Space, candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(space.lines[number_of(one.path)].id for one in candidates)


def _then(catalog: Catalog, repo: GitRepository, history: Grown, at: int) -> dict[str, str] | None:
    """The commit of the ref as of then, laid out; None where nothing existed yet."""
    commit = history.by(at)
    if commit is None:
        return None
    if commit == history.tip:
        return {}
    catalog.lay_out(repo, REF, commit, read_line)
    return {REF: commit}
