"""The search over what memory was before a dream and is after it, in one catalog that ends with the job."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cached_property, lru_cache
from threading import get_ident

from gitmem.core.memory import Memory, parse
from gitmem.core.merge import Files
from gitmem.core.names import slugify
from gitmem.rules.findable import NEIGHBOURS, FoundVersion
from gitmem.search.candidates import ask
from gitmem.search.query import search
from gitmem.search.score import ScoredText, rarity, read_text, scores
from gitmem.search.text import Fields, links
from gitmem.search.tree_catalog import LooseCatalog
from gitmem.search.trees import is_memory
from gitmem.search.words import FIELD, storable

SHARED = 1 / 3
"""Share of the words of a memory's description, by rarity, that another must have to come before it when
these words are asked for: the memory has them all, where they count most."""

NEAR = 0.8
"""Share of a memory's score that what may come before it has at least, without what links give to it."""

LOOKED = 16
"""Places that a look over both trees goes down to at first."""

_BOTH, _BEFORE, _AFTER = "both", "before", "after"
_NEW = "//new.md"
"""Put behind the paths of what is new in the ref that holds both; no path ends so."""


class SearchPair:
    """Searches two versions of one tree; what they have in common is indexed once.

    A memory's worth for a query depends on its own words and on how rare each is among all texts, and the
    texts are the same for both trees. So a look over both at once, which is half the work, tells what comes
    first in either, except for what a memory gets from others: by links, or beside them in one session.
    Where that could decide, `first` asks one tree as recall does.
    """

    def __init__(self, before: Files, after: Files) -> None:
        self.before = {path: data for path, data in before.items() if is_memory(path)}
        self.after = {path: data for path, data in after.items() if is_memory(path)}
        paths = sorted({*self.before, *self.after})
        self.changed = tuple(path for path in paths if self.before.get(path) != self.after.get(path))
        self._new = {path: self.after[path] for path in self.changed if path in self.after}
        self._gone = frozenset(self.changed) & self.before.keys()
        self._looks: dict[str, tuple[FoundVersion, ...]] = {}
        self._texts: dict[str, ScoredText] = {}
        self._entered: set[str] = set()

    def look(self, query: str) -> tuple[FoundVersion, ...]:
        """The best of both trees, best first; with `NEIGHBOURS` that both have, where there are so many."""
        query = storable(query)
        if query not in self._looks:
            limit, rows = LOOKED, self._look(query, LOOKED)
            while len(rows) == limit and sum(row.before and row.after for row in rows) < NEIGHBOURS:
                limit *= 4
                rows = self._look(query, limit)
            self._looks[query] = tuple(rows)
        return self._looks[query]

    def first(self, query: str, *, after: bool, most: int) -> list[str]:
        """Paths of what one tree answers, best first, exactly as recall searches it."""
        ref = _AFTER if after else _BEFORE
        if ref not in self._entered:
            self._catalog.add(ref, self.after if after else self.before, _read)
            self._entered.add(ref)
        found = search(self._catalog, storable(query), (ref,), limit=most)
        return [self._paths.get(one.path, one.path) for one in found]

    def may_lose(self, memory: Memory) -> bool:
        """Whether its own description may find something new before a memory that did not change.

        Args:
            memory: of both trees.
        """
        words = self._words.get(storable(memory.path))
        if words is None:
            return True
        if self._linked & {slugify(memory.name), *links(f"{memory.description}\n{memory.body}")}:
            return True  # it may get less than before
        near = self._sharing(set(words.split(FIELD)[1]))
        if not near:
            return False
        question = ask(self._catalog, storable(memory.description))
        texts = [read_text(words), *map(self._new_text, near)]
        own, *others = scores(question.asked, texts, question.corpus)
        return max(others) >= NEAR * own

    def _sharing(self, asked: set[str]) -> list[str]:
        """The new versions that have enough of some words."""
        worth = {word: rarity(len(self._words), self._counts[word]) for word in sorted(asked)}
        shared: dict[str, float] = defaultdict(float)
        for word, much in worth.items():
            for path in self._new_with.get(word, ()):
                shared[path] += much
        least = SHARED * math.fsum(worth.values())
        return sorted(path for path, much in shared.items() if much >= least)

    def _new_text(self, path: str) -> ScoredText:
        if path not in self._texts:
            self._texts[path] = read_text(self._words[f"{storable(path)}{_NEW}"])
        return self._texts[path]

    @cached_property
    def _catalog(self) -> LooseCatalog:
        catalog = _indexed(frozenset(self.before.items()), get_ident()).copy()
        catalog.add(_BOTH, self._new, _read, mark=_NEW, alone=True)
        return catalog

    @cached_property
    def _paths(self) -> dict[str, str]:
        """Path as the catalog keeps it to the path."""
        return {storable(path): path for path in sorted({*self.before, *self.after}, reverse=True)}

    @cached_property
    def _words(self) -> dict[str, str]:
        return self._catalog.words(_BOTH)

    @cached_property
    def _counts(self) -> Counter[str]:
        counts: Counter[str] = Counter()
        for words in self._words.values():
            counts.update(set(words))
        return counts

    @cached_property
    def _new_with(self) -> dict[str, list[str]]:
        """Word to the new versions that have it."""
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._new):
            for word in set(self._words.get(f"{storable(path)}{_NEW}", "")):
                found[word].append(path)
        return found

    @cached_property
    def _linked(self) -> frozenset[str]:
        """Names that what went is called by, or links to."""
        names: set[str] = set()
        for path in self._gone:
            memory = parse(path, self.before[path])
            names |= {slugify(memory.name), *links(f"{memory.description}\n{memory.body}")}
        return frozenset(names)

    def _look(self, query: str, limit: int) -> list[FoundVersion]:
        return list(self._rows(query, limit))

    def _rows(self, query: str, limit: int) -> Iterator[FoundVersion]:
        for one in search(self._catalog, query, (_BOTH,), limit=limit):
            new = one.path.endswith(_NEW)
            path = one.path.removesuffix(_NEW)
            path = self._paths.get(path, path)
            after = new or path not in self._gone
            yield FoundVersion(path, not new, after, one.score, one.score - one.why.get("links", 0.0))


@lru_cache(maxsize=1)
def _indexed(files: frozenset[tuple[str, bytes]], thread: int) -> LooseCatalog:  # noqa: ARG001 - a key
    """The tree before, which stays the same while an engine mends what it proposes; for one thread."""
    catalog = LooseCatalog()
    catalog.add(_BOTH, dict(files), _read, alone=True)
    return catalog


def _read(path: str, data: bytes) -> Fields:
    """Reads what the search needs where nothing is asked about times."""
    memory = parse(path, data)
    return Fields(
        memory.name,
        memory.description,
        memory.type,
        memory.body,
        links=links(f"{memory.description}\n{memory.body}"),
        session=memory.front.text("originSessionId") if memory.front else "",
        given=memory.front.text("name") if memory.front else "",
    )
