"""After a repository moved: what still stands in the auto-memory folder of its old place is saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gitmem.integrations.edges import Edges
from gitmem.integrations.saving import request_for
from gitmem.store.live import save
from gitmem.store.moved import in_history, records
from gitmem.store.record import Record
from gitmem.store.workspace import LIVE_FOLDERS, MAIN, LiveDirectory, Scope, Workspace


def settle_old_places(workspace: Workspace, edges: Edges) -> None:
    """Saves other folders that show this project's memory of `main`, and lays nothing out there.

    The client names the folder for the repository's path. Once the repository has moved, nobody looks at
    the old one any more; and where another repository moved in, its folder may hold what belongs to the
    one before, which is saved to that.
    """
    for _, record in records(workspace.private_state):
        path = Path(record.path)
        if path.parent.name in LIVE_FOLDERS.values() or not path.is_dir():
            continue
        owner = _owner(workspace, record)
        mine = owner is not None and owner.ref == workspace.scope("local").ref
        if owner is not None and mine != (path == workspace.auto_memory):
            live = LiveDirectory(owner, MAIN, path, path.parent)
            save(replace(request_for(workspace, live, edges), lay_out=False))


def _owner(workspace: Workspace, record: Record) -> Scope | None:
    """The local scope in whose history a record's base is, the present project's first."""
    repo, local = workspace.private, workspace.scope("local")
    for ref, tip in sorted(repo.refs("refs/heads/local/").items(), key=lambda item: item[0] != local.ref):
        if in_history(repo, tip, record.base):
            return replace(local, ref=ref)
    return None
