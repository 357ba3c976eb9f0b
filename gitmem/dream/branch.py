"""A dream as git holds it: a parked branch, a commit a change, the summary in a last commit of its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from gitmem.errors import RepositoryError
from gitmem.memory.account import path_of, references
from gitmem.memory.claim import Claim
from gitmem.memory.trailers import Fate, parse
from gitmem.store.repository import Commit, Repository
from gitmem.store.trees import changed_files, read_paths
from gitmem.store.workspace import PRIVATE_REF, Scope, Workspace

REJECTED = "refs/gitmem/rejected/"


@dataclass(frozen=True)
class ClaimStory:
    """One claim before and after.

    Attributes:
        before: its text; empty where it cannot be found.
        after: text of the claim that it is or went into; empty where it was dropped.
    """

    fate: Fate
    before: str
    after: str


@dataclass(frozen=True)
class DreamCommit:
    """One change of a dream.

    Attributes:
        n: its number, from 1; it stays when others are decided.
        reason: why, as the commit says.
        files: path to content before and after; None where there is no file.
        decided: `accepted`, `rejected` or empty.
    """

    n: int
    commit: str
    subject: str
    reason: str
    fates: tuple[Fate, ...]
    claims: tuple[ClaimStory, ...]
    files: Mapping[str, tuple[bytes | None, bytes | None]] = field(repr=False)
    decided: str = ""


@dataclass(frozen=True)
class Dream:
    """A dream that waits for a person.

    Attributes:
        base: commit of the memory ref that it started from.
        summary: what the last commit says.
        time: author time, seconds since the epoch.
    """

    id: str
    scope: Scope
    ref: str
    base: str
    tip: str
    changes: tuple[DreamCommit, ...]
    summary: str = ""
    time: int = 0

    @property
    def open(self) -> tuple[DreamCommit, ...]:
        """The changes that nobody decided on."""
        return tuple(change for change in self.changes if not change.decided)


def prefix(scope: Scope) -> str:
    """Where the dreams of a scope are parked, with a slash at the end (design.md section 8)."""
    if scope.name != "project":
        return "refs/heads/dream/"
    return "refs/gitmem/dream/" if scope.ref == PRIVATE_REF else "refs/heads/gitmem/dream/"


def open_dreams(workspace: Workspace) -> tuple[Dream, ...]:
    """The dreams that wait for a decision, of all scopes, in a fixed order."""
    found: list[Dream] = []
    for scope in workspace.scopes:
        # Where a scope cannot be read nothing of it can be decided, and all else still can.
        with suppress(RepositoryError):
            found += dreams_of(scope)
    return tuple(found)


def dreams_of(scope: Scope) -> tuple[Dream, ...]:
    """The dreams of one scope that wait for a decision."""
    tip = scope.repo.ref(scope.ref)
    if tip is None:
        return ()
    found = []
    for ref, oid in sorted(scope.repo.refs(prefix(scope)).items()):
        base = fork_point(scope.repo, tip, oid)
        if base is None or base == oid:
            continue
        dream = read_dream(scope, ref, oid, base, tip)
        if dream.open:
            found.append(dream)
    return tuple(found)


def fork_point(repo: Repository, tip: str, dream: str) -> str | None:
    """Where a dream left a memory ref; None where it did not, since all refs share but the empty root."""
    bases = repo.merge_bases(tip, dream)
    return bases[0] if bases and repo.commit(bases[0]).parents else None


def read_dream(scope: Scope, ref: str, oid: str, base: str, tip: str) -> Dream:
    """Reads a dream's commits.

    Args:
        oid: where its ref stands.
        base: where it left the memory ref.
        tip: where the memory ref stands; its history says what was decided.
    """
    repo = scope.repo
    id = ref.rpartition("/")[2]
    chain = first_parents(repo, oid, base)
    decided = _decided(repo, id, tip, base)
    changes: list[DreamCommit] = []
    summary = ""
    before = repo.commit(base)
    for commit in chain:
        if commit.tree == before.tree:
            summary = _text(commit)
        else:
            n = len(changes) + 1
            changes.append(_change(repo, n, before.tree, commit, decided.get(n, decided.get(0, ""))))
        before = commit
    return Dream(id, scope, ref, base, oid, tuple(changes), summary, before.author.time)


def first_parents(repo: Repository, tip: str, base: str) -> list[Commit]:
    """Commits from behind `base` to `tip`, oldest first, along first parents."""
    chain: list[Commit] = []
    at = tip
    while at != base:
        commit = repo.commit(at)
        chain.append(commit)
        if not commit.parents:
            break
        at = commit.parents[0]
    return chain[::-1]


def reviewed(id: str, numbers: tuple[int, ...] | None) -> str:
    """The value of the trailer that says what of a dream was decided; no numbers mean all of it."""
    return id if numbers is None else f"{id} {','.join(map(str, numbers))}"


def _decided(repo: Repository, id: str, tip: str, base: str) -> dict[int, str]:
    """Number of a change to what a person decided; 0 stands for all."""
    found: dict[int, str] = {}
    for commit in repo.history(tip):
        if commit.oid == base:
            break
        provenance = parse(commit.message)
        name, _, numbers = provenance.reviewed.partition(" ")
        if name == id:
            what = "accepted" if provenance.writer == "dream" else "rejected"
            for number in numbers.split(",") if numbers else ["0"]:
                if number.isdecimal():
                    found.setdefault(int(number), what)
    return found


def _change(repo: Repository, n: int, before: str, commit: Commit, decided: str) -> DreamCommit:
    fates = parse(commit.message).claims
    paths = changed_files(repo, before, commit.tree)
    named = paths | {path_of(end) for fate in fates for end in (fate.source, fate.target) if end}
    old, new = read_paths(repo, before, named), read_paths(repo, commit.tree, named)
    here, there = references(old), references(new)
    stories = tuple(ClaimStory(fate, _said(here, fate.source), _said(there, fate.target)) for fate in fates)
    files = {path: (old.get(path), new.get(path)) for path in sorted(paths)}
    return DreamCommit(n, commit.oid, commit.subject, _text(commit), fates, stories, files, decided)


def _said(claims: Mapping[str, Claim], ref: str) -> str:
    claim = claims.get(ref)
    return claim.text if claim else ""


def _text(commit: Commit) -> str:
    """What a message says between subject and trailers."""
    lines = commit.message.split("\n")[1:]
    return "\n".join(line for line in lines if not line.startswith("Gitmem-")).strip()
