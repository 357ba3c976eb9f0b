"""Ageing out: a daily log of which nothing waits any more leaves the hot days for the archive.

The commit is a paging like that of memories: it takes no line away, and live directories lay the log out no
more. What somebody appends elsewhere meanwhile brings the log back (`archive.stays_archived`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from gitmem.core.daily_log import day_of
from gitmem.core.merge import merge_trees
from gitmem.core.names import archived_path
from gitmem.core.text import counted
from gitmem.core.trailers import Provenance
from gitmem.store.commits import ROOT_SIGNATURE, Tip, Write, Written, commit, read_tip
from gitmem.store.paging import ATTEMPTS, archived
from gitmem.store.repository import TREE, Repository
from gitmem.store.trees import list_files, read_paths
from gitmem.store.workspace import Scope

AGED = timedelta(days=14)
"""How old a log's day is before it leaves the hot ones: twice as long as recall finds its lines."""

Waits = Callable[[Tip, Collection[str]], Collection[str]]
"""From a tip and some of its logs to those of which a fact still waits for a dream."""


def old_logs(repo: Repository, tree: str, today: date) -> dict[str, str]:
    """The hot logs of a tree that are old enough: path to blob."""
    found: dict[str, str] = {}
    for agent, entry in repo.tree(tree).items():
        if entry.mode == TREE and not agent.startswith("."):
            for file, oid in list_files(repo, entry.oid, "logs").items():
                path = f"{agent}/{file}"
                day = day_of(path)
                if day is not None and day < today - AGED and archived_path(path):
                    found[path] = oid
    return found


def age_out(scope: Scope, now: float, waits: Waits) -> Written | None:
    """Moves old logs to the archive by one commit; it is fixed by its tip, as `paging.page`'s.

    Args:
        now: epoch seconds.

    Returns:
        The commit, or None where no log is old enough, or a fact of each waits.
    """
    repo = scope.repo
    today = datetime.fromtimestamp(now, UTC).date()
    for _ in range(ATTEMPTS):
        at = repo.ref(scope.ref)
        if at is None or not old_logs(repo, repo.commit(at).tree, today):
            return None
        tip = read_tip(repo, scope.ref)
        old = old_logs(repo, tip.tree, today)
        moving = sorted(old.keys() - set(waits(tip, old.keys())))
        if not moving:
            return None
        edits, moves = _changes(repo, tip, moving)
        subject = f"Age out {counted(len(moving), 'daily log')}"
        write = Write(edits, subject, Provenance("page", "sync"), moves=moves)
        who = replace(ROOT_SIGNATURE, time=repo.commit(tip.commit).committer.time)
        written = commit(repo, scope.ref, _only_on(tip, write), who)
        if written is not None:
            return written
    return None


def _changes(
    repo: Repository, tip: Tip, logs: Collection[str]
) -> tuple[Mapping[str, bytes | None], Mapping[str, str]]:
    """Edits that unite logs with what the archive has of them, and moves of the others."""
    places = {path: place for path in logs if (place := archived_path(path))}
    twice = archived(repo, tip.tree, places)
    edits: dict[str, bytes | None] = {}
    for path, data in read_paths(repo, tip.tree, set(twice)).items():
        edits[places[path]] = merge_trees({}, {path: data}, {path: twice[path]}).files[path]
        edits[path] = None
    return edits, {path: place for path, place in places.items() if path not in twice}


def _only_on(tip: Tip, write: Write) -> Callable[[Tip], Write | None]:
    return lambda found: write if found.commit == tip.commit else None
