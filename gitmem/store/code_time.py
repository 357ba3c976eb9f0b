"""What was known at a moment, or when the code stood at a commit.

A commit of the code means its moment: when it was committed, or for one that was rebased or amended when it
was written, since the other is the time of the rebase. Clocks differ and go backwards, so memory that was
taught on code which came later is left out whatever its time: a `Gitmem-Code-Commit` that descends from the
commit in question proves it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gitmem.core.trailers import parse
from gitmem.store.git_backend import GitRepository
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.rewrites import Rewrites, read_rewrites
from gitmem.store.unshared import kept
from gitmem.store.workspace import Scope, Workspace

LOOKED_AT = 100
"""Memory commits that are asked which code they were taught on, at most; the answer is near the moment."""


def newest_until(repo: Repository, tip: str, moment: int) -> str:
    """The newest commit that was made no later; where all are younger the oldest, mostly the empty root.

    Of a time before memory was shared that is a commit which never left, where one was kept.
    """
    for one in reversed(kept(repo)):
        before = repo.commit(one)
        if before.committer.time >= moment:
            tip = before.parents[0]
            break
    for commit in repo.history(tip, until=moment):
        return commit.oid
    *_, oldest = repo.history(tip)
    return oldest.oid


def code_commit(workspace: Workspace, word: str) -> Commit | None:
    """The commit of the code that a revision means, also one that was rewritten since and is gone."""
    if not word:
        return None
    # The present work tree's own view: HEAD of a linked one is not that of the main one.
    oid = GitRepository(workspace.git, workspace.layout).resolve(word)
    if oid is None:
        rewrites = read_rewrites(workspace.state)
        old = rewrites.find(word)
        oid = rewrites.now(old) if old else None
    try:
        return workspace.code.commit(oid) if oid else None
    except MissingObject:
        return None


def known_at(workspace: Workspace, scope: Scope, tip: str, code: Commit) -> str:
    """The newest memory commit that belongs to a commit of the code.

    Args:
        tip: where the scope's memory ref stands.
    """
    rewrites = read_rewrites(workspace.state)
    rewritten = bool(rewrites.before(code.oid))
    moment = min(code.committer.time, code.author.time) if rewritten else code.committer.time
    found = ""
    known: dict[str, bool | None] = {}
    for number, commit in enumerate(scope.repo.history(newest_until(scope.repo, tip, moment))):
        if found and number > LOOKED_AT:
            break
        found = found or commit.oid
        named = parse(commit.message).code_commit
        if named and named not in known:
            known[named] = _came_later(workspace.code, rewrites, code.oid, named)
        later = known.get(named)
        if later:
            found = ""
        elif later is not None:
            break
    return found or commit.oid


def _came_later(code: Repository, rewrites: Rewrites, oid: str, other: str) -> bool | None:
    """Whether code descends from a commit: False where it is that one or before it, None for neither."""
    for one, two in ((oid, other), (rewrites.now(oid), rewrites.now(other))):
        try:
            if one == two or code.is_ancestor(two, one):
                return False
            if code.is_ancestor(one, two):
                return True
        except MissingObject:
            continue
    return None


@dataclass(frozen=True)
class Became:
    """What a code commit that a memory names is today; `subject` is empty where it cannot be read."""

    oid: str
    subject: str


def became(workspace: Workspace, named: Iterable[str]) -> dict[str, Became]:
    """Follows code commits through rebases and amends, by the name that memory knows them by."""
    rewrites = read_rewrites(workspace.state)
    found: dict[str, Became] = {}
    for oid in dict.fromkeys(filter(None, named)):
        now = rewrites.now(oid)
        try:
            found[oid] = Became(now, workspace.code.commit(now).subject)
        except MissingObject:
            found[oid] = Became(now, "")
    return found
