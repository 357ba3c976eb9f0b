"""Recall as people, hooks and tools ask for it: over all scopes and agents, offline, without pygit2."""

from __future__ import annotations

from collections.abc import Set
from functools import cached_property
from pathlib import Path

from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.memory.limits import RECALLED
from gitmem.recall.gather import Source, gather
from gitmem.recall.recall import Recall, recall
from gitmem.store.candidates import Candidate
from gitmem.store.catalog import Catalog
from gitmem.store.git import GitCommand
from gitmem.store.history import resolve_all
from gitmem.store.lookup import chosen_agent, chosen_scopes
from gitmem.store.repository import MissingObject, Repository
from gitmem.store.tainted import read_tainted
from gitmem.store.workspace import Workspace


def ask(
    workspace: Workspace,
    edges: Edges,
    query: str,
    *,
    limit: int = RECALLED,
    at: str | None = None,
    scope: str | None = None,
    agent: str | None = None,
    shown: Set[str] = frozenset(),
) -> Recall:
    """Recalls memories for a question or prompt.

    Args:
        at: revision, date or tag to answer as of.
        scope: one scope; None for all three.
        agent: one agent's memories; None for every agent's: what a reviewer learned may help anyone.
        shown: blobs that this session has seen already.

    Raises:
        UsageError: an unknown scope, or `at` means nothing.
    """
    scopes = chosen_scopes(workspace, scope)
    past = resolve_all(workspace, scopes, at, edges.now) if at else None
    sources: list[Source] = []
    try:
        for repo in dict.fromkeys(each.repo for each in scopes):
            mine = [each for each in scopes if each.repo is repo and (past is None or each.ref in past)]
            if mine:
                names = {each.ref: str(each.name) for each in mine}
                then = {ref: commit for ref, commit in (past or {}).items() if ref in names}
                sources.append(Source(repo, Catalog.open(mine[0].state), names, then))
        folder = chosen_agent(agent)
        pairs = gather(query, sources, None if folder is None else {folder})
        repos = {ref: source.repo for source in sources for ref in source.scopes}
        return recall(
            query,
            [candidate for _, candidate in pairs],
            lambda candidate: _read(workspace, repos[candidate.ref], candidate),
            int(edges.now),
            {each.ref: each.name for each in scopes},
            shown,
            limit,
            Head(workspace.git, workspace.layout.worktree).has if workspace.layout.worktree else None,
        )
    finally:
        for source in sources:
            source.catalog.close()


class Head:
    """What the code commit holds, listed once and only when a chosen memory names a path."""

    def __init__(self, git: GitCommand, worktree: Path) -> None:
        self._git = git
        self._worktree = worktree

    @cached_property
    def _paths(self) -> frozenset[str] | None:
        words = ["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"]
        result = self._git.run(words, cwd=self._worktree, check=False)
        return frozenset(result.text.split("\0")) if result.returncode == 0 else None

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(path.rpartition("/")[2] for path in self._paths or ())

    def has(self, path: str) -> bool:
        """Whether HEAD has a path, or for a bare file name any file of that name; yes without a HEAD."""
        if self._paths is None:
            return True
        return path in (self._paths if "/" in path else self._names)


def _read(workspace: Workspace, repo: Repository, candidate: Candidate) -> bytes:
    """A memory's content, without what holds a secret.

    Everything of one's own was screened before it was stored; what others pushed was looked at by whoever
    wrote next: loading the detector costs more than the rest of a recall.
    """
    data = repo.blob(candidate.blob)
    if candidate.ref != workspace.scope("project").ref:
        return data
    return without_secrets(workspace, candidate.path, data)


def without_secrets(workspace: Workspace, path: str, data: bytes) -> bytes:
    """Project memory as it may be shown: claims that are known to hold a secret are left out.

    Raises:
        MissingObject: nothing of it may be shown.
    """
    scope = workspace.scope("project")
    tainted = read_tainted(scope.state)
    if not tainted.blobs:
        return data
    kept = tainted.shown(path, data, scope.repo.hex_length, allowed_fingerprints(workspace))
    if kept is None:
        raise MissingObject(f"{path} holds a secret and is not shown")
    return kept
