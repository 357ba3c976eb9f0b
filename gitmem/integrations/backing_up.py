"""The backup as people meet it: live directories are saved before, and brought up to date after it."""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.errors import GitmemError, UsageError
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.patience import Patience
from gitmem.integrations.saving import save_all
from gitmem.share import backup
from gitmem.share.backup import Backed, BackupPlan, plan_backup
from gitmem.share.backup_place import forget_backup, name_backup, refuse_code
from gitmem.store.address import checked_address, without_credentials
from gitmem.store.workspace import Workspace

__all__ = ["Backed", "BackupPlan", "address", "back_up", "forget_backup", "named_backup", "plan_backup"]


def address(workspace: Workspace, edges: Edges, text: str) -> str:
    """A backup's address as it is kept.

    Args:
        text: as a person typed it.

    Raises:
        UsageError: it is none, or private memory must not go there.
    """
    url = checked_address(text, edges.cwd)
    refuse_code(workspace, url)
    return url


def named_backup(workspace: Workspace) -> str:
    """The address of the backup that the person named; empty where there is none.

    Raises:
        UsageError: their configuration holds something else.
    """
    url = workspace.settings.get("backup")
    return checked_address(url, workspace.around.home) if url else ""


def back_up(workspace: Workspace, edges: Edges, url: str) -> Backed:
    """Names the backup where it is new, saves live directories, backs up, and lays out what came."""
    if workspace.settings.get("backup") != url:
        name_backup(workspace, url)
    from gitmem.integrations.purging import after_carrying  # it backs up, too

    save_all(workspace, edges, everywhere=True)
    try:
        done = backup.back_up(workspace, url, allowed_fingerprints(workspace), Patience())
    except GitmemError:
        # What was taken in before it failed is memory already; why it failed is what the person must see.
        with suppress(GitmemError):
            after_carrying(workspace, edges, ())
            save_all(workspace, edges, everywhere=True, fresh=True)
        raise
    after_carrying(workspace, edges, done.carried, private=True)
    save_all(workspace, edges, everywhere=True, fresh=True)
    return done


def start_from_backup(workspace: Workspace, url: str) -> str:
    """Takes in what a backup holds, before anything is laid out; nothing is sent.

    Returns:
        What was done, or why it was not, in one line: without a backup `init` goes on.
    """
    place = without_credentials(url)
    try:
        done = backup.back_up(workspace, url, allowed_fingerprints(workspace), Patience(), send=False)
        if workspace.settings.get("backup") != url:
            name_backup(workspace, url)
    except UsageError:
        raise
    except GitmemError as error:
        return f"started without the backup: {error.message} (later: git mem backup {place})"
    return f"started from the backup {place}: {len(done.steps)} refs, {done.fetched} memories"
