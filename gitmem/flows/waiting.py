"""How much waits for a person, for the start of a session: `review` without what reads and decides it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from gitmem.core.errors import RepositoryError
from gitmem.flows.disputes import disputes
from gitmem.ledger.files import read_json
from gitmem.ledger.proposals import dream_branches
from gitmem.ledger.workspace import DOCS_REF, WAITING, Workspace

SNAPSHOTS = "snapshots.json"
SNAPSHOTS_BYTES = 65_536


def in_refs(
    workspace: Workspace, places: Mapping[str, Mapping[str, str]] | None = None
) -> Iterator[tuple[str, Iterable[Any]]]:
    """What waits that refs alone can tell, kind by kind in the order a person would take it.

    An agent may wait for this, so what reads a kind is loaded only where there may be some of it.

    Args:
        places: as for `disputes`.
    """
    private, id = workspace.private, workspace.project_id
    if workspace.sharing != "off":
        from gitmem.ledger.consent import foreign_purge

        purge = foreign_purge(workspace)
        yield "purge", [purge] if purge else []
    if _may_dream(workspace):
        from gitmem.ledger.dreams import open_dreams

        yield "dream", open_dreams(workspace)
    if workspace.sharing != "off":
        from gitmem.ledger.inbox import inboxes

        yield "inbox", inboxes(workspace)
    yield "dispute", disputes(workspace, places)
    before, there = private.ref(f"refs/heads/review/{id}"), private.refs(f"{WAITING}{id}/")
    if before or any("/s-" in ref for ref in there):
        from gitmem.ledger.suggestions import open_suggestions

        yield "suggestion", open_suggestions(workspace)
    if any("/im-" in ref for ref in there):
        from gitmem.ledger.imports import waiting

        yield "import", waiting(workspace)
    if workspace.code.ref(DOCS_REF):
        from gitmem.flows.document_branch import waiting_documents

        yield "document", waiting_documents(workspace)
    if before or any("/p-" in ref for ref in there):
        from gitmem.flows.promotions import offered

        yield "promotion", offered(workspace)


def waiting_in_refs(workspace: Workspace) -> int:
    """How many things wait that refs alone can tell: no folder and no snapshot is read and screened."""
    return sum(1 for _, found in in_refs(workspace) for _ in found)


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
            if scope.repo.ref(scope.ref) and dream_branches(scope):
                return True
    return False
