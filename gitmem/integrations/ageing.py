"""Upkeep of daily logs: those that nothing waits for any more go to the archive."""

from __future__ import annotations

from collections.abc import Collection

from gitmem.core.account import path_of
from gitmem.dream.settled import unsettled
from gitmem.store.ageing import age_out
from gitmem.store.commits import Tip, Written
from gitmem.store.trees import read_files
from gitmem.store.workspace import Scope


def age_out_logs(scope: Scope, now: float) -> Written | None:
    """Ages out a scope's old logs of which every fact is settled; see `settled.unsettled`.

    Args:
        now: epoch seconds.
    """

    def waits(tip: Tip, logs: Collection[str]) -> set[str]:
        files = read_files(scope.repo, tip.tree)
        waiting = unsettled(scope.repo, tip.commit, files, now=now, logs=logs)
        return {path_of(line) for line in (*waiting.lasting, *waiting.passing)}

    return age_out(scope, now, waits)
