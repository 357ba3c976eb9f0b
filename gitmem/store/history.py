"""What a memory ref held and when: revisions, the log, what a change did to claims, how old facts are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gitmem.errors import UsageError
from gitmem.memory.claim import Claim
from gitmem.memory.memory import Memory, parse
from gitmem.memory.merge import kind
from gitmem.memory.trailers import Provenance
from gitmem.memory.trailers import parse as parse_trailers
from gitmem.store.catalog.ages import body_times
from gitmem.store.catalog.trees import Trees
from gitmem.store.commits import ROOT_MESSAGE, ROOT_SIGNATURE
from gitmem.store.git import GitCommand
from gitmem.store.git_backend import GitRepository
from gitmem.store.repository import Commit, MissingObject, Repository
from gitmem.store.trees import changed_files, list_files
from gitmem.store.workspace import Scope, Workspace

_DATE = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)
_UNIT = r"(?:second|minute|hour|day|week|month|year)s?"
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_RELATIVE = re.compile(
    rf"now|today|yesterday|noon|midnight|last {_UNIT}|last {_DAY}|(?:\d+|an?|one|two|three) {_UNIT} ago"
    rf"|(?:yesterday|today|\d+ days? ago) (?:noon|midnight|(?:at )?\d{{1,2}}(?::\d{{2}})?\s?(?:am|pm)?)",
    re.IGNORECASE,
)
_OF_MEMORY = re.compile(r"@?(?:[~^][0-9]*)+|@|@\{[^{}]+\}(?:[~^][0-9]*)*")


@dataclass(frozen=True)
class LogEntry:
    """One commit of a memory ref.

    Attributes:
        author: name and address, `Ann <ann@example.com>`.
        time: author time, seconds since the epoch.
        paths: files that it changed, from the root of the tree, sorted.
    """

    commit: str
    subject: str
    author: str
    time: int
    provenance: Provenance
    paths: tuple[str, ...]


@dataclass(frozen=True)
class ClaimChange:
    """What became of one claim (`+` came, `-` went, `~` was marked) or of a key of the frontmatter."""

    sign: Literal["+", "-", "~"]
    text: str


def resolve_at(workspace: Workspace, scope: Scope, when: str, now: float | None = None) -> str:
    """Finds the commit of a scope's memory ref that `--at` means.

    In this order: a revision of the memory ref itself (`~2`, `^`, `@{1}`), a date or time (ISO, or git's
    "2 days ago", "yesterday"; a day alone is its end, in the person's time zone), a commit of the memory,
    and any other commit or tag: the code's, or another scope's. The last two kinds mean the newest memory
    commit that is no later.

    Args:
        when: what the person wrote.
        now: seconds since the epoch that relative dates are counted from; None is git's own clock.

    Raises:
        UsageError: it is none of these, or the scope holds nothing yet.
    """
    tip = scope.repo.ref(scope.ref)
    if tip is None:
        raise UsageError(f"{scope.name} memory is empty: there is no {scope.ref} yet")
    word = when.strip()
    if _OF_MEMORY.fullmatch(word):
        found = revision(scope, word)
        if found is None:
            raise UsageError(f"{scope.ref} has no {word}", "See what there is: git mem log")
        return found
    moment = moment_of(workspace.git, word, now)
    if moment is None:
        mine = revision(scope, word)
        if mine is not None:
            return mine
        moment = _commit_time(workspace, word)
    if moment is None:
        raise UsageError(
            f"{when!r} is no revision of {scope.name} memory, no date, and no commit or tag of the code",
            "Give e.g. 2026-11-20, '2 days ago', a tag, a commit from git mem log, or ~1.",
        )
    return newest_until(scope.repo, tip, moment)


def revision(scope: Scope, word: str) -> str | None:
    """The commit of a scope's memory that a revision names (`~2`, `@{1}`, a ref, a commit), or None.

    Code and project memory share a repository but no history, which tells their commits apart.
    """
    tip = scope.repo.ref(scope.ref)
    if tip is None or not word:
        return None
    if _OF_MEMORY.fullmatch(word):
        return scope.repo.resolve(scope.ref + (word if word.startswith("@{") else word.removeprefix("@")))
    found = scope.repo.resolve(word)
    return found if found is not None and _was_here(scope, found, tip) else None


def _was_here(scope: Scope, commit: str, tip: str) -> bool:
    """Whether a ref holds a commit, or once stood on it or on something that holds it.

    All scopes begin with one root, so having an ancestor in common says nothing.
    """
    repo = scope.repo
    if repo.is_ancestor(commit, tip):
        return True
    stood = {entry.new for entry in repo.reflog(scope.ref)}
    return commit in stood or any(repo.is_ancestor(commit, other) for other in stood - {tip})


def resolve_all(
    workspace: Workspace, scopes: tuple[Scope, ...], when: str, now: float | None = None
) -> dict[str, str]:
    """Resolves one `--at` for several scopes: full ref name to commit, for those that hold anything.

    Raises:
        UsageError: it means nothing in any of them.
    """
    found: dict[str, str] = {}
    trouble: UsageError | None = None
    for scope in scopes:
        if scope.repo.ref(scope.ref) is None:
            continue
        try:
            found[scope.ref] = resolve_at(workspace, scope, when, now)
        except UsageError as error:
            trouble = trouble or error
    if trouble is not None and not found:
        raise trouble
    if not found:
        raise UsageError("There is no memory yet", "Store some: git mem remember TEXT")
    return found


def moment_of(git: GitCommand, when: str, now: float | None = None) -> int | None:
    """Seconds since the epoch that a date means to git; None for what is no date.

    Git takes any word at all for a date, so only forms that are surely one are handed on.

    Raises:
        UsageError: it is written like a date but is none (`2026-13-01`).
    """
    given = _DATE.fullmatch(when)
    if given is None and not _RELATIVE.fullmatch(when):
        return None
    if given:
        try:
            parsed = datetime.fromisoformat(f"{given[1]}T{given[2] or '23:59:59'}{given[3] or ''}")
        except ValueError:
            raise UsageError(f"{when!r} is no day or time of the calendar") from None
        if parsed.tzinfo is not None:
            return int(parsed.timestamp())
        when = parsed.isoformat(" ")
    # Relative dates are counted from the caller's clock; git has this variable for its own tests.
    clock = {} if now is None else {"GIT_TEST_DATE_NOW": str(int(now))}
    answer = git.run(["rev-parse", f"--since={when}"], env=clock).text
    return int(answer.removeprefix("--max-age="))


def newest_until(repo: Repository, tip: str, moment: int) -> str:
    """The newest commit that was made no later; the empty root where all are younger."""
    last = tip
    for commit in repo.history(tip):
        last = commit.oid
        if commit.committer.time <= moment:
            break
    return last


def is_root(commit: Commit) -> bool:
    """Whether this is the fixed, empty commit that every memory ref begins with."""
    return not commit.parents and commit.author == ROOT_SIGNATURE and commit.message == ROOT_MESSAGE


def entries(repo: Repository, tip: str, wanted: Callable[[str], bool] | None = None) -> Iterator[LogEntry]:
    """Yields the commits of a memory ref, newest first.

    Args:
        wanted: which paths (from the root of the tree) count; commits that changed none of them are
            passed over. Without it every commit is given but the empty root.
    """
    for commit in repo.history(tip):
        if is_root(commit):
            continue
        paths = changed_paths(repo, commit)
        chosen = tuple(path for path in paths if wanted is None or wanted(path))
        if chosen or wanted is None:
            yield LogEntry(
                commit.oid,
                commit.subject,
                f"{commit.author.name} <{commit.author.email}>",
                commit.author.time,
                parse_trailers(commit.message),
                chosen,
            )


def changed_paths(repo: Repository, commit: Commit) -> tuple[str, ...]:
    """Files that a commit changed: against its parent, and for a merge against every one of them."""
    trees = [_tree(repo, parent) for parent in commit.parents] or [None]
    sets = [changed_files(repo, tree, commit.tree) for tree in trees]
    return tuple(sorted(set.intersection(*sets)))


def claim_diff(path: str, before: bytes | None, after: bytes | None) -> tuple[ClaimChange, ...]:
    """Compares two states of a memory, claim by claim; what only moved or was re-wrapped is no change.

    Args:
        path: for the file's kind: tombstones and host files have no claims, and give nothing.
        before, after: content; None where there is no file.

    Returns:
        Claims that went and came in the order of the texts, then changes of the frontmatter.
    """
    if kind(path) not in ("memory", "index", "log"):
        return ()
    old, new = (parse(path, data) if data is not None else None for data in (before, after))
    olds, news = (_claims(memory) for memory in (old, new))
    changes = [ClaimChange("-", claim.text) for id, claim in olds.items() if id not in news]
    changes += [ClaimChange("+", claim.text) for id, claim in news.items() if id not in olds]
    changes += [
        ClaimChange("~", claim.text)
        for id, claim in news.items()
        if id in olds and olds[id].dispute != claim.dispute
    ]
    return (*changes, *_front_changes(old, new))


def author_times(repo: Repository, tip: str, agent: str) -> dict[str, int]:
    """When each memory of an agent was last taught: file (inside its folder) to seconds since the epoch.

    The author time of the last change of its body by an agent, extraction or person: dreams, merges and
    moves make no fact young.

    Args:
        tip: a commit.
        agent: the agent's folder in the tree.
    """
    tree = repo.commit(tip).tree
    paths = {p: oid for p, oid in list_files(repo, tree, agent).items() if kind(p) == "memory"}
    bodies: dict[str, bytes | None] = {}

    def body(path: str, oid: str) -> bytes | None:
        if oid not in bodies:
            try:
                bodies[oid] = " ".join(parse(path, repo.blob(oid)).body.split()).encode("utf-8", "replace")
            except MissingObject:
                bodies[oid] = None
        return bodies[oid]

    found, _ = body_times(repo, Trees(repo), tip, None, paths, body)
    return {path.removeprefix(f"{agent}/"): time for path, time in found.items()}


def fates(provenance: Provenance) -> dict[str, int]:
    """How many claims a dream kept, merged, superseded and dropped, those that are none left out."""
    return dict(Counter(fate.kind for fate in provenance.claims))


def _claims(memory: Memory | None) -> dict[str, Claim]:
    return {claim.id: claim for claim in memory.parsed.claims} if memory else {}


def _front_changes(old: Memory | None, new: Memory | None) -> Iterator[ClaimChange]:
    before, after = (memory.description if memory else "" for memory in (old, new))
    if before != after and before:
        yield ClaimChange("-", f"description: {before}")
    if before != after and after:
        yield ClaimChange("+", f"description: {after}")
    if old and new:
        for key in ("name", "type"):
            one, other = getattr(old, key), getattr(new, key)
            if one != other:
                yield ClaimChange("~", f"{key}: {one} -> {other}")


def _commit_time(workspace: Workspace, revision: str) -> int | None:
    # The present work tree's own view: HEAD of a linked one is not that of the main one.
    here = GitRepository(workspace.git, workspace.layout)
    for resolve, repo in ((here.resolve, workspace.code), (workspace.private.resolve, workspace.private)):
        oid = resolve(revision) if revision else None
        if oid is not None:
            return repo.commit(oid).committer.time
    return None


def _tree(repo: Repository, commit: str) -> str | None:
    """Tree of a parent; None where a shallow clone ends."""
    try:
        return repo.commit(commit).tree
    except MissingObject:
        return None
