"""Deciding on suggestions: what an extraction found, or an agent asked for, that waits for a person.

Those of one scope and agent are saved, landed and laid out together, however many; each is a commit of its
own, which says in which session it was said. What cannot be stored goes on waiting and holds up no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from gitmem.core.change import Change
from gitmem.core.errors import GitmemError, UsageError
from gitmem.core.names import file_address
from gitmem.core.text import counted
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.save import copies_of
from gitmem.ledger.apply import Placed, land_change
from gitmem.ledger.edits import as_logged, claim_keys, moment
from gitmem.ledger.forget import remember_rejected
from gitmem.ledger.knowledge import known_at
from gitmem.ledger.land import Copies, Written, together
from gitmem.ledger.suggestions import AGENT, Suggestion, settle, to_land
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass


@dataclass(frozen=True)
class SettledSuggestion:
    """What became of one suggestion.

    Attributes:
        written: the commit; None where memory says it already, or where it failed.
        error: why it goes on waiting; None where it was decided.
    """

    one: Suggestion
    written: Written | None = None
    error: GitmemError | None = None


def accept_suggestions(
    workspace: Workspace,
    edges: Edges,
    many: Sequence[Suggestion],
    *,
    allowed: bool = False,
    job: str = "",
    edited: Mapping[str, Change] | None = None,
) -> list[SettledSuggestion]:
    """Stores what was suggested, with the messages it stems from, and takes it off the queue.

    Args:
        allowed: whether a person said that what may be a secret may go into the project scope.
        job: what is undone together; empty for none.
        edited: what the person made of one, by its id; that is stored instead.

    Returns:
        What became of each. One that holds a secret, or may hold one and goes to the project scope, failed.
    """
    done: list[SettledSuggestion] = []
    with together(copies_of(workspace, edges)) as copies:
        try:
            for number, one in enumerate(sorted(many, key=lambda one: (one.scope, one.change.agent)), 1):
                told = replace(_provenance(one), job=f"{job}.{number}" if job else "")
                change = (edited or {}).get(one.id)
                try:
                    written = _store(workspace, edges, one, change, told, copies, allowed=allowed)
                    done.append(SettledSuggestion(one, written))
                except GitmemError as error:
                    done.append(SettledSuggestion(one, error=error))
        finally:
            # Who interrupts a batch finds what was stored by then off the queue.
            _take_off(workspace, "accepted", done)
    return done


def reject_suggestions(
    workspace: Workspace, edges: Edges, many: Sequence[Suggestion], why: str, *, job: str = ""
) -> list[SettledSuggestion]:
    """Takes suggestions off the queue, and buries them so that no extraction proposes them again.

    Those of one scope are one commit; arguments and result as for `accept_suggestions`.
    """
    done: list[SettledSuggestion] = []
    for name, grouped in groupby(sorted(many, key=lambda one: one.scope), lambda one: one.scope):
        group = list(grouped)
        try:
            rows = [TurnedDown(c.id, c.change.name, c.change.agent, claim_keys(c.change)) for c in group]
            written = bury(workspace, edges, name, rows, why, f"{job}.{name}" if job else "")
        except GitmemError as error:
            done += [SettledSuggestion(one, error=error) for one in group]
        else:
            done += [SettledSuggestion(one, written) for one in group]
    _take_off(workspace, "rejected", done)
    return done


@dataclass(frozen=True)
class TurnedDown:
    """Something that waited and was turned down.

    Attributes:
        name: what the person knows it by.
        keys: what is buried of it, in the agent's folder.
    """

    id: str
    name: str
    agent: str
    keys: tuple[str, ...]


def bury(
    workspace: Workspace,
    edges: Edges,
    name: str,
    some: Sequence[TurnedDown],
    why: str,
    job: str = "",
    what: str = "suggestion",
) -> Written | None:
    """Remembers what a person turned down, as tombstones in its scope: nothing proposes it again.

    Args:
        name: of the scope that all of it is for.
        why: the person's reason; empty for none.
        job: what is undone together; empty for none.
        what: one of them, for the message.

    Returns:
        The commit, whose undo lets it wait again.
    """
    scope = workspace.scope(name)
    keys: dict[str, list[str]] = {}
    for one in some:
        keys.setdefault(one.agent, []).extend(one.keys)
    subject, body = f"Reject the {what} {some[0].name}", why
    if len(some) > 1:
        subject = f"Reject {counted(len(some), what)}"
        body = "\n".join([*([why, ""] if why else []), *(f"- {each.name}" for each in some)])
    who, ids = workspace.author(edges.now), " ".join(one.id for one in some)
    return remember_rejected(workspace, scope, keys, who, subject, body, reviewed=ids, job=job)


def _provenance(one: Suggestion) -> Provenance:
    origin = one.change.origin
    by_agent = one.engine == AGENT
    return Provenance(
        writer="agent" if by_agent else "extract",
        session=origin.session,
        messages=(origin.first, origin.last) if origin.first else None,
        engine="" if by_agent else one.engine,
        reviewed=one.id,
    )


def _store(
    workspace: Workspace,
    edges: Edges,
    one: Suggestion,
    edited: Change | None,
    told: Provenance,
    copies: Copies,
    *,
    allowed: bool,
) -> Written | None:
    """Commits one suggestion; None where memory says it already."""
    if one.engine == AGENT and one.change.op == "delete":
        return _forgotten(workspace, edges, one, told)
    change = _as_mode_says(workspace, edges, one, edited)
    scope = workspace.scope(one.scope)
    return land_change(
        scope,
        Placed(scope.name, change),
        workspace.author(edges.now),
        told,
        base=scope.repo.ref(scope.ref) or "",
        lift=True,
        allow=workspace.allowed,
        hold=scope.name == "project" and not allowed,
        copies=copies,
    )


def _take_off(workspace: Workspace, why: str, done: Sequence[SettledSuggestion]) -> None:
    settle(workspace, [each.one.id for each in done if each.error is None], why)


def _as_mode_says(workspace: Workspace, edges: Edges, one: Suggestion, edited: Change | None) -> Change:
    """In log mode what an extraction suggested goes to a log; what an agent asked for is a memory."""
    change = edited or one.change
    if one.engine == AGENT or not workspace.logs or change.op not in ("add", "update"):
        return edited or to_land(workspace, one)
    known = known_at(workspace).of(change.agent)
    said = moment(change.origin.time, edges.now)
    made = as_logged(
        change, lambda key: bool(known.find(change.agent, key)) or known.logged(change.agent, key), said
    )
    return made or replace(change, op="noop")


def _forgotten(workspace: Workspace, edges: Edges, one: Suggestion, told: Provenance) -> Written | None:
    """Forgets a memory as a person would; None where it is gone by now."""
    from gitmem.flows.edit import forget
    from gitmem.ledger.lookup import find

    try:
        found = find(
            workspace, f"{one.scope}/{one.change.agent}/{file_address(one.change.file)}", whole=True
        )
    except UsageError:
        return None
    return forget(workspace, edges, found, told)
