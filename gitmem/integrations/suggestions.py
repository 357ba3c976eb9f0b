"""Deciding on a suggestion: what an extraction found, or an agent asked for, that waits for a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath

from gitmem.core.change import Change
from gitmem.core.errors import UsageError
from gitmem.core.trailers import Provenance
from gitmem.integrations.edges import Edges, allowed_fingerprints
from gitmem.integrations.saving import sync_live
from gitmem.store.apply import Placed, land
from gitmem.store.burying import spade
from gitmem.store.commits import Tip, Write, Written, commit
from gitmem.store.edits import as_logged, claim_keys, moment
from gitmem.store.known import known_at
from gitmem.store.parked import AGENT, Suggestion, unpark
from gitmem.store.workspace import Workspace


def accept_suggestion(
    workspace: Workspace, edges: Edges, one: Suggestion, *, allowed: bool = False
) -> Written | None:
    """Stores what was suggested, with the messages it stems from, and takes it off the queue.

    Args:
        allowed: whether a person said that what may be a secret may go into the project scope.

    Raises:
        CheckFailed: it holds a secret, or may hold one and goes to the project scope.
    """
    scope = workspace.scope(one.scope)
    origin = one.change.origin
    by_agent = one.engine == AGENT
    provenance = Provenance(
        writer="agent" if by_agent else "extract",
        session=origin.session,
        messages=(origin.first, origin.last) if origin.first else None,
        engine="" if by_agent else one.engine,
        reviewed=one.id,
    )
    who = workspace.author(edges.now)
    sync_live(workspace, edges, scope.name, one.change.agent)
    if by_agent and one.change.op == "delete":
        written = _forgotten(workspace, edges, one, provenance)
    else:
        change = one.change if by_agent else _as_mode_says(workspace, edges, one.change)
        placed, allow = Placed(scope.name, change), allowed_fingerprints(workspace)
        hold = scope.name == "project" and not allowed
        written = land(scope, placed, who, provenance, lift=True, allow=allow, hold=hold)
    unpark(workspace, [one.id], who, f"Accept {one.id}")
    sync_live(workspace, edges, scope.name, one.change.agent, lay_out=True)
    return written


def _as_mode_says(workspace: Workspace, edges: Edges, change: Change) -> Change:
    """In log mode what an extraction suggested goes to a log; what an agent asked for is a memory."""
    if not workspace.logs or change.op not in ("add", "update"):
        return change
    known = known_at(workspace).of(change.agent)
    said = moment(change.origin.time, edges.now)
    made = as_logged(
        change, lambda key: bool(known.find(change.agent, key)) or known.logged(change.agent, key), said
    )
    return made or replace(change, op="noop")


def _forgotten(workspace: Workspace, edges: Edges, one: Suggestion, told: Provenance) -> Written | None:
    """Forgets a memory as a person would; None where it is gone by now."""
    from gitmem.integrations.editing import forget
    from gitmem.store.lookup import find

    stem = PurePosixPath(one.change.file).stem
    try:
        found = find(workspace, f"{one.scope}/{one.change.agent}/{stem}", whole=True)
    except UsageError:
        return None
    return forget(workspace, edges, found, told)


def reject_suggestion(workspace: Workspace, edges: Edges, one: Suggestion, why: str) -> Written | None:
    """Takes a suggestion off the queue, and buries it so that no extraction proposes it again."""
    scope = workspace.scope(one.scope)
    with_what = spade(workspace, scope, edges.now)
    keys = {one.change.agent: claim_keys(one.change)}

    def plan(tip: Tip) -> Write:
        provenance = Provenance(op="update", writer="human", reviewed=one.id)
        edits = with_what.edits(scope.repo, tip.tree, keys, "rejected")
        return Write(edits, f"Reject the suggestion {one.change.name}", provenance, why)

    who = workspace.author(edges.now)
    written = commit(scope.repo, scope.ref, plan, who)
    unpark(workspace, [one.id], who, f"Reject {one.id}")
    return written
