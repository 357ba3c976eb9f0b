"""Accounts in a memory ref's history: commits that say what became of claims, and were not taken back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from gitmem.core.account import path_of
from gitmem.core.names import is_log
from gitmem.core.trailers import Fate, parse
from gitmem.git.repository import Commit, Repository

LAG = 64
"""Commits in a row that are older than all days asked about, after which history is not followed further:
clocks differ."""

BEFORE = timedelta(days=2)
"""How much older than a line of a log a commit may be that speaks of it: clocks differ."""

TRAILER = "Gitmem-Claim:"


def accounts(repo: Repository, tip: str, since: float) -> Iterator[Commit]:
    """Commits that speak of claims, without those that a person took back, and what came with them.

    Args:
        since: epoch seconds; history is followed until all that is met is older.
    """
    undone: set[str] = set()
    off: set[str] = set()
    late = 0
    for commit in repo.history(tip):
        late = 0 if commit.committer.time >= since else late + 1
        if late > LAG:
            return
        if commit.oid in undone:
            if len(commit.parents) > 1:
                # What landed by it stays in history all the same.
                steps = repo.steps(commit.parents[1], without=commit.parents[:1])
                off |= {step.commit.oid for step in steps}
            continue
        if commit.oid in off:
            continue
        if "Gitmem-" in commit.message:
            told = parse(commit.message)
            if told.undoes:
                undone.add(told.undoes)
            if TRAILER in commit.message:
                yield commit


def fates_of_lines(commit: Commit) -> Iterator[Fate]:
    """What a commit says became of lines of daily logs, one by one."""
    for fate in parse(commit.message).claims:
        # Where lines of two logs are made one, nothing was decided on what they say.
        if is_log(path_of(fate.source)) and not is_log(path_of(fate.target)):
            yield fate
