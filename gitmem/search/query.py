"""The search: a question goes to words, links and times, and what they say becomes one order."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from time import gmtime, strftime
from typing import TYPE_CHECKING

from gitmem.core.errors import RepositoryError
from gitmem.core.limits import CANDIDATES
from gitmem.search import candidates
from gitmem.search.candidates import SearchEntry, SearchSpace, is_line
from gitmem.search.words import storable
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.git.repository import Repository
    from gitmem.search.catalog import Catalog


@dataclass(frozen=True)
class Candidate:
    """A memory that shares terms with a question, or a fact of a daily log that no memory has yet.

    Attributes:
        path: in the tree of the ref, beginning with the agent's folder; of a log's line `<path>#<12 hex>`.
        blob: object name of its content; of a log's line, the name that git would give the line.
        score: the higher the better; comparable between catalogs only roughly.
        parts: what made the score. Of the question: `asked` (its terms), `worth` (their rarities together),
            `telling` (its terms that say what it is about, `words.tells`), `word` (what one of these is
            worth that some memory has). Of what the memory matches: `covered` (the share of all that is
            asked, by rarity), `matched` (terms), `headed` (of these, in the name or description), `told`
            (terms that tell), `decisive` (of these, in the name or description).
        time: author time of the last taught change, epoch seconds; 0 where unknown.
        why: what each strategy contributed to `score`.
        commit: the commit it was read at, for a search as of then; empty for the tip.
    """

    ref: str
    agent: str
    path: str
    blob: str
    score: float
    parts: Mapping[str, float]
    name: str
    description: str
    type: str
    archived: bool
    time: int
    commit: str = ""
    why: Mapping[str, float] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """`memory`, or `log` for a line of a daily log."""
        return "log" if is_line(self.path) else "memory"

    @property
    def file(self) -> str:
        """Path of the file inside the agent's folder."""
        file = self.path.partition("/")[2]
        return file.rpartition("#")[0] if is_line(self.path) else file


def search(
    catalog: Catalog,
    query: str,
    refs: Collection[str],
    agents: Collection[str] | None = None,
    limit: int = CANDIDATES,
    when: Mapping[str, str] | None = None,
    now: int | None = None,
) -> tuple[Candidate, ...]:
    """Finds the memories that best match a question.

    Args:
        query: any text: it is cut into terms, and nothing in it is query syntax.
        refs: full names of the refs to search.
        agents: name spaces to search; None for all.
        when: ref to commit, for refs to be searched as of then; each must have been laid out.
        now: epoch seconds, from which times that the question names, and the days of logs, are counted;
            None names no times.

    Returns:
        At most `limit` candidates, best first; equal scores by ref and path. Empty where nothing matches.
        Facts of the last days' logs are among them, those left out that a memory which was found says.
    """
    if not refs or limit < 1:
        return ()
    while True:
        times_made = catalog.made_anew
        found = _search(SearchSpace(catalog, refs, agents, when or {}, now), query, limit, now)
        if catalog.made_anew == times_made:
            return found


def _search(ground: SearchSpace, query: str, limit: int, now: int | None) -> tuple[Candidate, ...]:
    question = candidates.ask(ground.catalog, query)
    found = candidates.find(ground, question, limit)
    if not found.scores:  # the beginning of a word may match where the word does not
        completed = candidates.ask(ground.catalog, query, completed=True)
        if any(term.ways for term in completed.asked):
            question, found = completed, candidates.find(ground, completed, limit)
    entries = dict(found.entries)
    leading = sorted(
        ((entries[id], score) for id, score in found.scores.items()), key=lambda one: _best_first(*one)
    )
    scores = {
        "words": found.scores,
        "links": linked(ground, leading, entries),
        "times": _timed(ground, query, now, entries, question.corpus.texts),
    }
    fused = fuse(scores)
    order = [(entries[id], sum(why.values())) for id, why in fused.items()]
    if lines := {entry.blob for entry, _ in order if entry.is_line}:
        from gitmem.search.text import repeated  # most scopes keep no log

        memories = [entry.blob for entry, _ in order if not entry.is_line]
        told = repeated(lines, memories, found.words)
        order = [one for one in order if one[0].blob not in told]
    order = sorted(order, key=lambda one: _best_first(*one))[:limit]
    described = ground.catalog.described({entry.blob for entry, _ in order})
    parts = candidates.Parts(question)
    return tuple(
        _candidate(entry, *described[entry.blob], score, fused[entry.id], parts, found)
        for entry, score in order
        if entry.blob in described
    )


def _best_first(entry: SearchEntry, score: float) -> tuple[float, str, str]:
    return (-score, entry.ref, entry.path)


def _candidate(
    entry: SearchEntry,
    oid: str,
    name: str,
    description: str,
    type: str,
    score: float,
    why: Mapping[str, float],
    parts: candidates.Parts,
    found: candidates.SearchHit,
) -> Candidate:
    words = found.words.get(entry.blob, "")
    return Candidate(
        ref=entry.ref,
        agent=entry.agent,
        path=entry.path,
        blob=oid,
        score=round(score, 6),
        parts=parts.of(words),
        name=_line_name(entry) if entry.is_line else storable(name) or entry.stem,
        description=storable(description),
        type=storable(type),
        archived=bool(entry.archived),
        time=entry.time,
        commit=entry.commit,
        why=why,
    )


def _line_name(entry: SearchEntry) -> str:
    return strftime("log %Y-%m-%d %H:%M", gmtime(entry.time))


