"""A check from end to end: finds the request, reads both sides, judges them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from gitmem.core.errors import RepositoryError
from gitmem.share.check.fates import judge_fates
from gitmem.share.check.finding import Finding
from gitmem.share.check.hosts import judge_epoch
from gitmem.share.check.judge import judge
from gitmem.share.check.reading import Reader
from gitmem.share.check.request import Ground, find_bases, find_head, meeting_point
from gitmem.share.check.side import EMPTY, Side
from gitmem.store.commits import FORMAT_FILE, root_name
from gitmem.store.repository import TREE, Entry, MissingObject, Repository
from gitmem.store.trees import read_file

What = Literal["memory", "snapshots"]

Proof = Callable[[Repository, str, str, str], tuple[Finding, ...] | None]
"""Judges a dream, given the commit where it left what it is to be merged into, that, and its newest commit;
None where a request is no dream."""


@dataclass(frozen=True)
class Asked:
    """What a check is asked to judge.

    Attributes:
        ref: a revision or branch; empty for HEAD.
        base: what it is asked to be merged into; empty for the usual.
        staged: what is staged, against HEAD.
        parents: folders of a code tree that hold snapshots; the first is gitmem's own.
        allow: fingerprints of secrets that a person accepted.
        now: seconds since the epoch.
    """

    ref: str
    base: str
    staged: bool
    parents: tuple[str, ...]
    allow: frozenset[str]
    now: int


@dataclass(frozen=True)
class Report:
    """What a check found.

    Attributes:
        commit: what was judged; None for what is staged.
        base: the commit that it was compared with; None where all of it was judged.
        files: how many files were there.
        note: what else a person should know; empty for nothing.
    """

    what: What
    commit: str | None
    base: str | None
    files: int
    findings: tuple[Finding, ...]
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return all(found.level != "error" for found in self.findings)


def check(ground: Ground, reader: Reader, asked: Asked, proof: Proof) -> Report:
    """Judges a request.

    Args:
        proof: judges what is a dream, besides.

    Raises:
        GitmemError: what is asked for cannot be found, fetched or read.
    """
    head = find_head(ground, asked.ref)
    if asked.staged:
        return _staged(ground, reader, asked, head)
    if head is None:
        return Report("snapshots", None, None, 0, ())
    given = find_bases(ground, asked.base, memory=True)[0] if asked.base else None
    # The base decides what a request is one on: it must not get by as something else.
    memory = _is_memory(ground, head if given is None else given)
    after = _side(ground, reader, asked, head, memory)
    note, base = "", None
    try:
        if after.files or memory:
            base = _base(ground, given, head, memory)
    except RepositoryError as error:
        if given:
            raise
        note = f"all of it was judged: {error.message}"
    if base is None:
        found = judge(None, after, asked.allow)
        return Report("memory" if memory else "snapshots", head, None, len(after.files), found, note)
    found = judge(_side(ground, reader, asked, base.met or base.tip, memory), after, asked.allow)
    if memory:
        found = _together(found, _history(ground, base, head, proof))
    return Report("memory" if memory else "snapshots", head, base.met or base.tip, len(after.files), found)


@dataclass(frozen=True)
class _Base:
    """What a request is compared with: the commit it is to be merged into, and the one that it left."""

    tip: str
    met: str | None


def _base(ground: Ground, given: str | None, head: str, memory: bool) -> _Base | None:
    """The nearest base; None where the request is part of it already, so that all of it is judged."""
    if given is not None:
        return _Base(given, meeting_point(ground, given, head))
    nearest: _Base | None = None
    for tip in find_bases(ground, "", memory=memory):
        met = meeting_point(ground, tip, head)
        closer = nearest is None or nearest.met is None or ground.repo.is_ancestor(nearest.met, met or "")
        if met is not None and met != head and closer:
            nearest = _Base(tip, met)
    return nearest


def _history(ground: Ground, base: _Base, head: str, proof: Proof) -> Iterator[Finding]:
    trees = [ground.repo.commit(oid).tree for oid in (base.tip, head)]
    says = [read_file(ground.repo, tree, FORMAT_FILE) for tree in trees]
    if says[0] is not None and says[1] is not None:
        yield from judge_epoch(says[0], says[1])
    if base.met is None:
        yield Finding(".", 1, "account", "shares no history with its base, so what it drops cannot be told")
        return
    try:
        proved = proof(ground.repo, base.met, base.tip, head)
        yield from proved or ()
        yield from judge_fates(ground.repo, base.met, head, proved=proved is not None)
    except MissingObject as error:
        yield Finding(".", 1, "account", f"what became of claims cannot be told: {error.message}")


def _together(found: tuple[Finding, ...], more: Iterator[Finding]) -> tuple[Finding, ...]:
    """Findings on the trees and on the commits between them, those that say the same once."""
    told = {(one.path, one.rule) for one in found if one.rule in ("secret", "instruction", "path")}
    return tuple(sorted({*found, *(one for one in more if (one.path, one.rule) not in told)}))


def _staged(ground: Ground, reader: Reader, asked: Asked, head: str | None) -> Report:
    memory = reader.stages(FORMAT_FILE) or (head is not None and _is_memory(ground, head))
    after = reader.staged_memory(asked.now) if memory else reader.staged_snapshots(asked.parents, asked.now)
    before = _side(ground, reader, asked, head, memory) if head else EMPTY
    found = judge(before, after, asked.allow)
    return Report("memory" if memory else "snapshots", None, head, len(after.files), found)


def _side(ground: Ground, reader: Reader, asked: Asked, oid: str, memory: bool) -> Side:
    commit = ground.repo.commit(oid)
    time = max(commit.committer.time, 0)
    if memory:
        return reader.memory(commit.tree, time)
    return reader.snapshots(commit.tree, asked.parents, time)


def _is_memory(ground: Ground, oid: str) -> bool:
    """Whether a commit is one of memory, by itself alone: a checkout may have no history."""
    if oid == root_name(ground.repo):
        return True
    tree = ground.repo.tree(ground.repo.commit(oid).tree)
    entry: Entry | None = tree.get(FORMAT_FILE)
    return entry is not None and entry.mode != TREE
