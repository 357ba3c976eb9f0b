"""After a checkout: snapshots that came with the code, memory laid out, hooks for a new work tree."""

from __future__ import annotations

from gitmem.app.launcher import Launcher
from gitmem.core.errors import RepositoryError
from gitmem.flows.context import Edges
from gitmem.flows.memory_trees import is_memory_tree
from gitmem.flows.save import save_all
from gitmem.flows.snapshots import look_for_snapshots
from gitmem.integrations.claude_hooks import apply_settings, has_hooks, plan_claude_hooks
from gitmem.ledger.workspace import Workspace


def after_checkout(workspace: Workspace, edges: Edges, *, new: bool = False) -> tuple[str, ...]:
    """Looks for snapshots and lays memory out, from what is here; the network is never used.

    Args:
        new: the work tree was just made: it gets the client's hooks, too, where another has them.

    Returns:
        What was done or waits, a line each.
    """
    # What stands in a live directory is memory already, and must not be taken for none.
    save_all(workspace, edges)
    lines, _ = look_for_snapshots(workspace, edges)
    if new:
        lines += _add_hooks(workspace)
    save_all(workspace, edges, fresh=True)
    return tuple(lines)


def _add_hooks(workspace: Workspace) -> list[str]:
    top, common = workspace.layout.worktree, workspace.layout.common_dir
    if top is None or not has_hooks(common) or is_memory_tree(top):
        return []
    try:
        settings = plan_claude_hooks(top, common, Launcher(workspace.around.data).argv, workspace.git)
        apply_settings(settings)
    except RepositoryError as error:
        return [error.message]
    return [str(settings)] if settings.changes or settings.by_hand else []
