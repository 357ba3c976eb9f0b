"""`git mem dream refresh`, with the outside world: what stands in live directories is memory already."""

from __future__ import annotations

from gitmem.core.errors import CheckFailed, UsageError
from gitmem.dream.refresh import Refreshed, refresh
from gitmem.flows.context import Edges, allowed_fingerprints
from gitmem.flows.dreams.sources import lookup
from gitmem.flows.last_recalls import asked_before
from gitmem.flows.save import save_all
from gitmem.git.repository import short_name
from gitmem.ledger.dreams import Dream, open_dreams
from gitmem.ledger.workspace import Workspace


def refresh_dream(workspace: Workspace, edges: Edges, id: str = "") -> Refreshed:
    """Merges what memory learned since into a dream that waits, and proves it anew.

    Args:
        id: the dream's, or the beginning of one; empty for the only one.

    Raises:
        UsageError: none or several begin so.
        CheckFailed: the branch is checked out, or was decided or moved meanwhile.
    """
    dream = _find(workspace, id)
    for tree in workspace.worktrees:
        if tree.branch == dream.ref:
            raise CheckFailed(
                f"{tree.path} has {short_name(dream.ref)} checked out", "Merge the memory branch there."
            )
    save_all(workspace, edges)
    who, allow = workspace.author(edges.now), allowed_fingerprints(workspace)
    asked = asked_before(dream.scope, allow)
    return refresh(workspace.scope(dream.scope.name), dream, who, allow, asked, lookup(workspace, edges))


def _find(workspace: Workspace, id: str) -> Dream:
    waiting = open_dreams(workspace)
    found = [one for one in waiting if one.id == id] or [one for one in waiting if one.id.startswith(id)]
    if len(found) == 1:
        return found[0]
    listed = (
        f"Open are: {', '.join(one.id for one in waiting)}." if waiting else "No dream waits for review."
    )
    what = f"several dreams begin with {id!r}" if found else f"no open dream begins with {id!r}"
    raise UsageError(what.capitalize() if id else "Say which dream to refresh", listed)
