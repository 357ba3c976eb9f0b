"""What a memory said before an agent changed it on code that is not here."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from gitmem.core.errors import MissingObject
from gitmem.core.trailers import parse
from gitmem.search.ancestry import Ancestry
from gitmem.search.query import Candidate, RecallSource

MOST_VERSIONS = 8
"""Earlier contents of a memory that are looked at."""

_TEACHERS = frozenset({"agent", "extract"})
"""Whose change of a memory is undone for another branch. What a person took out stays out everywhere."""


def earlier_content(source: RecallSource, one: Candidate, ancestry: Ancestry) -> Candidate | None:
    """The last content before that was taught on code that is here; None where a person came between.

    Args:
        one: a memory that was taught on other code.
        ancestry: knows which code is here.
    """
    blob = one.blob
    for _ in range(MOST_VERSIONS):
        before = _before(source, one.ref, one.path, blob)
        if before is None:
            return None
        commit, blob = before
        lesson = source.catalog.lessons(source.repo, one.ref, commit, {one.path: blob}).get(one.path)
        if lesson is not None and lesson[1] not in ancestry.elsewhere([lesson[1]]):
            return replace(one, blob=blob, time=lesson[0])
    return None


def _before(source: RecallSource, ref: str, path: str, blob: str) -> tuple[str, str] | None:
    """What stood at a path until an agent taught a content there: the commit, and the blob."""
    for oid in source.catalog.brought(ref, {path: blob}).get(path, ()):
        with suppress(MissingObject):
            commit = source.repo.commit(oid)
            entry = source.repo.entry(commit.tree, path)
            if entry is None or entry.oid != blob or len(commit.parents) != 1:
                continue
            (parent,) = commit.parents
            old = source.repo.entry(source.repo.commit(parent).tree, path)
            if old is not None and old.oid == blob:
                continue
            teaches = parse(commit.message).writer in _TEACHERS
            return (parent, old.oid) if old is not None and teaches else None
    return None
