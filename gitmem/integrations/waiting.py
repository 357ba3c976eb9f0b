"""How much waits for a person, for the start of a session: `review` without what reads and decides it."""

from __future__ import annotations

from contextlib import suppress

from gitmem.core.errors import RepositoryError
from gitmem.dream.refs import branches
from gitmem.integrations.disputes import disputes
from gitmem.store.files import read_json
from gitmem.store.workspace import DOCS_REF, Workspace

SNAPSHOTS = "snapshots.json"
SNAPSHOTS_BYTES = 65_536


def waiting_in_refs(workspace: Workspace) -> int:
    """How many things wait that refs alone can tell: no folder and no snapshot is read and screened.

    The agent waits for this, so what reads a kind of thing is loaded only where there may be some.
    """
    count = len(disputes(workspace))
    if _may_dream(workspace):
        from gitmem.dream.branch import open_dreams

        count += len(open_dreams(workspace))
    if workspace.sharing != "off":
        from gitmem.share.inbox import inboxes

        count += len(inboxes(workspace))
    if workspace.private.ref(f"refs/heads/review/{workspace.project_id}"):
        from gitmem.integrations.promoting.proposing import offered
        from gitmem.store.parked import parked

        count += len(parked(workspace)) + sum(1 for _ in offered(workspace))
    if workspace.code.ref(DOCS_REF):
        from gitmem.integrations.docs.waiting import waiting_documents

        count += len(waiting_documents(workspace))
    return count


def noted_snapshots(workspace: Workspace) -> tuple[tuple[str, str], ...]:
    """Team knowledge that waited at the last look: (agent, `updatedAt`); one file is read.

    To look anew, snapshots would have to be read, screened and merged.
    """
    rows = read_json(workspace.state / SNAPSHOTS, SNAPSHOTS_BYTES)
    with suppress(TypeError, LookupError):
        return tuple((str(row["agent"]), str(row["updatedAt"])) for row in rows)
    return ()


def _may_dream(workspace: Workspace) -> bool:
    for scope in workspace.scopes:
        with suppress(RepositoryError):
            if scope.repo.ref(scope.ref) and branches(scope):
                return True
    return False
