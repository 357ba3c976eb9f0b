"""One queue of what waits for a person: dreams, suggestions, disputes, snapshots, what is held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import UsageError
from gitmem.core.names import inbox_id
from gitmem.dream.branch import Dream, open_dreams
from gitmem.integrations.disputes import disputes
from gitmem.integrations.docs.waiting import Waiting, waiting_documents
from gitmem.integrations.edges import Edges
from gitmem.integrations.promoting.proposing import offered
from gitmem.integrations.refresh import pending_snapshots
from gitmem.integrations.review_items import (
    Item,
    dispute_item,
    document_item,
    dream_item,
    held_items,
    inbox_item,
    leaving_item,
    promotion_item,
    snapshot_item,
    suggestion_item,
)
from gitmem.integrations.saving import look_all
from gitmem.share.held import held_back
from gitmem.share.inbox import Inbox, inboxes
from gitmem.store.live import Saved
from gitmem.store.parked import parked
from gitmem.store.repository import short_name
from gitmem.store.workspace import Workspace

if TYPE_CHECKING:
    from gitmem.integrations.review_dream import Told


def queue(
    workspace: Workspace,
    edges: Edges,
    live: tuple[Saved, ...] | None = None,
    places: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[Item, ...]:
    """Everything that waits, in the order a person would take it.

    Args:
        live: a look at the live directories, where one was taken already.
        places: as for `disputes`.
    """
    held = held_items(look_all(workspace, edges) if live is None else live)
    snapshots = [snapshot_item(one) for one in pending_snapshots(workspace)]
    leaves = held_back(workspace)
    return (*_decidable(workspace, places), *([leaving_item(leaves)] if leaves else []), *snapshots, *held)


def waiting(
    workspace: Workspace,
    edges: Edges,
    live: tuple[Saved, ...] | None = None,
    places: Mapping[str, Mapping[str, str]] | None = None,
) -> int:
    """How many things wait; arguments as for `queue`."""
    return len(queue(workspace, edges, live, places))


def _decidable(workspace: Workspace, places: Mapping[str, Mapping[str, str]] | None = None) -> list[Item]:
    found = [dream_item(one) for one in open_dreams(workspace)]
    found += [inbox_item(one) for one in inboxes(workspace)]
    found += [dispute_item(one) for one in disputes(workspace, places)]
    found += [suggestion_item(one) for one in parked(workspace)]
    found += [document_item(one) for one in waiting_documents(workspace)]
    return found + [promotion_item(one) for one in offered(workspace)]


def find_item(workspace: Workspace, edges: Edges, id: str) -> Item:
    """The item of an id, or of the beginning of one.

    Raises:
        UsageError: none or several begin so.
    """
    items = [item for item in queue(workspace, edges) if item.id]
    matches = [item for item in items if item.id == id] or [i for i in items if i.id.startswith(id)]
    if len(matches) == 1:
        return matches[0]
    for item in items:
        # An inbox is named by its branch and, after that, by the commit that was shown.
        if isinstance(item.subject, Inbox) and id.startswith(f"{inbox_id(item.subject.branch)}-"):
            branch = short_name(item.subject.branch)
            raise UsageError(
                f"{branch} changed since it was shown", f"Look again: git mem review show {item.id}"
            )
    listed = ", ".join(item.id for item in (matches or items)) or "nothing"
    what = "several items begin" if matches else "nothing waits that begins"
    raise UsageError(f"In review {what} with {id!r}", f"Waiting: {listed}.")


def find_waiting_dream(workspace: Workspace, id: str) -> Dream:
    """The open dream of an id, or of the beginning of one.

    Raises:
        UsageError: none or several begin so.
    """
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
    from gitmem.integrations.review_dream import Told, find_rejected, tell, tell_rejected

    if id.startswith("d-") and not any(one.id.startswith(id) for one in open_dreams(workspace)):
        rejected = find_rejected(workspace, id)
        if rejected is not None:
            item = dream_item(rejected.dream)
            told = tell_rejected(rejected, whole=whole)
            return Told(told.lines, _named(item) | told.value)
    item = find_item(workspace, edges, id)
    if isinstance(item.subject, Waiting):
        from gitmem.integrations.docs.review import tell as tell_document

        lines, value = tell_document(workspace, item.subject)
        return Told(lines, _named(item) | value)
    if not isinstance(item.subject, Dream):
        return Told(item.lines, _named(item))
    told = tell(workspace, edges, item.subject, whole=whole)
    return Told(told.lines, _named(item) | told.value)


def _named(item: Item) -> dict[str, Any]:
    return {"id": item.id, "kind": item.kind, "title": item.title} | item.value
