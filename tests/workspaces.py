"""A workspace in which memory has begun: without hooks, clients and what else `init` sets up."""

from __future__ import annotations

from gitmem.flows.context import Edges, initialised_at, workspace_at
from gitmem.ledger.workspace import Workspace, store_project_id


def begun(edges: Edges) -> Workspace:
    """Gives the project its id, makes the private repository and the folder of state, opens all of it."""
    made = store_project_id(workspace_at(edges))
    made.state.mkdir(exist_ok=True)
    assert made.private.git_dir.is_dir()
    return initialised_at(edges)
