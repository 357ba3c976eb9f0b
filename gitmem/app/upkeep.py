"""Upkeep after a worker's job, never in a hook: packs where due, a commit graph, and a warm catalog.

The private repository is gitmem's to keep; in the code repository only what git itself would do there is
done. Once a day the daily logs of which nothing waits any more go to the archive.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gitmem.app.at_action import keep
from gitmem.app.setup import renew_hooks
from gitmem.core.account import path_of
from gitmem.core.errors import GitmemError
from gitmem.core.text import one_line
from gitmem.dream.gather import unsettled
from gitmem.flows.code_commits import FOLLOW_SECONDS, SETTING, follow_commits
from gitmem.flows.code_reach import warm
from gitmem.flows.context import Edges
from gitmem.git.command import GitCommand
from gitmem.git.config import config_get
from gitmem.git.trees import read_files
from gitmem.ledger import proposals
from gitmem.ledger.land import Tip, Written
from gitmem.ledger.paging import age_out
from gitmem.ledger.session_notes import FAMILY, prune
from gitmem.ledger.signatures import follow
from gitmem.ledger.state import Space
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.search.catalog import Catalog
from gitmem.search.text import read_memory

_LAST = "last"
_UPKEEP = Space("upkeep", 1)
DAY = 86_400.0


def keep_house(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Does what is due.

    Returns:
        What failed, a line each: nothing of it harms memory.
    """
    troubles = list(renew_hooks(workspace))
    for scope in workspace.scopes:
        troubles += _tried(f"the catalog of {scope.ref}", _warm, workspace, scope)
    if workspace.settings.flag(SETTING):
        follow_commits(workspace, FOLLOW_SECONDS)
    # Afterwards a prompt's hook starts no process for signatures, and asks no index at an action.
    troubles += _tried("signatures of shared memory", follow, workspace)
    troubles += _tried("what is told at an action", keep, workspace)
    project = [scope for scope in workspace.scopes if scope.name == "project"]
    private = [scope for scope in workspace.scopes if scope.name != "project"]
    for git_dir, mine in ((workspace.layout.common_dir, project), (workspace.private_path, private)):
        try:
            days = workspace.settings.number("sessionDays")
            troubles += _attend(workspace.git, git_dir, mine, edges.now, days)
        except (GitmemError, OSError) as error:
            troubles.append(f"{git_dir}: {error}")
    return tuple(troubles)


def _tried(what: str, do: Callable[..., object], *given: Any) -> list[str]:
    """Does one thing; what failed, where it did."""
    try:
        do(*given)
    except (GitmemError, OSError) as error:
        return [f"{what}: {error}"]
    return []


def _warm(workspace: Workspace, scope: Scope) -> None:
    """Brings a catalog up to date, and what HEAD has of the code, so that no prompt waits for it."""
    with closing(Catalog.open(scope.state)) as catalog:
        tip = scope.repo.ref(scope.ref)
        catalog.bring_up_to_date(scope.repo, scope.ref, tip, read_memory)
        files = {place.path: place.blob for place in catalog.places(scope.ref)}
        if tip and files and scope.name != "user":
            known = catalog.lessons(scope.repo, scope.ref, tip, files)
            warm(workspace, {code for _, code in known.values()})


def _attend(git: GitCommand, git_dir: Path, scopes: Sequence[Scope], now: float, days: int) -> list[str]:
    state = scopes[0].state
    if not _is_due(state, now):
        return []
    from gitmem.ledger.erase import end_former  # seldom

    # Written first: what fails is not tried again with every job.
    _UPKEEP.put(state, _LAST, now)
    repo = scopes[0].repo
    troubles = [
        *_tried(f"what was decided long ago in {git_dir}", proposals.let_go, repo, now),
        *_tried(f"what was replaced by a purge in {git_dir}", end_former, repo, [state], now),
    ]
    for scope in scopes:
        troubles += _tried(f"the logs of {scope.ref}", age_out_logs, scope, now)
    if scopes[0].name != "project":
        for ref in repo.refs(FAMILY):
            troubles += _tried(f"notes of sessions in {ref}", prune, repo, ref, now - days * DAY)
        # Before the packing: git's own graph keeps changed paths where it finds them.
        words = ["commit-graph", "write", "--reachable", "--changed-paths", "--split"]
        troubles += _run(git, git_dir, words)
    elif _is_switched_off(git, git_dir):
        return troubles
    return troubles + _run(git, git_dir, ["maintenance", "run", "--auto", "--quiet"])


def _is_due(state: Path, now: float) -> bool:
    """Whether a day has passed since the last time; a clock that was put back counts as one."""
    last = _UPKEEP.get(state, _LAST)
    return not (isinstance(last, int | float) and 0 <= now - last < DAY)


def _is_switched_off(git: GitCommand, git_dir: Path) -> bool:
    """Whether the person wants git to do no upkeep there by itself."""
    wanted = config_get(git, None, "maintenance.auto", kind="bool", git_dir=git_dir)
    objects = config_get(git, None, "gc.auto", git_dir=git_dir) or ""
    return wanted == "false" or objects == "0" or objects.startswith("-")


def _run(git: GitCommand, git_dir: Path, words: Sequence[str]) -> list[str]:
    done = git.run(words, git_dir=git_dir, check=False)
    if not done.returncode:
        return []
    return [f"git {words[0]} in {git_dir}: {one_line(done.stderr, 200)}"]


def age_out_logs(scope: Scope, now: float) -> Written | None:
    """Ages out a scope's old logs of which every fact is settled; see `gather.unsettled`.

    Args:
        now: epoch seconds.
    """

    def waits(tip: Tip, logs: Collection[str]) -> set[str]:
        files = read_files(scope.repo, tip.tree)
        waiting = unsettled(scope.repo, tip.commit, files, now=now, logs=logs)
        return {path_of(line) for line in (*waiting.lasting, *waiting.passing)}

    return age_out(scope, now, waits)
