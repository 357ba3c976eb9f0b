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
from gitmem.git.repository import MissingObject
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.search.code import CodeNow
from gitmem.search.code_reader import NAMES
from gitmem.search.index import Catalog

SECONDS = 5.0
"""For all questions of one dream."""

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
        self._found: dict[str, dict[str, Finding]] = {}

    def run(self, claims: Mapping[str, str]) -> Iterator[Observation]:
        asked = [(ref, one) for ref, text in claims.items() if (one := named(text)).paths or one.words]
        where = "in the code"
        unasked = self._ask(asked)
        if not unasked:
            where = "in the code of the time when they were taught"
            unknown = [(ref, words) for ref, one in asked if (words := self._lacking(ref, one)).words]
            dated = self._dated(unknown)
            unasked = self._ask(dated)
            if not unasked:  # what they are called now is worth no answer that is left out
                self._ask(dated, follow=True)
        yield from self._observations()
        if unasked:
            naming = len({path_of(ref) for ref, _ in asked})
            text = f"no time was left to look up what {len(unasked)} of {counted(naming, 'memory')} name"
            yield Observation("code", f"{text} {where}")

    def _ask(self, asked: Sequence[_Asked], *, follow: bool = False) -> set[str]:
        """Asks about HEAD, and of what is dated about the code of then; names memories left unasked."""
        place, folder = self._workspace, lock_folder(self._place)
        unasked: set[str] = set()
        for batch in _batches(asked):
            if self._left > 0:
                code = CodeNow(
                    place.git, place.top, place.layout.common_dir, folder, self._left, follow=follow
                )
                for (ref, _), findings in zip(batch, code.look([one for _, one in batch]), strict=True):
                    self._found.setdefault(ref, {}).update((finding.name, finding) for finding in findings)
            if self._left <= 0:
                unasked |= {path_of(ref) for ref, _ in batch}
        return unasked

    def _dated(self, asked: Sequence[_Asked]) -> list[_Asked]:
        """The same, with when each memory was taught."""
        times = self._times({path_of(ref) for ref, _ in asked}) if asked else {}
        return [(ref, replace(one, taught=times.get(path_of(ref), 0))) for ref, one in asked]

    @property
    def _left(self) -> float:
        return self._until - time.monotonic()

    def _lacking(self, ref: str, one: Named) -> Named:
        """The symbols and flags that were not found at HEAD."""
        known = self._found.get(ref, {})
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
            for fact in warnings(list(findings.values())):
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
