"""One queue of what waits for a person: dreams, suggestions, disputes, snapshots, what is held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.names import inbox_id
from gitmem.flows.context import Edges
from gitmem.flows.review_items import (
    Item,
    aside_items,
    dispute_item,
    document_item,
    dream_item,
    held_items,
    import_item,
    inbox_item,
    leaving_item,
    promotion_item,
    purge_item,
    snapshot_item,
    suggestion_item,
)
from gitmem.flows.save import look_all
from gitmem.flows.snapshots import pending_snapshots
from gitmem.flows.waiting import in_refs
from gitmem.git.repository import short_name
from gitmem.ledger.land import memory_commit
from gitmem.ledger.workspace import Workspace

if TYPE_CHECKING:
    from gitmem.flows.review_dream import Told
    from gitmem.ledger.dreams import Dream
    from gitmem.ledger.working_copy import Saved


def queue(
    workspace: Workspace,
    edges: Edges,
    live: tuple[Saved, ...] | None = None,
    places: Mapping[str, Mapping[str, str]] | None = None,
    aside: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Item, ...]:
    """Everything that waits, in the order a person would take it.

    Args:
        live: a look at the live directories, where one was taken already.
        places: as for `disputes`.
        aside: the same of files that are set aside: scope to path to reason.
    """
    held = held_items(look_all(workspace, edges) if live is None else live)
    snapshots = [snapshot_item(one) for one in pending_snapshots(workspace)]
    apart = aside_items(_aside(workspace) if aside is None else aside)
    return (*decidable(workspace, places), *_leaving(workspace), *snapshots, *held, *apart)


def _leaving(workspace: Workspace) -> list[Item]:
    if workspace.sharing == "off":
        return []
    from gitmem.ledger.share import held_back

    leaves = held_back(workspace)
    return [leaving_item(leaves)] if leaves else []


def _aside(workspace: Workspace) -> dict[str, Mapping[str, str]]:
    from gitmem.ledger.merge import standing_aside

    found: dict[str, Mapping[str, str]] = {}
    for scope in workspace.scopes:
        # What cannot be read is told by status and doctor: it keeps nobody from the rest of the queue.
        with suppress(RepositoryError):
            if tip := memory_commit(scope.repo, scope.ref):
                found[scope.name] = standing_aside(scope.repo, scope.repo.commit(tip).tree)
    return found


def decidable(workspace: Workspace, places: Mapping[str, Mapping[str, str]] | None = None) -> list[Item]:
    """What waits in refs alone: no folder is looked at and no snapshot; argument as for `disputes`."""
    return [_ITEMS[kind](one) for kind, found in in_refs(workspace, places) for one in found]


_ITEMS: Mapping[str, Callable[[Any], Item]] = {
    "purge": purge_item,
    "dream": dream_item,
    "inbox": inbox_item,
    "dispute": dispute_item,
    "suggestion": suggestion_item,
    "import": import_item,
    "document": document_item,
    "promotion": promotion_item,
}


def find_item(workspace: Workspace, edges: Edges, id: str) -> Item:
    """The item of an id, or of the beginning of one.

    Raises:
        UsageError: none or several begin so.
    """
    return pick(queue(workspace, edges), id)


def pick(queued: Iterable[Item], id: str) -> Item:
    """The item of an id, or of the beginning of one, of those that wait; errors as for `find_item`."""
    items = [item for item in queued if item.id]
    matches = [item for item in items if item.id == id] or [i for i in items if i.id.startswith(id)]
    if len(matches) == 1:
        return matches[0]
    for item in items:
        # An inbox is named by its branch and, after that, by the commit that was shown.
        named = item.value["branch"] if item.kind == "inbox" else ""
        if named and id.startswith(f"{inbox_id(named)}-"):
            raise UsageError(
                f"{short_name(named)} changed since it was shown",
                f"Look again: git mem review show {item.id}",
            )
    listed = ", ".join(item.id for item in (matches or items)) or "nothing"
    what = "several items begin" if matches else "nothing waits that begins"
    raise UsageError(f"In review {what} with {id!r}", f"Waiting: {listed}.")


def find_waiting_dream(workspace: Workspace, id: str) -> Dream:
    """The open dream of an id, or of the beginning of one.

    Raises:
        UsageError: none or several begin so.
    """
    from gitmem.ledger.dreams import open_dreams

    waiting = open_dreams(workspace)
    found = [one for one in waiting if one.id.startswith(id)]
    exact = [one for one in found if one.id == id] or found
    if len(exact) == 1:
        return exact[0]
    listed = ", ".join(one.id for one in (exact or waiting)) or "none"
    what = "Several open dreams begin" if exact else "No open dream begins"
    raise UsageError(f"{what} with {id!r}", f"Open are: {listed}.")


def tell_item(workspace: Workspace, edges: Edges, id: str, *, whole: bool = False) -> Told:
    """All that there is to know of one item: of a dream, also who taught its claims and what it proves.

    Args:
        id: its id, or the beginning of one; also of a dream that was turned down in the last 90 days.
        whole: long claims to their end.

    Raises:
        UsageError: none or several begin so.
    """
    from gitmem.flows.document_branch import Waiting
    from gitmem.flows.review_dream import Told, find_rejected, tell, tell_rejected
    from gitmem.ledger.dreams import Dream, open_dreams

    if id.startswith("d-") and not any(one.id.startswith(id) for one in open_dreams(workspace)):
        rejected = find_rejected(workspace, id)
        if rejected is not None:
            item = dream_item(rejected.dream)
            told = tell_rejected(rejected, whole=whole)
            return Told(told.lines, item.as_value() | told.value)
    item = find_item(workspace, edges, id)
    if isinstance(item.subject, Waiting):
        from gitmem.flows.document_branch import tell as tell_document

        lines, value = tell_document(workspace, item.subject)
        return Told(lines, item.as_value() | value)
    if not isinstance(item.subject, Dream):
        return Told(item.lines, item.as_value())
    told = tell(workspace, edges, item.subject, whole=whole)
    return Told(told.lines, item.as_value() | told.value)
