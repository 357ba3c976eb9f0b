"""How much daily logs tell since the last dream, without reading any other file."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice

from gitmem.core.daily_log import day_of, facts
from gitmem.core.names import is_agent_folder
from gitmem.store.repository import TREE, MissingObject, Repository
from gitmem.store.trees import list_files
from gitmem.store.workspace import Scope

MOST_LOGS = 60
"""Logs that are looked into, the newest of each agent."""


def logged_since(scope: Scope, since: float, enough: int) -> int:
    """Counts the facts that daily logs hold since a time.

    Args:
        since: epoch seconds; 0 for never.
        enough: at which counting ends.
    """
    repo = scope.repo
    tip = repo.ref(scope.ref)
    if tip is None:
        return 0
    first = datetime.fromtimestamp(max(0.0, since), UTC)
    number = 0
    try:
        for agent, entry in repo.tree(repo.commit(tip).tree).items():
            if entry.mode != TREE or not is_agent_folder(agent):
                continue
            folder = repo.tree(entry.oid).get("logs")
            if folder is None or folder.mode != TREE:
                continue
            for path, blob in islice(_newest(repo, f"{agent}/logs", folder.oid), MOST_LOGS):
                day = day_of(path)
                if day is None or day < first.date():
                    break
                number += sum(line.when > first for _, line in facts(path, repo.blob(blob)))
                if number >= enough:
                    return number
    except MissingObject:
        return number
    return number


def _newest(repo: Repository, lead: str, tree: str) -> list[tuple[str, str]]:
    """Path and blob of the logs below a folder, the newest first."""
    found = [(f"{lead}/{path}", oid) for path, oid in list_files(repo, tree).items()]
    return sorted(found, key=lambda one: one[0].rpartition("/")[2], reverse=True)
