"""What an agent asks to change through a tool: a commit, or left for a person where it is the team's.

An agent that writes files in a live directory is judged when they are saved. Through a tool it comes to
this door, where what no extraction may store is refused, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitmem.core import tombstone
from gitmem.core.change import Change, ChangeOrigin
from gitmem.core.errors import CheckFailed
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.names import agent_name
from gitmem.core.text import decode, iso
from gitmem.core.trailers import Provenance
from gitmem.flows.context import Edges
from gitmem.flows.edit import USUAL_TYPE, Wanted, composed, memory_named, scope_of, where_writable
from gitmem.flows.notices import ANY, leave
from gitmem.flows.pause import is_paused
from gitmem.flows.place import DISABLE, is_disabled
from gitmem.flows.save import copies_of
from gitmem.git.trees import read_file
from gitmem.ledger.apply import Placed, land_change
from gitmem.ledger.edits import claim_keys, is_text, nameless, texts
from gitmem.ledger.land import Written, memory_commit
from gitmem.ledger.suggestions import (
    AGENT,
    change_from_json,
    change_to_json,
    digest,
    open_suggestions,
    propose,
    suggest,
)
from gitmem.ledger.workspace import Scope, Workspace
from gitmem.rules.exclusions import exclusion_reason
from gitmem.rules.screen import weigh
from gitmem.rules.secrets import Secret

ASKED = "an agent asked for it through a tool"
"""Why something changes, where the agent gave no reason."""


@dataclass(frozen=True)
class WriteOutcome:
    """What became of it: at most one of the two; neither where memory says so already.

    Attributes:
        written: the commit.
        waiting: id of the suggestion that a person decides on in `git mem review`.
        warnings: what the person should be told of it, in words, without any secret.
    """

    written: Written | None = None
    waiting: str = ""
    warnings: tuple[str, ...] = ()


def may_write(edges: Edges) -> None:
    """Lets nothing be written where gitmem is switched off, as in a fork that an engine runs.

    Raises:
        CheckFailed: it is.
    """
    if is_disabled(edges.environ):
        raise CheckFailed(f"Nothing is stored: {DISABLE} is set", f"Start the client without {DISABLE}.")


def remember_as_agent(
    workspace: Workspace, edges: Edges, wanted: Wanted, told: Provenance
) -> tuple[Placed, WriteOutcome]:
    """Stores one memory, or adds to the one of that name; arguments and errors as for `carry_out`.

    Raises:
        UsageError: a memory about a person that should go to the team, or a name that several have.
    """
    where, agent = scope_of(workspace, wanted), agent_name(wanted.agent)
    name, description, body = composed(wanted, edges.now, workspace.allowed)
    old = memory_named(workspace, name, where.name, agent)
    change = Change(
        op="update" if old else "add",
        name=old.memory.name if old else name,
        description=old.memory.description if old else description,
        type=wanted.type or (old.memory.type if old else USUAL_TYPE),  # type: ignore[arg-type]
        body=body,
        reason=wanted.why or ASKED,
        confidence=1.0,
        asked=False,
        origin=ChangeOrigin(session=told.session),
        agent=agent,
        file=old.file if old else "",
    )
    placed = Placed(where.name, change)
    return placed, carry_out(workspace, edges, placed, told)


def carry_out(workspace: Workspace, edges: Edges, placed: Placed, told: Provenance) -> WriteOutcome:
    """Stores a change in a private scope; parks one of the project's, and what may be a secret, for review.

    Args:
        told: the agent's session and the code commit; the op is what the change comes to.

    Raises:
        CheckFailed: it may not be stored: a secret, what is never stored, or what was forgotten; or in a
            pause, in which what is said is never learned.
    """
    may_write(edges)
    teaches = placed.change.op != "delete" and placed.change.edited is None
    if teaches and is_paused(workspace.state, edges.now):
        raise CheckFailed("Nothing is stored: gitmem is paused", "The person ends it: git mem unpause")
    doubts = _refuse(workspace, edges, placed)
    allow = workspace.allowed
    if doubts:
        rules = [one.rule for one in doubts]
        placed = replace(placed, change=nameless(placed.change, rules, allow))
    if placed.scope == "project" or doubts:
        waiting = _parked(workspace, edges, placed, told)
        said = [f"it may hold a credential ({one.rule}): {one.redacted}" for one in doubts]
        return WriteOutcome(waiting=waiting, warnings=tuple(dict.fromkeys(said)))
    scope, who = workspace.scope(placed.scope), workspace.author(edges.now)
    unwritten: list[str] = []
    copies = where_writable(copies_of(workspace, edges), unwritten)
    written = land_change(scope, placed, who, told, allow=allow, copies=copies)
    left = [f"stored, but not in the agent's folder: {why}" for why in unwritten[-1:]]
    return WriteOutcome(written, warnings=tuple(left))


def _parked(workspace: Workspace, edges: Edges, placed: Placed, told: Provenance) -> str:
    one = suggest(placed.change, placed.scope, iso(edges.now), AGENT)
    for made in propose(workspace, [one], workspace.author(edges.now), told):
        # The person may never see what the agent was answered: the next hook of any session says it, once.
        leave(workspace.state, ANY, made.id, (), 1)
    whole = digest(placed.change)
    return next((each.id for each in open_suggestions(workspace) if digest(each.change) == whole), one.id)


def _refuse(workspace: Workspace, edges: Edges, placed: Placed) -> tuple[Secret, ...]:
    """Raises where it may not be stored; returns what in it may be a secret."""
    change = placed.change
    pieces = list(texts(change))
    if change.op == "delete":
        pieces = [change.reason] if change.reason else []
    weighed = weigh(pieces, workspace.allowed)
    if weighed.refused:
        first = weighed.refused[min(weighed.refused)]
        hint = "Leave the secret out and name where it is kept."
        raise CheckFailed(f"Not stored: it {first.message}: {first.text}", hint)
    if not is_text(change) or change_from_json(change_to_json(change)) is None:
        raise CheckFailed("Not stored: no memory could be written so", "Keep to plain text, and shorter.")
    if len(change.body.encode()) > MEMORY_BYTES // 2:
        raise CheckFailed(f"Not stored: it is longer than {MEMORY_BYTES // 2:,} bytes", "Split it.")
    stones = tombstone.parse(_buried(workspace.scope(placed.scope), placed.agent))
    if any(tombstone.matches(stones, key) for key in claim_keys(change)):
        raise CheckFailed(
            "Not stored: it was forgotten or rejected before",
            "Only a person brings it back: git mem remember, or git mem restore",
        )
    doubts = tuple(secret for found in weighed.warned.values() for secret in found)
    if change.op == "delete" or change.edited is not None:
        return doubts
    from gitmem.flows.extraction import rule_texts  # all of the offline engine

    rules = rule_texts(workspace, edges)
    reason = exclusion_reason(change.body, kind=change.type, rules=rules, tracks=workspace.tracks)
    if reason:
        raise CheckFailed(f"Not stored: {reason}", "A person can store it all the same: git mem remember")
    return doubts


def _buried(scope: Scope, agent: str) -> str:
    tip = memory_commit(scope.repo, scope.ref)
    if tip is None:
        return ""
    path = f"{agent}/{tombstone.FILE}"
    return decode(read_file(scope.repo, scope.repo.commit(tip).tree, path) or b"")
