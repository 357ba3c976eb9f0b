"""Sharing as people meet it: live directories are saved before a sync and brought up to date after it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from gitmem.core.errors import GitmemError
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.patience import Patience
from gitmem.integrations.saving import save_all
from gitmem.rules.rule import Finding
from gitmem.rules.screen import doubt_told
from gitmem.share.leaving import Leaving
from gitmem.share.settling import stands_in_private
from gitmem.share.sync import sync, take_fetched
from gitmem.share.synced import Options, Synced
from gitmem.share.turning import Mode, SharePlan, plan_share, start_from_remote, turn_off, turn_on
from gitmem.store.workspace import Workspace

__all__ = ["carry_out_share", "plan_share", "share", "start_from_remote", "synchronise", "unshare"]


def share(workspace: Workspace, edges: Edges, mode: Mode | None, remote: str) -> SharePlan:
    """Saves what stands in live directories and plans turning sharing on."""
    save_all(workspace, edges, everywhere=True)
    return plan_share(workspace, mode, remote, edges.cwd)


def carry_out_share(workspace: Workspace, edges: Edges, plan: SharePlan) -> str:
    """Turns sharing on; returns the branch's commit."""
    return turn_on(workspace, plan, workspace.author(edges.now))


def unshare(workspace: Workspace) -> bool:
    """Turns sharing off; returns whether it was on."""
    return turn_off(workspace)


def synchronise(
    workspace: Workspace,
    edges: Edges,
    ask: Callable[[tuple[Leaving, ...]], bool],
    *,
    remote: str = "",
    pull: bool = True,
    push: bool = True,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda _: None,
    warn: Callable[[tuple[Finding, ...]], None] | None = None,
) -> Synced:
    """Saves live directories, syncs, and lays out what came.

    Args:
        ask, remote, pull, push, dry_run, tell: as in `Options`.
        warn: the same; where None, it is said as all else is.
    """
    allow = allowed_fingerprints(workspace)

    def say(doubts: tuple[Finding, ...]) -> None:
        for one in doubts:
            edges.say(doubt_told(one, "leaves"))

    options = Options(ask, Patience(), remote, pull, push, dry_run, allow, tell, warn or say)
    if dry_run or workspace.sharing == "off":
        return sync(workspace, options)
    from gitmem.integrations.purging import after_carrying  # heavy: where a sync runs alone

    after_carrying(workspace, edges, ())
    save_all(workspace, edges)
    try:
        done = sync(workspace, options)
    except GitmemError:
        # What was merged before it failed is memory already; why it failed is what the person must see.
        with suppress(GitmemError):
            after_carrying(workspace, edges, ())
            save_all(workspace, edges)
        raise
    from gitmem.integrations.requests import settle_landed  # heavy: where a sync runs alone

    settle_landed(workspace, edges, done)
    after_carrying(workspace, edges, done.carried)
    save_all(workspace, edges, fresh=True)
    return replace(done, stands_in_private=stands_in_private(workspace, done.carried))


def after_merge(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Takes in what git fetched of shared memory, and lays it out; the network is never used.

    Returns:
        What is to be known about it, a line each.
    """
    if workspace.sharing == "off":
        return ()
    save_all(workspace, edges)
    options = Options(lambda _: False, lambda _: None, push=False, allow=allowed_fingerprints(workspace))
    done = take_fetched(workspace, options)
    if done is None or not (done.before or done.carried):
        return ()
    from gitmem.integrations.purging import after_carrying  # heavy: where a sync runs alone

    after_carrying(workspace, edges, done.carried)
    save_all(workspace, edges, fresh=True)
    return tuple(
        f"from {done.remote}: {one.path} {one.message}; have it rotated and removed" for one in done.arrived
    )
