"""Whether a dream leaves what it touched, and what is near it, where a search finds it.

A person asks in the words in which a memory describes itself. What such a question found before, among the
first five, it must find afterwards: the memory, or the one that took its claims.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import islice
from typing import Protocol

from gitmem.core.account import claims_at, is_memory, path_of
from gitmem.core.limits import RECALLED
from gitmem.core.memory import Memory, parse
from gitmem.core.merge import Files
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate
from gitmem.rules.rule import Finding
from gitmem.values import dataclass

NEIGHBOURS = 5
"""Memories next to a touched one that are looked after, of those that are not touched themselves."""


@dataclass(frozen=True, order=True)
class RecallWitness:
    """A recall that showed a memory.

    Attributes:
        query: what was asked, or the words of it that count.
        path: of the memory, from the root of its scope's tree.
    """

    query: str
    path: str


class Search(Protocol):
    """A search over what memory was before a change, and what it is after it."""

    @property
    def before(self) -> Files:
        """The memories before."""

    @property
    def after(self) -> Files:
        """The memories after."""

    @property
    def changed(self) -> Sequence[str]:
        """Paths at which they differ, sorted."""

    def first(self, query: str, *, after: bool) -> Sequence[str]:
        """Paths of what one tree answers as recall searches it, best first, `CANDIDATES` at most."""


QUERY_CHARS = 160
PATH_CHARS = 120


def lost_to_search(
    before: Files,
    after: Files,
    fates: Iterable[Fate] = (),
    asked: Sequence[RecallWitness] = (),
    *,
    search: Callable[[Files, Files], Search],
) -> tuple[Finding, ...]:
    """Finds what a dream made unfindable, with the search that answers recalls.

    Looked after are each memory that differs, by its old and its new description; the five that come next
    when it is asked for, by theirs; and the recalls that showed one that differs. What was not found before
    is not missed, nor is a memory whose claims were all dropped. A new memory must be found by its own
    description.

    Args:
        before, after: whole trees of a scope, path from the root to content.
        fates: what the dream says of claims: where those of a memory went that is gone.
        asked: the last recalls; those of memories that did not change count for nothing.
        search: searches both trees.

    Returns:
        Failures of the rule `found`, in order, each once; the same for the same trees.
    """
    # An engine has its work judged before it is judged again: equal trees are not searched twice.
    trees = frozenset(before.items()), frozenset(after.items())
    return _lost(*trees, tuple(fates), tuple(asked), search)


@lru_cache(maxsize=1)
def _lost(
    before: frozenset[tuple[str, bytes]],
    after: frozenset[tuple[str, bytes]],
    fates: tuple[Fate, ...],
    asked: tuple[RecallWitness, ...],
    searching: Callable[[Files, Files], Search],
) -> tuple[Finding, ...]:
    search = searching(dict(before), dict(after))
    touched = [path for path in search.changed if is_memory(path)]
    if not touched:
        return ()
    homes = _homes(search, touched, fates)
    failures: set[Finding] = set()
    near: set[str] = set()
    for path in touched:
        old, new = (_parsed(tree, path) for tree in (search.before, search.after))
        said = old.description if old else ""
        then = new.description if new else ""
        for query in filter(None, dict.fromkeys((said, then))):
            alike = (one for one in search.first(query, after=False) if one not in search.changed)
            near |= set(islice(alike, NEIGHBOURS))
        if old is None and then:
            failures |= set(_unfindable(search, then, path))
        if not said or not homes[path]:
            continue
        failures |= set(_judged(search, said, path, homes[path], "the description that it had"))
        if then and then != said:
            failures |= set(_judged(search, said, path, {path}, "its new description", then))
    for path in near:
        memory = parse(path, search.before[path])
        if query := memory.description:
            failures |= set(_judged(search, query, path, {path}, "its own description"))
    for one in dict.fromkeys(asked):
        if homes.get(one.path):
            failures |= set(_shown(search, one, homes[one.path]))
    return tuple(sorted(failures))


def _homes(search: Search, touched: Iterable[str], fates: Iterable[Fate]) -> dict[str, frozenset[str]]:
    """Where what touched memories said is now: there still, or in those that took their claims."""
    said = {fate.source: fate.target for fate in fates}
    into: dict[str, set[str]] = {}
    for source in said:
        into.setdefault(path_of(source), set()).add(_end(source, said, search.after))
    standing: dict[str, set[str]] = {}
    for path in touched:
        for claim in claims_at(path, search.after[path]) if path in search.after else ():
            standing.setdefault(claim.key, set()).add(path)
    homes: dict[str, frozenset[str]] = {}
    for path in touched:
        found = into.get(path, set()) & search.after.keys()
        if path in search.after:
            found.add(path)
        elif not found:
            for claim in claims_at(path, search.before[path]):
                found |= standing.get(claim.key, set())
        homes[path] = frozenset(found)
    return homes


def _end(source: str, said: Mapping[str, str], after: Files) -> str:
    """Path of the memory that a claim ended in, where what it went into went on itself."""
    seen = {source}
    target = said[source]
    while target in said and target not in seen and path_of(target) not in after:
        seen.add(target)
        target = said[target]
    return path_of(target)


def _judged(
    search: Search, query: str, path: str, homes: Set[str], what: str, then: str = ""
) -> Iterator[Finding]:
    """What is wrong where a query found a memory, and another (or the same) now finds none of its homes.

    Args:
        then: asked of the tree after; the same query where empty.
    """
    asked = then or query
    now = search.first(asked, after=True)[:RECALLED]
    if not homes & set(now) and path in (was := search.first(query, after=False)[:RECALLED]):
        yield _failure(asked, path, homes, what, [one for one in now if one not in was] or now)


def _unfindable(search: Search, query: str, path: str) -> Iterator[Finding]:
    """What is wrong where a new memory is not found by its own description."""
    now = search.first(query, after=True)[:RECALLED]
    if path not in now:
        yield _failure(query, path, {path}, "its own description", now)


def _shown(search: Search, one: RecallWitness, homes: Set[str]) -> Iterator[Finding]:
    """The same for a recall, which may have shown a memory from further down."""
    was = search.first(one.query, after=False)
    if one.path in was:
        most = max(RECALLED, was.index(one.path) + 1)
        now = search.first(one.query, after=True)[:most]
        if not homes & set(now):
            yield _failure(one.query, one.path, homes, "a recall that showed it", now)


def _failure(query: str, path: str, homes: Set[str], what: str, instead: Sequence[str]) -> Finding:
    words = one_line(query, QUERY_CHARS)
    missed = "it" if path in homes else f"it, nor {_named(min(homes))}, which took its claims"
    first = f"; {_named(instead[0])} comes first" if instead else ""
    return Finding(path, 1, "found", f'{what}, "{words}", no longer finds {missed}{first}')


def _named(path: str) -> str:
    return one_line(path, PATH_CHARS)


def _parsed(tree: Files, path: str) -> Memory | None:
    return parse(path, tree[path]) if path in tree else None
