"""After a checkout: snapshots that came with the code, memory laid out, hooks for a new work tree."""

from __future__ import annotations

from gitmem.app.client_setup import add_to_worktree
from gitmem.app.launcher import Launcher
from gitmem.flows.context import Edges
from gitmem.flows.save import save_all
from gitmem.flows.snapshots import look_for_snapshots
from gitmem.ledger.workspace import Workspace


def after_checkout(workspace: Workspace, edges: Edges, *, new: bool = False) -> tuple[str, ...]:
    """Looks for snapshots and lays memory out, from what is here; the network is never used.

    Args:
        new: the work tree was just made: it gets clients' hooks, too, where another has them.

    Returns:
        What was done or waits, a line each.
    """
    # What stands in a live directory is memory already, and must not be taken for none.
    save_all(workspace, edges)
    lines, _ = look_for_snapshots(workspace, edges)
    if new:
        lines += add_to_worktree(workspace, Launcher(workspace.around.data).argv)
    save_all(workspace, edges, fresh=True)
    return tuple(lines)
