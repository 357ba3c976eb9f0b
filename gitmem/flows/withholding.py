"""Shared memory that came with a secret: what of it may be shown to anybody, or copied anywhere."""

from __future__ import annotations

from gitmem.flows.context import allowed_fingerprints
from gitmem.git.repository import MissingObject
from gitmem.ledger.taint import read_tainted
from gitmem.ledger.workspace import Workspace


def without_secrets(workspace: Workspace, path: str, data: bytes) -> bytes:
    """Project memory as it may be shown: claims that are known to hold a secret are left out.

    Raises:
        MissingObject: nothing of it may be shown.
    """
    scope = workspace.scope("project")
    tainted = read_tainted(scope.state)
    if not tainted.blobs:
        return data
    kept = tainted.shown(path, data, scope.repo.hex_length, allowed_fingerprints(workspace))
    if kept is None:
        raise MissingObject(f"{path} holds a secret and is not shown")
    return kept


def holds_secret(workspace: Workspace, path: str, data: bytes) -> bool:
    """Whether something in project memory is known to be a secret."""
    try:
        return without_secrets(workspace, path, data) != data
    except MissingObject:
        return True
