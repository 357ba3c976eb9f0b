"""Memory exchanged with a remote or a backup: live directories are saved before, and laid out after."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.text import counted
from gitmem.flows.context import Edges
from gitmem.flows.save import save_all
from gitmem.git.remote import PushPatience, checked_address, without_credentials
from gitmem.ledger.consent import PurgeWaits
from gitmem.ledger.erase import left_behind, old_tips
from gitmem.ledger.push_plan import Leaving
from gitmem.ledger.replay import Carried
from gitmem.ledger.scrub import stands_in
from gitmem.ledger.sealed_backup import encrypt_to
from gitmem.ledger.share import Mode, SharePlan, plan_share
from gitmem.ledger.signatures import follow
from gitmem.ledger.sync import Options, Synced, sync, take_fetched
from gitmem.ledger.workspace import DREAMS, Workspace
from gitmem.rules.rule import Finding
from gitmem.rules.screen import doubt_told

if TYPE_CHECKING:
    from gitmem.ledger.backup import Backed


def share(workspace: Workspace, edges: Edges, mode: Mode | None, remote: str) -> SharePlan:
    """Saves what stands in live directories and plans turning sharing on."""
    save_all(workspace, edges, everywhere=True)
    return plan_share(workspace, mode, remote, edges.cwd)


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
    allow = workspace.allowed

    def say(doubts: tuple[Finding, ...]) -> None:
        for one in doubts:
            edges.say(doubt_told(one, "leaves"))

    options = Options(ask, PushPatience(), edges.now, remote, pull, push, dry_run, allow, tell, warn or say)
    if dry_run or workspace.sharing == "off":
        return sync(workspace, options)
    _settle(workspace, edges, ())
    save_all(workspace, edges)
    try:
        done = sync(workspace, options)
    except GitmemError:
        # What was merged before it failed is memory already; why it failed is what the person must see.
        with suppress(GitmemError):
            _settle(workspace, edges, ())
            save_all(workspace, edges)
        raise
    if done.before or done.landed or workspace.code.refs(DREAMS):
        from gitmem.flows.review_dream import settle_landed  # heavy: where a sync runs alone

        settle_landed(workspace, edges, done)
    _settle(workspace, edges, done.carried)
    save_all(workspace, edges, fresh=True)
    with suppress(GitmemError):
        follow(workspace)
    if not (done.carried and workspace.has_private):
        return done
    return replace(done, stands_in_private=stands_in(workspace.private, done.carried, private=True))


def after_merge(workspace: Workspace, edges: Edges) -> tuple[str, ...]:
    """Takes in what git fetched of shared memory, and lays it out; the network is never used.

    Returns:
        What is to be known about it, a line each.
    """
    if workspace.sharing == "off":
        return ()
    save_all(workspace, edges)
    allow = workspace.allowed
    options = Options(lambda _: False, lambda _: None, edges.now, push=False, allow=allow)
    try:
        done = take_fetched(workspace, options)
    except PurgeWaits as waits:
        return (f"{waits.message}. {waits.hint}",)
    if done is None or not (done.before or done.carried):
        return ()
    _settle(workspace, edges, done.carried)
    save_all(workspace, edges, fresh=True)
    return (
        *(
            f"from {done.remote}: {one.path} {one.message}; have it rotated and removed"
            for one in done.arrived
        ),
        *(f"from {done.remote}: set aside {path!a}: {why}" for path, why in done.aside.items()),
    )


def address(workspace: Workspace, edges: Edges, text: str) -> str:
    """A backup's address as it is kept.

    Args:
        text: as a person typed it.

    Raises:
        UsageError: it is none, or private memory must not go there.
    """
    from gitmem.ledger.backup import refuse_code

    url = checked_address(text, edges.cwd)
    refuse_code(workspace, url)
    return url


def back_up(workspace: Workspace, edges: Edges, url: str, recipients: tuple[str, ...] = ()) -> Backed:
    """Names the backup where it is new, saves live directories, backs up, and lays out what came.

    Where that fails, the backup is the one that it was: it may be the wrong place.

    Args:
        recipients: whom it is encrypted to from now on; none for whom it was.
    """
    from gitmem.ledger import backup

    before = workspace.settings.get("backup")
    if recipients:
        encrypt_to(workspace, recipients)
    if recipients or before != url:
        backup.name_backup(workspace, url)
    try:
        save_all(workspace, edges, everywhere=True)
        done = backup.back_up(workspace, url, workspace.allowed, PushPatience(), edges.now)
    except GitmemError:
        if before != url:
            if before:
                backup.name_backup(workspace, before)
            else:
                backup.forget_backup(workspace)
        # What was taken in before it failed is memory already; why it failed is what the person must see.
        with suppress(GitmemError):
            _settle(workspace, edges, ())
            save_all(workspace, edges, everywhere=True, fresh=True)
        raise
    _settle(workspace, edges, done.carried, private=True)
    save_all(workspace, edges, everywhere=True, fresh=True)
    return replace(done, stands_in_project=stands_in(workspace.code, done.carried, private=False))


def start_from_backup(workspace: Workspace, edges: Edges, url: str, identity: Path | None = None) -> str:
    """Takes in what a backup holds, before anything is laid out; nothing is sent.

    Args:
        identity: opens an encrypted one.

    Returns:
        What was done, or why it was not, in one line: without a backup `init` goes on.
    """
    from gitmem.ledger import backup

    place = without_credentials(url)
    try:
        if identity is not None:
            backup.unlock(workspace, url, identity)
        done = backup.back_up(workspace, url, workspace.allowed, PushPatience(), edges.now, send=False)
        if workspace.settings.get("backup") != url:
            backup.name_backup(workspace, url)
    except UsageError:
        raise
    except GitmemError as error:
        return f"started without the backup: {error.message} (later: git mem backup {place})"
    what = f"{counted(len(done.steps), 'ref')}, {counted(done.fetched, 'memory')}"
    return f"started from the backup {place}: {what}"


def _settle(
    workspace: Workspace, edges: Edges, carried: tuple[Carried, ...], *, private: bool = False
) -> None:
    """Takes what was purged elsewhere out of this clone, also what a sync before did not come to."""
    repos = [workspace.code, *([workspace.private] if workspace.has_private else [])]
    if carried or any(old_tips(repo) or left_behind(repo) for repo in repos):
        from gitmem.flows.purge import after_carrying  # heavy; and it backs up, too

        after_carrying(workspace, edges, carried, private=private)
