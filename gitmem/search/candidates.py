"""Which texts share words with a question, at the tips of refs or in a tree of the past.

Sought roughly by the rarest words, then scored exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from gitmem.search.score import REACH, Corpus, QueryTerm, ScoredText, rarity, read_text, scores
from gitmem.search.words import (
    FIELD,
    HEADED,
    KIND_BITS,
    STRONG,
    WEAK,
    char,
    number_of,
    tells,
    terms,
    unpack,
    words,
)
from gitmem.values import dataclass

if TYPE_CHECKING:
    from gitmem.search.catalog import Catalog

SHORTEST_PREFIX = 3
MOST_COMPLETED = 32
"""Words that the beginning of a word is taken for, at most."""

BUDGET = 8_000
"""Entries of lists that are read for one question: a few milliseconds. What only the common words of a
question have in common with a text is looked at in the second stage, for the texts found by others."""

ENOUGH = 1_000
"""Entries from which on a list that is longer than what is left of the budget is passed over; before, what
is newest of it is read."""

COMMON_SHARE = 0.25
COMMON_FROM = 200
"""Words in more than this share of so many texts or more are not sought where there are others."""

_WORTH = {HEADED: 1.5, STRONG: 1.0, WEAK: 0.75}
_KIND = (1 << KIND_BITS) - 1

WINDOW = 100
"""Texts that are scored closely, at least."""

TIMES = 2
"""The same for each entry that is wanted."""

LEADING = 16
"""Best memories that are read with what stands beside them in their session."""

BESIDE = 2
"""Memories before and after each of these that are scored too, whatever words they have."""

IMAGINED = 20
IMAGINED_WITH = 0.02
IMAGINED_WITH_GENERAL = 0.4
"""A repository counts as if it held this many memories more, and this share of them had a word, where it is
asked how much of a question a memory has: else in one memory the word that it has would be common, and the
one that it lacks rare. Of words that any request has, the larger share."""

GENERAL = 0.5
"""What a word of any request is worth there against one that tells what the request is about."""

WIDER = 8
"""How much further it looks where too little of what it found stands anywhere now."""


@dataclass(frozen=True)
class SearchQuery:
    """What is asked.

    Attributes:
        asked: its terms, each once.
        counts: each word that stands for one to the number of texts that have it.
    """

    asked: tuple[QueryTerm, ...]
    counts: Mapping[str, int]
    corpus: Corpus


def ask(catalog: Catalog, query: str, *, completed: bool = False) -> SearchQuery:
    """Cuts a question into terms, and finds out how many texts have each.

    Args:
        completed: whether its words may be the beginnings of words.
    """
    stems = _stems(catalog, query)
    known = _completions(catalog, stems) if completed else _known(catalog, stems)
    asked = []
    for parts in stems:
        if completed and any(len(stem) < SHORTEST_PREFIX for stem in parts):
            continue
        ways: list[str] = [""]
        for stem in parts:
            ways = [way + word.char for way in ways for word in known.get(stem, ())]
        words_of = [known.get(stem, []) for stem in parts]
        term = " ".join(parts)
        asked.append(
            QueryTerm(
                term=term,
                ways=tuple(ways),
                tells=tells(term),
                count=min((sum(word.texts for word in some) for some in words_of), default=0),
                passages=min((sum(word.passages for word in some) for some in words_of), default=0),
                labels=min((sum(word.labels for word in some) for some in words_of), default=0),
            )
        )
    counts = {word.char: word.texts for some in known.values() for word in some}
    facts = dict(catalog.read("SELECT name, value FROM fact"))
    corpus = Corpus(**{name: facts.get(name, 0) for name in Corpus._fields})
    return SearchQuery(tuple(asked), counts, corpus)


class _Word(NamedTuple):
    """A word of the index, and how many texts, passages and labels have it."""

    char: str
    texts: int
    passages: int
    labels: int


# A list's length is in its header: nothing of the list itself is read.
_WORDS = "SELECT text, number, length(ids) / 4, passages, labels FROM word JOIN posting ON word = number"


def _stems(catalog: Catalog, query: str) -> list[tuple[str, ...]]:
    cut = [words(term) for term in terms(query)]
    stemmed = catalog.stems(word for some in cut for word in some)
    found = [tuple(stem for word in some for stem in stemmed[word]) for some in cut]
    return [parts for parts in dict.fromkeys(found) if parts]


def _known(catalog: Catalog, stems: Iterable[tuple[str, ...]]) -> dict[str, list[_Word]]:
    wanted = sorted({stem for parts in stems for stem in parts})
    rows = catalog.read(f"{_WORDS} WHERE text IN ({','.join('?' * len(wanted))})", wanted)
    return {text: [_Word(char(number), *counts)] for text, number, *counts in rows}


def _completions(catalog: Catalog, stems: Iterable[tuple[str, ...]]) -> dict[str, list[_Word]]:
    return {
        stem: [
            _Word(char(number), *counts)
            for _, number, *counts in catalog.read(
                f"{_WORDS} WHERE text >= ? AND text < ? LIMIT ?",
                (stem, stem + "\U0010ffff", MOST_COMPLETED),
            )
        ]
        for parts in stems
        if len(parts) == 1
        for stem in parts
    }


class _List(NamedTuple):
    """The texts that have a word, by its number; `size` of them are read."""

    worth: float
    word: int
    size: int


def seek(
    catalog: Catalog, question: SearchQuery, budget: int = BUDGET, window: int | None = None
) -> tuple[dict[int, float], bool]:
    """Adds up, for each text, what the question's words are worth there.

    Args:
        window: how many texts will be looked at: others, which cannot be among them, may be left out.

    Returns:
        Number of each text to its rough score; whether all are there that have a word.
    """
    lists = sorted(_lists(question), key=lambda each: -each.worth)
    chosen: list[_List] = []
    left = budget
    for each in lists:
        if left and (each.size <= left or budget - left < ENOUGH):
            chosen.append(each._replace(size=min(each.size, left)))
            left -= chosen[-1].size
    whole = sum(each.size for each in chosen) == sum(each.size for each in lists)
    numbers = ",".join(str(each.word) for each in chosen)
    read = dict(catalog.read(f"SELECT word, ids FROM posting WHERE word IN ({numbers})"))  # noqa: S608
    found: dict[int, float] = {}
    closed = False
    most = max(_WORTH.values()) * sum(each.worth for each in chosen)
    for worth, word, size in chosen:
        if window and not closed and len(found) >= window and size > window:
            closed = _nth(found, window) > most
        most -= max(_WORTH.values()) * worth
        entries = unpack(read.get(word, b"")[-4 * size :])  # of too many the newest
        by_kind = [worth * _WORTH.get(kind, 0.0) for kind in range(_KIND + 1)]
        if not found:
            found = {entry >> KIND_BITS: by_kind[entry & _KIND] for entry in entries}
        elif closed:
            for entry in entries:
                if (number := entry >> KIND_BITS) in found:
                    found[number] += by_kind[entry & _KIND]
        else:
            get = found.get
            for entry in entries:
                number = entry >> KIND_BITS
                found[number] = get(number, 0.0) + by_kind[entry & _KIND]
    return found, whole and not closed


def _best(found: Mapping[int, float], window: int) -> list[int]:
    """The texts with the highest rough scores; of equal ones the newest."""
    if len(found) <= window:
        return list(found)
    least = _nth(found, window)
    above = [number for number, score in found.items() if score > least]
    equal = sorted((number for number, score in found.items() if score == least), reverse=True)
    return above + equal[: window - len(above)]


def _nth(found: Mapping[int, float], place: int) -> float:
    return sorted(found.values(), reverse=True)[place - 1]


def _lists(question: SearchQuery) -> Iterator[_List]:
    """Yields all lists that are sought."""
    total, counts = question.corpus.texts, question.counts
    most = COMMON_SHARE * total if total > COMMON_FROM else total
    rare = any(having <= most for having in counts.values())
    for word, having in counts.items():
        if not (rare and having > most):
            yield _List(rarity(total, having), number_of(word), having)


@dataclass(frozen=True)
class SearchHit:
    """What was found; entries are told by their `id`.

    Attributes:
        scores: of each entry that has anything of the question.
        entries: all that were looked at.
        words: text to its words as the catalog keeps them.
    """

    scores: Mapping[int, float]
    entries: Mapping[int, SearchEntry]
    words: Mapping[int, str]


def find(ground: SearchSpace, question: SearchQuery, limit: int) -> SearchHit:
    """Finds the texts that share words with a question, and scores the best of them.

    Args:
        limit: entries that are wanted.
    """
    window, budget = max(WINDOW, TIMES * limit), BUDGET
    while True:
        rough, whole = seek(ground.catalog, question, budget, window)
        found = list(ground.entries(_best(rough, window)))
        if len(found) >= limit or (whole and len(rough) <= window):
            break
        window *= WIDER
        budget *= WIDER
    entries = {entry.id: entry for entry in found}
    words = _words(ground, {entry.blob for entry in found})
    alone = {number: read_text(text) for number, text in words.items()}
    of_text = dict(zip(alone, scores(question.asked, list(alone.values()), question.corpus), strict=True))
    scored = {entry.id: of_text[entry.blob] for entry in found if entry.blob in alone}
    # Most of what a session says for a question stands beside what says most of it.
    joined = [entry for entry in found if entry.thread is not None and entry.id in scored]
    joined = sorted(joined, key=lambda entry: (-scored[entry.id], entry.path))[:LEADING]
    threads = {key: some for key, some in ground.beside(joined, REACH).items() if len(some) > 1}
    beside = {entry.id: entry for some in threads.values() for entry in some}
    words |= _words(ground, {entry.blob for entry in beside.values()} - words.keys())
    alone |= {number: read_text(text) for number, text in words.items() if number not in alone}
    texts = _beside({entry.id for entry in joined}, threads, alone)
    scored |= zip(texts, scores(question.asked, list(texts.values()), question.corpus), strict=True)
    return SearchHit({id: score for id, score in scored.items() if score > 0}, entries | beside, words)


class Parts:
    """Says what of a question a text matches; see `Candidate.parts`."""

    def __init__(self, question: SearchQuery) -> None:
        corpus = question.corpus
        self._terms = [(term, rarity(corpus.texts, term.count)) for term in question.asked]
        known = [rare for term, rare in self._terms if term.count and term.tells]
        self._shares = _shares(question)
        self._whole = {
            "asked": float(len(question.asked)),
            "worth": sum([rare for _, rare in self._terms]),
            "telling": float(sum(term.tells for term in question.asked)),
            "word": sum(known) / len(known) if known else rarity(corpus.texts, 1),
        }

    def of(self, words: str) -> dict[str, float]:
        """The parts of a text, given its words as the catalog keeps them."""
        heading = words.rpartition(FIELD)[0]
        matched = [at for at, (term, _) in enumerate(self._terms) if _has(words, term)]
        headed = [at for at in matched if _has(heading, self._terms[at][0])]
        return self._whole | {
            "covered": sum([self._shares[at] for at in matched]),
            "matched": float(len(matched)),
            "headed": float(len(headed)),
            "told": float(sum(self._terms[at][0].tells for at in matched)),
            "decisive": float(sum(self._terms[at][0].tells for at in headed)),
        }


def _shares(question: SearchQuery) -> list[float]:
    """What share each term is of what is asked.

    A word that no memory has is as large a share as any, but where there are few memories: most words are
    in none of a handful.
    """
    worth, texts = [], question.corpus.texts
    for term in question.asked:
        with_it = IMAGINED * (IMAGINED_WITH if term.tells else IMAGINED_WITH_GENERAL)
        rare = rarity(texts + IMAGINED, term.count + with_it) * (1.0 if term.tells else GENERAL)
        worth.append(rare if term.count else rare * texts / (texts + IMAGINED))
    whole = sum(worth) or 1.0
    return [share / whole for share in worth]


def _has(words: str, term: QueryTerm) -> bool:
    for way in term.ways:  # noqa: SIM110  # a generator would take twice as long
        if way in words:
            return True
    return False


def _words(ground: SearchSpace, numbers: Iterable[int]) -> dict[int, str]:
    wanted = ",".join(map(str, numbers))
    rows = ground.catalog.read(f"SELECT id, words FROM blob WHERE id IN ({wanted})")  # noqa: S608
    return dict(rows)


def _beside(
    leading: Set[int], threads: Mapping[int, Sequence[SearchEntry]], alone: Mapping[int, ScoredText]
) -> dict[int, ScoredText]:
    """The texts of what leads, and of what stands near it in its thread, each with those around it."""
    texts: dict[int, ScoredText] = {}
    for thread in threads.values():
        own = [alone.get(entry.blob) for entry in thread]
        places = [at for at, entry in enumerate(thread) if entry.id in leading]
        near = {at + step for at in places for step in range(-BESIDE, BESIDE + 1)}
        for at, text in enumerate(own):
            if text and at in near:
                before = [one.passages for one in own[max(0, at - REACH) : at] if one]
                after = [one.passages for one in own[at + 1 : at + 1 + REACH] if one]
                texts[thread[at].id] = text._replace(
                    before=tuple(chain.from_iterable(before))[-REACH:],
                    after=tuple(islice(chain.from_iterable(after), REACH)),
                )
    return texts


DAY = 86_400

HOT_DAYS = 7
"""Days for which the lines of a log are found: by then a dream has made memories of what was worth it."""

NEWEST = 2_000
"""Entries of one ref that are looked through for what was taught within a time, the newest ones."""

_COLUMNS = "e.id, e.blob, e.ref, e.path, e.archived, e.time, e.thread"


def is_line(path: str) -> bool:
    """Whether a line of a daily log stands there: `<path>#<12 hex>`."""
    return path[-13:-12] == "#" and not path.endswith(".md")


class SearchEntry(NamedTuple):
    """One file, or line of a log, that has a text.

    Attributes:
        id: below zero for one of the past.
        blob: number of the text.
        thread: what one agent learned in one session has the same; None where no session is known.
    """

    id: int
    blob: int
    ref: str
    path: str
    archived: int
    time: int
    thread: int | None
    commit: str

    @property
    def agent(self) -> str:
        """The folder that it stands in."""
        return self.path.partition("/")[0]

    @property
    def stem(self) -> str:
        """Its file's name without the ending."""
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def is_line(self) -> bool:
        """Whether it is a line of a daily log."""
        return is_line(self.path)


