"""What a memory ref held and when: what `--at` means, and what a change did to claims."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from gitmem.core.claim import Claim
from gitmem.core.errors import UsageError
from gitmem.core.memory import Memory, parse
from gitmem.core.names import kind
from gitmem.store.code_time import code_commit, known_at, newest_until
from gitmem.store.commits import ROOT_MESSAGE, ROOT_SIGNATURE
from gitmem.store.git import GitCommand
from gitmem.store.repository import Commit
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
class ClaimChange:
    """What became of one claim (`+` came, `-` went, `~` was marked) or of a key of the frontmatter."""

    sign: Literal["+", "-", "~"]
    text: str


def resolve_at(workspace: Workspace, scope: Scope, when: str, now: float | None = None) -> str:
    """Finds the commit of a scope's memory ref that `--at` means.

    In this order: a revision of the memory ref itself (`~2`, `^`, `@{1}`), a date or time (ISO, or git's
    "2 days ago", "yesterday"; a day alone is its end, in the person's time zone), a commit of the memory,
    and any other commit or tag: the code's (see `code_time`), or another scope's. A date, and a commit that
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
        private = workspace.private.resolve(word) if word else None
        moment = workspace.private.commit(private).committer.time if private else None
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


def is_root(commit: Commit) -> bool:
    """Whether this is the fixed, empty commit that every memory ref begins with."""
    return not commit.parents and commit.author == ROOT_SIGNATURE and commit.message == ROOT_MESSAGE


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
