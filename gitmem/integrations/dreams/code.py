"""Which memories name what the code at HEAD no longer has, for a dream: within seconds, however many.

The same questions that recall asks for a handful of memories, asked in batches until the time is up. What
was found out is kept apart from what recall keeps, which a dream of thousands would push out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from gitmem.core.account import path_of
from gitmem.core.references import Finding, Named, named, warnings
from gitmem.core.text import counted, one_line
from gitmem.dream.lock import lock_folder
from gitmem.dream.sources import CodeFacts
from gitmem.engines.engine import Observation
from gitmem.integrations.code_looks import Looker
from gitmem.integrations.code_now import CodeNow
from gitmem.integrations.dreams.code_past import words_gone
from gitmem.search.index import Catalog
from gitmem.store.repository import MissingObject
from gitmem.store.workspace import Scope, Workspace

SECONDS = 5.0
"""For all questions of one dream."""

NAMES = 1_500
"""Names in one question: git takes them as arguments."""

_Asked = tuple[str, Named]
"""A claim, as `<file>#<12 hex>`, and what it names."""


def code_facts(workspace: Workspace, place: Scope, seconds: float = SECONDS) -> CodeFacts:
    """Who compares the claims of a scope with the code at HEAD.

    Args:
        seconds: for one comparison.
    """

    def facts(claims: Mapping[str, str]) -> Sequence[Observation]:
        return tuple(_Comparison(workspace, place, seconds).run(claims))

    return facts


class _Comparison:
    def __init__(self, workspace: Workspace, place: Scope, seconds: float) -> None:
        self._workspace = workspace
        self._place = place
        self._until = time.monotonic() + seconds
        self._found: dict[str, list[Finding]] = {}

    def run(self, claims: Mapping[str, str]) -> Iterator[Observation]:
        asked = [(ref, one) for ref, text in claims.items() if (one := named(text)).paths or one.words]
        unasked = {path_of(ref) for batch in _batches(asked) if not self._ask(batch) for ref, _ in batch}
        where = "in the code"
        if not unasked:
            unknown = [(ref, words) for ref, one in asked if (words := self._lacking(ref, one)).words]
            unasked = set() if self._ask_past(unknown) else {path_of(ref) for ref, _ in unknown}
            where = "in the code of the time when they were taught"
        yield from self._observations()
        if unasked:
            naming = len({path_of(ref) for ref, _ in asked})
            text = f"no time was left to look up what {len(unasked)} of {counted(naming, 'memory')} name"
            yield Observation("code", f"{text} {where}")

    def _ask(self, batch: Sequence[_Asked]) -> bool:
        """Asks about HEAD; whether there was time to the end."""
        if self._left > 0:
            place, folder = self._workspace, lock_folder(self._place)
            code = CodeNow(place.git, place.top, place.layout.common_dir, folder, self._left)
            for (ref, _), findings in zip(batch, code.look([one for _, one in batch]), strict=True):
                self._found.setdefault(ref, []).extend(findings)
        return self._left > 0

    def _ask_past(self, asked: Sequence[_Asked]) -> bool:
        """Asks about the code at the time when memories were taught; whether there was time to the end."""
        if asked:
            times = self._times({path_of(ref) for ref, _ in asked})
            look = Looker(self._workspace.git, self._workspace.top, self._left)
            dated = [replace(one, taught=times.get(path_of(ref), 0)) for ref, one in asked]
            for (ref, _), findings in zip(asked, words_gone(look, dated), strict=True):
                self._found.setdefault(ref, []).extend(findings)
        return self._left > 0

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _lacking(self, ref: str, one: Named) -> Named:
        """The symbols and flags that were not found at HEAD."""
        known = {finding.name for finding in self._found.get(ref, ())}
        return Named(words=tuple(word for word in one.words if word[0] not in known))

    def _times(self, paths: set[str]) -> Mapping[str, int]:
        repo, ref = self._place.repo, self._place.ref
        tip = repo.ref(ref)
        if tip is None:
            return {}
        try:
            files = repo.files(repo.commit(tip).tree)
            blobs = {path: files[path] for path in paths if path in files}
            with closing(Catalog.open(self._place.state)) as catalog:
                return catalog.times(repo, ref, tip, blobs, late=lambda: self._left <= 0)
        except MissingObject:
            return {}

    def _observations(self) -> Iterator[Observation]:
        """One a memory and fact, however many of its claims name the thing."""
        told: dict[tuple[str, str], list[str]] = {}
        for ref, findings in self._found.items():
            for fact in warnings(list(dict.fromkeys(findings))):
                told.setdefault((path_of(ref), fact), []).append(ref)
        for (path, fact), refs in told.items():
            yield Observation("code", f"{one_line(path, 200)}: {one_line(fact, 300)}", tuple(refs))


def _batches(asked: Sequence[_Asked]) -> Iterator[list[_Asked]]:
    batch: list[_Asked] = []
    names = 0
    for ref, one in asked:
        names += len(one.paths) + len(one.words)
        if batch and names > NAMES:
            yield batch
            batch, names = [], len(one.paths) + len(one.words)
        batch.append((ref, one))
    if batch:
        yield batch
