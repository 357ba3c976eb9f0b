"""What `--at` and a revision mean: where a memory ref stood then, or when the code was at that commit.

A commit of the code means its moment: when it was committed, or for one that was rebased or amended when it
was written, since the other is the time of the rebase. Clocks differ and go backwards, so memory that was
taught on code which came later is left out whatever its time: a `Gitmem-Code-Commit` that descends from the
commit in question proves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from gitmem.core.errors import MissingObject, UsageError
from gitmem.core.trailers import parse
from gitmem.git.by_command import GitRepository
from gitmem.git.command import GitCommand
from gitmem.git.repository import Commit, Repository
from gitmem.ledger.code_rewrites import Rewrites, read_rewrites
from gitmem.ledger.land import ROOT_MESSAGE, ROOT_SIGNATURE, memory_commit
from gitmem.ledger.push_plan import side_tips, unshared_tips
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.values import dataclass

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
_HEAD = re.compile(r"HEAD(?![\w./-])")
"""Of the code: a private repository has one only because git wants it so, and it names no scope."""

LOOKED_AT = 100
"""Memory commits that are asked which code they were taught on, at most; the answer is near the moment."""


def resolve_at(workspace: Workspace, scope: Scope, when: str, now: float | None = None) -> str:
    """Finds the commit of a scope's memory ref that `--at` means.

    In this order: a revision of the memory ref itself (`~2`, `^`, `@{1}`), a date or time (ISO, or git's
    "2 days ago", "yesterday"; a day alone is its end, in the person's time zone), a commit of the memory,
    and any other commit or tag: the code's (see `known_at`), or another scope's. A date, and a commit that
    is not the memory's, mean the newest memory commit that is no later.

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
        code = code_commit(workspace, word)
        if code is not None:
            return known_at(workspace, scope, tip, code)
        private = workspace.private.resolve(word) if word and not _HEAD.match(word) else None
        moment = workspace.private.commit(private).committer.time if private else None
    if moment is None:
        raise UsageError(
            f"{when!r} is no revision of {scope.name} memory, no date, and no commit or tag of the code",
            "Give e.g. 2026-11-20, '2 days ago', a tag, a commit from git mem log, or ~1.",
        )
    return newest_until(scope.repo, tip, moment)


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


def commits_at(
    workspace: Workspace, scope: str | None, at: str | None = None, now: float | None = None
) -> Iterator[tuple[Scope, str]]:
    """Yields the scopes that are asked, each with the commit of its memory ref at that time.

    Args:
        scope: one of them; None for all.
        at: as for `resolve_at`; None is the present.
    """
    scopes = (workspace.scope(scope),) if scope else workspace.scopes
    past = resolve_all(workspace, scopes, at, now) if at else None
    for where in scopes:
        commit = memory_commit(where.repo, where.ref) if past is None else past.get(where.ref)
        if commit:
            yield where, commit


def revision(scope: Scope, word: str) -> str | None:
    """The commit of a scope's memory that a revision names (`~2`, `@{1}`, a ref, a commit), or None.

    Code and project memory share a repository but no history, which tells their commits apart.
    """
    tip = scope.repo.ref(scope.ref)
    if tip is None or not word or _HEAD.match(word):
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
    stood = {*(entry.new for entry in repo.reflog(scope.ref)), *side_tips(repo, scope.ref)}
    return commit in stood or any(repo.is_ancestor(commit, other) for other in stood - {tip})


def since(git: GitCommand, given: str, now: float) -> int:
    """The moment that `--since` names, seconds since the epoch; 0 where it names none.

    Args:
        given: a date as git reads it; a day alone is its end for `--at`, and its beginning here.
        now: epoch seconds, from which relative dates count.

    Raises:
        UsageError: it is no date.
    """
    if not given:
        return 0
    day_alone = re.fullmatch(r"\d{4}-\d\d-\d\d", given)
    try:
        moment = moment_of(git, f"{given} 00:00" if day_alone else given, now)
    except UsageError:
        moment = None
    if moment is None:
        raise UsageError(f"{given!r} is no date", "Say --since 2026-09-01, or --since '2 weeks ago'")
    return moment


def moment_of(git: GitCommand, when: str, now: float | None = None) -> int | None:
    """Seconds since the epoch that a date means to git; None for what is no date.

    Git takes any word at all for a date, so only forms that are surely one are handed on.

    Raises:
        UsageError: it is written like a date but is none (`2026-13-01`).
    """
    given = _DATE.fullmatch(when)
    if given is None and not _RELATIVE.fullmatch(when.replace(".", " ")):  # as in git's own `2.days.ago`
        return None
    if given:
        try:
            parsed = datetime.fromisoformat(f"{given[1]}T{given[2] or '23:59:59'}{given[3] or ''}")
        except ValueError:
            what = f"{when!r} is no date: there is no such day or time"
            raise UsageError(what, "Write it as 2026-11-20, or 2026-11-20 14:30.") from None
        if parsed.tzinfo is not None:
            return int(parsed.timestamp())
        when = parsed.isoformat(" ")
    # Relative dates are counted from the caller's clock; git has this variable for its own tests.
    clock = {} if now is None else {"GIT_TEST_DATE_NOW": str(int(now))}
    answer = git.run(["rev-parse", f"--since={when}"], env=clock).text
    return int(answer.removeprefix("--max-age="))


def newest_until(repo: Repository, tip: str, moment: int) -> str:
    """The newest commit that was made no later; where all are younger the oldest, mostly the empty root.

    Of a time before memory was shared that is a commit which never left, where one was kept.
    """
    for one in reversed(unshared_tips(repo)):
        before = repo.commit(one)
        if before.committer.time >= moment:
            tip = before.parents[0]
            break
    for commit in repo.history(tip, until=moment):
        return commit.oid
    *_, oldest = repo.history(tip)
    return oldest.oid


def is_root(commit: Commit) -> bool:
    """Whether this is the fixed, empty commit that every memory ref begins with."""
    return not commit.parents and commit.author == ROOT_SIGNATURE and commit.message == ROOT_MESSAGE


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
