"""A planned extraction carried out: commit, park, move the cursor, lay out; and once more after a crash."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitmem.core.errors import GitmemError
from gitmem.core.trailers import Provenance, parse_usage
from gitmem.extract.changeset import ChangeSet, from_json
from gitmem.extract.commit import store_change
from gitmem.integrations.edges import Edges
from gitmem.integrations.job_record import Tally
from gitmem.integrations.place import log, read_regular
from gitmem.integrations.recordings import cursors_folder, handled
from gitmem.integrations.saving import sync_live
from gitmem.store.commits import Written
from gitmem.store.parked import digest, park, parked, unpark
from gitmem.store.repository import Signature
from gitmem.store.workspace import MAIN, ScopeName, Workspace
from gitmem.transcripts import cursor as cursors
from gitmem.transcripts.cursor import Cursor

CHANGESET_BYTES = 64 * 1024 * 1024

Step = Callable[[str], None]
"""Is told before each step, e.g. `store 1`; what it raises ends the work there, as a crash would."""


def quietly(_: str) -> None:
    """Lets every step pass."""


Told = Callable[[ChangeSet, Sequence[Written | None]], None]
"""Is told what was stored and parked, each time a changeset was carried out."""


def nobody(_: ChangeSet, __: Sequence[Written | None]) -> None:
    """Is told and forgets it."""


@dataclass(frozen=True)
class Watch:
    """Who looks on while an extraction goes on.

    Attributes:
        step: is told before each step.
        told: is told what was stored and parked.
        tally: counts what was done and what was skipped.
    """

    step: Step = quietly
    told: Told = nobody
    tally: Tally = field(default_factory=Tally)


def recover(workspace: Workspace, edges: Edges, who: Signature, watch: Watch | None = None) -> None:
    """Ends what an interrupted extraction began; the engine is not asked again."""
    folder = changesets_folder(workspace)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        found = read_regular(path, CHANGESET_BYTES)
        changes = from_json(found[0]) if found else None
        if changes is None:
            # Its messages are still to be looked at: the cursor has not moved.
            with suppress(OSError):
                path.rename(path.with_suffix(".damaged"))
            log(workspace.layout.common_dir, f"extraction: {path.name} is damaged and was put aside")
            continue
        carry_out(workspace, edges, changes, who, watch or Watch())
        path.unlink(missing_ok=True)


def carry_out(
    workspace: Workspace, edges: Edges, changes: ChangeSet, who: Signature, on: Watch
) -> tuple[Written | None, ...]:
    """Carries a changeset out; what of it was done before is not done again."""
    commits, step, usage = [], on.step, parse_usage(changes.usage)
    name, offset = changes.cursor
    folder = cursors_folder(workspace)
    if not name:
        # Where nothing was handled yet, history would tell all of these messages as handled once it holds
        # what they asked for; the rest that they say is still to be looked at.
        cursors.save_handled(folder, handled(workspace).plus(changes.handled))
    for number, placed in enumerate(changes.stored, 1):
        step(f"store {number}")
        origin = placed.change.origin
        provenance = Provenance(
            op="add",
            writer="extract",
            session=changes.session,
            messages=(origin.first, origin.last) if origin.first else None,
            job=f"{changes.job}.{number}",
            code_commit=changes.code_commit,
            engine=changes.engine,
            # Said once, so that figures can be added up.
            usage=usage if number == 1 else None,
        )
        scope = workspace.scope(placed.scope)
        commits.append(
            store_change(scope, placed, who, provenance, base=changes.bases.get(placed.scope, ""))
        )
    step("park")
    told = Provenance(
        "add",
        "extract",
        session=changes.session,
        job=changes.job,
        engine=changes.engine,
        usage=None if changes.stored else usage,
    )
    park(workspace, changes.suggested, who, told)
    if changes.stored:
        said = {digest(placed.change) for placed in changes.stored}
        settled = [one.id for one in parked(workspace) if digest(one.change) in said]
        unpark(
            workspace,
            settled,
            who,
            "Settle what was asked for since",
            replace(told, op="delete", usage=None),
        )
    step("save what was handled")
    if name and changes.handled:
        cursors.save_handled(folder, handled(workspace).plus(changes.handled))
    step("save the cursor")
    if name:
        cursors.save(folder, Cursor(name, offset, changes.handled[-1] if changes.handled else ""))
    step("lay out")
    for scope_name, agent in sorted({(placed.scope, placed.agent) for placed in changes.stored}):
        bring_up_to_date(workspace, edges, scope_name, agent)
    on.told(changes, commits)
    step("remove the changeset")
    return tuple(commits)


def bring_up_to_date(workspace: Workspace, edges: Edges, scope: ScopeName, agent: str) -> None:
    """Lays an agent's memory of a scope out in every work tree; makes the client's own folder if need be.

    Best effort: what cannot be laid out now is by the next save.
    """
    try:
        sync_live(workspace, edges, scope, agent, lay_out=scope == "local" and agent == MAIN)
    except (GitmemError, OSError) as error:
        log(workspace.layout.common_dir, f"extraction: {scope}/{agent} is not laid out: {error}")


def changesets_folder(workspace: Workspace) -> Path:
    """Where changesets wait for being carried out."""
    return workspace.state / "spool" / "changesets"
