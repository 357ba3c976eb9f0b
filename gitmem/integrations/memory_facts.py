"""What is to be known of a memory besides its text: who else taught it, and whether it still stands so."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from gitmem.core.errors import GitmemError
from gitmem.core.trailers import parse
from gitmem.integrations.waiting_changes import waiting
from gitmem.recall.gather import Source
from gitmem.recall.recall import About
from gitmem.search.query import Candidate
from gitmem.store.glimpse import peek
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.workspace import Scope, Workspace

REQUIRED = "requireSigned"
"""Setting: what of shared memory came in a commit without a good signature is told of."""

NAME_CHARS = 40
MOST_COMMITS = 8
"""Commits that are looked at for the one that brought a memory."""

SIGNATURE_SECONDS = 2.0

_TAUGHT = frozenset({"", "add", "update"})
"""What a commit did whose author taught the content; a merge, dream or paging only brings it."""

_SIGNED = {
    "G": "",
    "U": "signed by a key that git does not know",
    "N": "not signed",
    "B": "signed badly",
    "R": "signed with a revoked key",
    "X": "signed with a signature that has expired",
    "Y": "signed with a key that has expired",
}
"""By git's `%G?`; the others mean that nobody here can tell."""

_UNCHECKED = "signed by nobody that could be checked"


def about_memories(workspace: Workspace, sources: Sequence[Source]) -> About:
    """Who knows facts on memories of some sources."""

    def about(shown: Sequence[Candidate]) -> Sequence[Sequence[str]]:
        facts: list[list[str]] = [[] for _ in shown]
        for source in sources:
            for ref, name in source.scopes.items():
                places = {one.path: at for at, one in enumerate(shown) if one.ref == ref}
                if not places:
                    continue
                memories = [shown[at] for at in places.values()]
                for path, found in _facts(workspace, source, workspace.scope(name), memories).items():
                    facts[places[path]] += found
        return facts

    return about


def _facts(
    workspace: Workspace, source: Source, scope: Scope, shown: Sequence[Candidate]
) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {one.path: [] for one in shown}
    with suppress(GitmemError, OSError, ValueError):
        if scope.name == "project" and workspace.sharing != "off":
            for path, fact in _others(workspace, source, scope.ref, shown):
                found[path].append(fact)
        past = [one for one in shown if one.commit]
        for one in past:
            if fact := _since(source.repo, one):
                found[one.path].append(fact)
        present = {one.path: one.blob for one in shown if not one.commit and one.kind == "memory"}
        if present:
            changes = waiting(source.repo, workspace.git, scope.state, scope.ref, present)
            for path, facts in changes.items():
                found[path] += facts
    return found


def _others(
    workspace: Workspace, source: Source, ref: str, shown: Sequence[Candidate]
) -> list[tuple[str, str]]:
    """Who taught a memory of the team, where that was not the person; and whether they signed it."""
    repo = source.repo
    required = workspace.settings.flag(REQUIRED)
    tip = repo.ref(ref) if required else None
    blobs = {one.path: one.blob for one in shown if one.kind == "memory"}
    found = source.catalog.brought(ref, blobs) if blobs else {}
    commits = {path: _bringer(repo, some, path, blobs[path], tip) for path, some in found.items()}
    for one in shown:
        if one.kind == "log":
            from gitmem.integrations.recalled_lines import bringer  # most scopes keep no log

            commits[one.path] = bringer(workspace, repo, one.commit or repo.ref(ref) or "", one)
    facts = []
    mine = ""
    with suppress(GitmemError):  # git may know no identity
        mine = workspace.person.email.lower()
    for path, commit in commits.items():
        if commit is None or len(commit.parents) > 1 or parse(commit.message).op not in _TAUGHT:
            continue
        if commit.author.email.lower() != mine and (name := _name(commit.author.name)):
            facts.append((path, f'taught by "{name}"'))
    if required:
        signed = _signatures(workspace, [commit.oid for commit in commits.values() if commit])
        for one in shown:
            brought = commits.get(one.path)
            said = signed.get(brought.oid, _UNCHECKED) if brought else _UNCHECKED
            if said:
                facts.append((one.path, f"{said}, though shared memory is to be signed here"))
    return facts


def _bringer(
    repo: Repository, commits: Sequence[str], path: str, blob: str, tip: str | None
) -> Commit | None:
    """The first of some commits that brought a content to a path.

    Args:
        tip: where given, the commit is one of its history.
    """
    for oid in commits[:MOST_COMMITS]:
        with suppress(MissingObject):
            commit = repo.commit(oid)
            trees = [commit.tree, *(repo.commit(one).tree for one in commit.parents)]
            here, *before = ((entry := repo.entry(tree, path)) and entry.oid for tree in trees)
            if here == blob and blob not in before and (tip is None or repo.is_ancestor(oid, tip)):
                return commit
    return None


def _signatures(workspace: Workspace, commits: Sequence[str]) -> Mapping[str, str]:
    """What git says of the signatures of some commits; empty words where one is good."""
    if not commits:
        return {}
    words = ["log", "--no-walk=unsorted", "--no-color", "--format=%H %G?", *dict.fromkeys(commits), "--"]
    seen = peek(workspace.git, words, cwd=workspace.top, seconds=SIGNATURE_SECONDS, size=1 << 16)
    found = {}
    for line in seen.text.split("\n"):
        oid, _, sign = line.partition(" ")
        if sign in _SIGNED:
            found[oid] = _SIGNED[sign]
    return found


def _since(repo: Repository, one: Candidate) -> str:
    """What became of a memory that is shown as of then."""
    tip = repo.ref(one.ref)
    if one.kind == "log":
        from gitmem.store.log_facts import standing  # most scopes keep no log

        there = tip is not None and standing(repo, repo.commit(tip).tree, one.path)
        return "" if there else "no longer in its log"
    entry = repo.entry(repo.commit(tip).tree, one.path) if tip else None
    if entry is None:
        return "no longer in memory at this place: superseded, moved or forgotten since"
    return "" if entry.oid == one.blob else "changed since then"


def _name(name: str) -> str:
    """A person's name as no more than a name: it is shown outside the fence."""
    return " ".join(re.sub(r"[^\w.'-]+", " ", name).split())[:NAME_CHARS].rstrip()