@dataclass(frozen=True)
class SearchSpace:
    """What is searched.

    Attributes:
        refs: full names.
        agents: name spaces; None for all.
        when: ref to commit, for refs searched as of then.
        now: epoch seconds, from which the days of logs count; None counts from what was taught last.
    """

    catalog: Catalog
    refs: Collection[str]
    agents: Collection[str] | None
    when: Mapping[str, str]
    now: int | None = None

    @cached_property
    def tables(self) -> Mapping[str, Mapping[int, tuple[str, str]]]:
        """Table to number of a ref in it to the ref, and the commit that it is searched as of."""
        now = {ref: (ref, "") for ref in self.refs if ref not in self.when}
        then = {f"{ref}@{self.when[ref]}": (ref, self.when[ref]) for ref in self.refs if ref in self.when}
        tables = {}
        for table, names, keys in (("main.entry", "main.ref", now), ("temp.past", "temp.laid", then)):
            if keys:
                slots = ",".join("?" * len(keys))
                rows = f"SELECT id, name FROM {names} WHERE name IN ({slots})"  # noqa: S608
                found = self.catalog.read(rows, list(keys))
                if found:
                    tables[table] = {number: keys[name] for number, name in found}
        return tables

    def entries(self, blobs: Iterable[int]) -> Iterator[SearchEntry]:
        """Yields what has one of these texts (`+` has SQLite look up by text, not by ref)."""
        numbers = _listed(blobs)
        for table, refs in self.tables.items():
            yield from self._entries(
                refs,
                f"SELECT {_COLUMNS} FROM {table} e"  # noqa: S608
                f" WHERE e.blob IN ({numbers}) AND +e.ref IN ({_listed(refs)})",
            )

    def between(self, first: int, last: int, most: int) -> Iterator[SearchEntry]:
        """Yields what was last taught between two times (epoch seconds), the newest of each ref."""
        for table, refs in self.tables.items():
            for ref in refs:
                newest = self._entries(
                    refs,
                    f"SELECT {_COLUMNS} FROM {table} e WHERE e.ref = {ref:d}"  # noqa: S608
                    f" AND e.time BETWEEN {first:d} AND {last:d} ORDER BY e.time DESC"
                    f" LIMIT {most if self.agents is None else NEWEST:d}",
                )
                yield from list(newest)[:most]

    def beside(self, entries: Iterable[SearchEntry], reach: int) -> dict[int, Sequence[SearchEntry]]:
        """Lists threads in order: by the time when something was taught, then by path.

        Returns:
            Thread to some of what stands in it: at least these entries, and the `reach` before and after
            each of them.
        """
        found: dict[int, dict[int, SearchEntry]] = {}
        for entry in entries:
            if entry.thread is not None:
                found.setdefault(entry.thread, {})[entry.id] = entry
        for entry in [entry for some in found.values() for entry in some.values()]:
            table = "temp.past" if entry.id < 0 else "main.entry"
            for then, order in (("<", "DESC"), (">", "ASC")):
                # A session may have taught thousands: of each thread only what is near is read.
                near = self._entries(
                    self.tables[table],
                    f"SELECT {_COLUMNS} FROM {table} e WHERE e.thread = ?"  # noqa: S608
                    f" AND (e.time, e.path) {then} (?, ?)"
                    f" ORDER BY e.time {order}, e.path {order} LIMIT {reach:d}",
                    (entry.thread, entry.time, entry.path),
                )
                found[entry.thread or 0].update((one.id, one) for one in near)
        return {
            thread: sorted(some.values(), key=lambda entry: (entry.time, entry.path))
            for thread, some in found.items()
        }

    def _entries(
        self, refs: Mapping[int, tuple[str, str]], query: str, values: Sequence[Any] = ()
    ) -> Iterator[SearchEntry]:
        agents = self.agents
        for id, blob, number, path, archived, time, thread in self.catalog.read(query, values):
            if agents is None or path.partition("/")[0] in agents:
                if is_line(path) and not self._since(id < 0, number) <= time:
                    continue
                ref, commit = refs[number]
                yield SearchEntry(id, blob, ref, path, archived, time, thread, commit)

    def _since(self, past: bool, number: int) -> int:
        """From when on the lines of a ref's logs are found, epoch seconds."""
        if past or self.now is None:
            if (past, number) not in self._last:
                rows = f"SELECT max(time) FROM {'temp.past' if past else 'main.entry'} WHERE ref = ?"  # noqa: S608
                self._last[past, number] = self.catalog.read(rows, (number,))[0][0] or 0
            return self._last[past, number] - HOT_DAYS * DAY
        return self.now - HOT_DAYS * DAY

    @cached_property
    def _last(self) -> dict[tuple[bool, int], int]:
        """When something was taught last, by table and ref, as far as anybody asked."""
        return {}


def _listed(numbers: Iterable[Any]) -> str:
    return ",".join(map(str, numbers))