def fuse(found: Mapping[str, Mapping[int, float]]) -> dict[int, dict[str, float]]:
    """Gathers what each strategy says of each entry.

    Ranks are not fused: with equal weights that measured worse than the lexical order alone.

    Args:
        found: strategy to an entry's `id` to what it contributes.

    Returns:
        The `id` of each entry to strategy to contribution, rounded, without those that are nothing.
    """
    fused: dict[int, dict[str, float]] = {}
    for strategy, scores in found.items():
        for entry, score in scores.items():
            if rounded := round(score, 6):
                fused.setdefault(entry, {})[strategy] = rounded
    return fused


MOST_RAISED = 5.0
"""Factor by which scores are raised at most: among three memories rarity tells next to nothing."""


@dataclass(frozen=True)
class RecallSource:
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
    sources: Sequence[RecallSource],
    agents: Collection[str] | None = None,
    limit: int = CANDIDATES,
    now: int | None = None,
) -> tuple[tuple[RecallSource, Candidate], ...]:
    """Finds candidates in every source.

    Args:
        agents: name spaces that apply; None for all.
        limit: candidates at most, over all sources.
        now: epoch seconds, from which times that the question names are counted; None names none.

    Returns:
        Candidates with their source, best first. A source whose index another process is just writing
        answers from an older state.
    """
    found: list[list[tuple[RecallSource, Candidate]]] = []
    for source in sources:
        for ref in source.scopes:
            if ref in source.at:
                source.catalog.lay_out(source.repo, ref, source.at[ref])
            else:
                # A ref that cannot be read takes nothing from what the index knows of it and of others.
                with suppress(RepositoryError):
                    source.catalog.bring_up_to_date(source.repo, ref, _tip(source, ref))
        hits = search(source.catalog, query, source.scopes.keys(), agents, limit, source.at, now)
        found.append([(source, hit) for hit in hits])
    pairs = _on_one_scale(found)
    pairs.sort(key=lambda pair: (-pair[1].score, pair[0].scopes[pair[1].ref], pair[1].path))
    return tuple(pairs[:limit])


def _tip(source: RecallSource, ref: str) -> str | None:
    """Where a memory ref stands; what the index describes was looked at when it came there.

    Nearly every prompt finds it so: then no object is opened, and no git runs for it.

    Raises:
        RepositoryError: it cannot be read, or is no memory.
    """
    tip = source.repo.ref(ref)
    if tip == source.catalog.tip(ref):
        return tip
    from gitmem.ledger.land import memory_commit

    return memory_commit(source.repo, ref)


def _on_one_scale(
    found: Sequence[Sequence[tuple[RecallSource, Candidate]]],
) -> list[tuple[RecallSource, Candidate]]:
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
    return one.parts.get("worth", 0.0)


def _times(one: Candidate, factor: float) -> Candidate:
    why = {name: share * factor for name, share in one.why.items()}
    return replace(one, score=one.score * factor, why=why)


LINKED = 0.15
"""Share of a candidate's score that its neighbours by link get, the best of several."""

LINKING = 10
"""Best candidates whose links are followed."""

MOST_LINKS = 200
"""Links followed at most: an index of everything links to everything, and says nothing."""


def linked(
    ground: SearchSpace, candidates: Iterable[tuple[SearchEntry, float]], entries: dict[int, SearchEntry]
) -> Mapping[int, float]:
    """Finds what is one link away, within the same ref and agent.

    Args:
        candidates: the best first.
        entries: those that were found, by `id`; what this finds is put in.

    Returns:
        The `id` of each entry to what it gets.
    """
    found: dict[int, float] = {}
    sources = list(candidates)[:LINKING]
    if not sources:
        return found
    beside = _beside(ground, {entry.blob for entry, _ in sources})
    if not beside:
        return found
    where: dict[int, list[SearchEntry]] = {}
    for entry in ground.entries({other for others in beside.values() for other in others}):
        where.setdefault(entry.blob, []).append(entry)
    for source, score in sources:
        for other in beside.get(source.blob, ()):
            for entry in where.get(other, ()):
                if (entry.ref, entry.agent) == (source.ref, source.agent) and entry.id != source.id:
                    entries[entry.id] = entry
                    found[entry.id] = max(found.get(entry.id, 0.0), LINKED * score)
    return found


def _beside(ground: SearchSpace, blobs: set[int]) -> dict[int, set[int]]:
    """Texts that each text links to or is linked from."""
    numbers = ",".join(map(str, sorted(blobs)))
    rows = ground.catalog.read(
        "SELECT l.blob, c.blob FROM link l CROSS JOIN called c ON c.name = l.name"  # noqa: S608
        f" WHERE l.blob IN ({numbers}) UNION ALL "
        "SELECT c.blob, l.blob FROM called c CROSS JOIN link l ON l.name = c.name"
        f" WHERE c.blob IN ({numbers}) LIMIT {MOST_LINKS}"
    )
    found: dict[int, set[int]] = {}
    for blob, other in rows:
        if blob != other:
            found.setdefault(blob, set()).add(other)
    return found


_MONTHS = re.compile(
    r"(?<![a-z])(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])"
)
_UNITS = frozenset({"day", "week", "month", "quarter", "year", "tonight", "19", "20"})


def may_name_time(query: str) -> bool:
    """Whether a question may name a time at all; most do not, and need no look at how."""
    lower = query.casefold()
    return any(unit in lower for unit in _UNITS) or bool(_MONTHS.search(lower))


def _timed(
    ground: SearchSpace, query: str, now: int | None, entries: dict[int, SearchEntry], total: int
) -> Mapping[int, float]:
    """See `periods.timed`; without a present no time is named."""
    if now is None or not may_name_time(query):
        return {}
    from gitmem.search.periods import spans, timed  # patterns of dates take a tenth of a short process

    return timed(ground, spans(query, now), entries, total)
