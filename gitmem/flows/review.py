"""One queue of what waits for a person: dreams, suggestions, disputes, snapshots, what is held.

An agent waits for the start of its session, which counts what waits: what reads a kind, and makes an item
of it, is loaded where there may be some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.names import inbox_id
from gitmem.flows.context import Edges
from gitmem.flows.disputes import disputes
from gitmem.git.repository import short_name
from gitmem.ledger.files import SNAPSHOTS, read_json
from gitmem.ledger.proposals import dream_branches
from gitmem.ledger.workspace import DOCS_REF, WAITING, Workspace

if TYPE_CHECKING:
    from gitmem.flows.review_dream import DreamText
    from gitmem.flows.review_items import ReviewItem
    from gitmem.ledger.working_copy import Saved

SNAPSHOTS_BYTES = 65_536


def queue(
    workspace: Workspace,
    edges: Edges,
    live: tuple[Saved, ...] | None = None,
    places: Mapping[str, Mapping[str, str]] | None = None,
    aside: Mapping[str, Mapping[str, str]] | None = None,
) -> tuple[ReviewItem, ...]:
    """Everything that waits, in the order a person would take it.

    Args:
        live: a look at the live directories, where one was taken already.
        places: as for `disputes`.
        aside: the same of files that are set aside: scope to path to reason.
    """
    from gitmem.flows.review_items import aside_items, held_items, snapshot_item
    from gitmem.flows.save import look_all
    from gitmem.flows.snapshots import pending_snapshots

    held = held_items(look_all(workspace, edges) if live is None else live)
    snapshots = [snapshot_item(one) for one in pending_snapshots(workspace)]
    apart = aside_items(_aside(workspace) if aside is None else aside)
    return (*decidable(workspace, places), *_leaving(workspace), *snapshots, *held, *apart)


def _leaving(workspace: Workspace) -> list[ReviewItem]:
    if workspace.sharing == "off":
        return []
    from gitmem.flows.review_items import leaving_item
    from gitmem.ledger.share import held_back

    leaves = held_back(workspace)
    return [leaving_item(leaves)] if leaves else []


def _aside(workspace: Workspace) -> dict[str, Mapping[str, str]]:
    from gitmem.ledger.land import memory_commit
    from gitmem.ledger.merge import standing_aside

    found: dict[str, Mapping[str, str]] = {}
    for scope in workspace.scopes:
        # What cannot be read is told by status and doctor: it keeps nobody from the rest of the queue.
        with suppress(RepositoryError):
            if tip := memory_commit(scope.repo, scope.ref):
                found[scope.name] = standing_aside(scope.repo, scope.repo.commit(tip).tree)
    return found


def decidable(
    workspace: Workspace, places: Mapping[str, Mapping[str, str]] | None = None
) -> list[ReviewItem]:
    """What waits in refs alone: no folder is looked at and no snapshot; argument as for `disputes`."""
    from gitmem.flows.review_items import ITEMS

    return [ITEMS[kind](one) for kind, found in in_refs(workspace, places) for one in found]


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
    there = private.refs(f"{WAITING}{id}/")
    if any("/s-" in ref for ref in there):
        from gitmem.ledger.suggestions import open_suggestions

        yield "suggestion", open_suggestions(workspace)
    if any("/im-" in ref for ref in there):
        from gitmem.ledger.imports import open_imports

        yield "import", open_imports(workspace)
    if workspace.code.ref(DOCS_REF):
        from gitmem.flows.document_branch import waiting_documents

        yield "document", waiting_documents(workspace)
    if any("/p-" in ref for ref in there):
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


def pick(queued: Iterable[ReviewItem], id: str) -> ReviewItem:
    """The item of an id, or of the beginning of one, of those that wait.

    Raises:
        UsageError: none or several begin so.
    """
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
    if matches:
        listed = ", ".join(item.id for item in matches)
        raise UsageError(f"Several items that wait have ids that begin with {id!r}", f"They are: {listed}.")
    raise UsageError(
        f"No item that waits has an id that begins with {id!r}", "See what waits: git mem review"
    )


def tell_item(workspace: Workspace, edges: Edges, id: str, *, whole: bool = False) -> DreamText:
    """All that there is to know of one item: of a dream, also who taught its claims and what it proves.

    Args:
        id: its id, or the beginning of one; also of a dream that was turned down in the last 90 days.
        whole: long claims to their end.

    Raises:
        UsageError: none or several begin so.
    """
    from gitmem.flows.document_branch import WaitingDocument
    from gitmem.flows.review_dream import DreamText, find_rejected, tell, tell_rejected
    from gitmem.flows.review_items import ITEMS, import_told
    from gitmem.ledger.dreams import Dream, open_dreams
    from gitmem.ledger.imports import Import

    if id.startswith("d-") and not any(one.id.startswith(id) for one in open_dreams(workspace)):
        rejected = find_rejected(workspace, id)
        if rejected is not None:
            item = ITEMS["dream"](rejected.dream)
            told = tell_rejected(rejected, whole=whole)
            return DreamText(told.lines, item.as_value() | told.value)
    item = pick(queue(workspace, edges), id)
    if isinstance(item.subject, WaitingDocument):
        from gitmem.flows.document_branch import tell as tell_document

        lines, value = tell_document(workspace, item.subject)
        return DreamText(lines, item.as_value() | value)
    if isinstance(item.subject, Import):
        lines, value = import_told(item.subject)
        return DreamText(lines, item.as_value() | value)
    if not isinstance(item.subject, Dream):
        return DreamText(item.lines, item.as_value())
    told = tell(workspace, edges, item.subject, whole=whole)
    return DreamText(told.lines, item.as_value() | told.value)
