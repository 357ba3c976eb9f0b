"""Night → dream, with the outside world: sessions counted, live directories saved, the branch made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gitmem.dream.branch import dreams_of
from gitmem.dream.gates import Asked, Gate, first_gate
from gitmem.dream.lock import consolidation_lock, prior_of
from gitmem.dream.run import DreamPlan, carry_out, plan_dream
from gitmem.engines.engine import Engine
from gitmem.engines.offline import OfflineEngine
from gitmem.integrations.edges import Edges, author
from gitmem.integrations.place import log
from gitmem.integrations.recordings import sessions_here
from gitmem.store.locks import Locked
from gitmem.store.workspace import Scope, ScopeName, Workspace


@dataclass(frozen=True)
class DreamOutcome:
    """What came of one scope's dream.

    Attributes:
        gate: the gate that held; None where all were open, or passed by force.
        plan: what was, or would be, proposed; None where a gate held.
        id: the dream that waits for review; empty where there was nothing to propose, or in a dry run.
    """

    scope: ScopeName
    gate: Gate | None = None
    plan: DreamPlan | None = None
    id: str = ""


@dataclass(frozen=True)
class DreamStatus:
    """Where one scope stands.

    Attributes:
        last: when it was last consolidated, seconds since the epoch; 0 for never.
        waiting: ids of dreams that wait for review.
    """

    scope: ScopeName
    gate: Gate | None
    last: float
    waiting: tuple[str, ...]


def dream(
    workspace: Workspace,
    edges: Edges,
    *,
    scope: str,
    force: bool = False,
    dry_run: bool = False,
    agent: str = "",
    present: str = "",
    engine: Engine | None = None,
) -> DreamOutcome:
    """Consolidates one scope, if it is time.

    Args:
        force: pass every gate but the locks.
        dry_run: plan whatever the gates say, and write nothing.
        agent: folder name of the one agent to consolidate; empty for all.
        present: id of the session that is just going on, which does not count.
        engine: who thinks; the offline engine where None.

    Raises:
        UsageError: there is no such scope.
        CheckFailed: a claim would be lost; no branch was made.
        EngineError, RepositoryError: the engine or git failed; memory and lock are as they were.
    """
    place = workspace.scope(scope)
    thinker = engine or OfflineEngine()
    agents = (agent,) if agent else ()
    gate = first_gate(_asked(workspace, edges, place, force, present))
    if dry_run:
        return DreamOutcome(place.name, gate, plan_dream(place, thinker, agents))
    if gate:
        return DreamOutcome(place.name, gate)
    from gitmem.integrations.saving import save_all

    who = author(workspace, edges)
    save_all(workspace, edges)
    try:
        with consolidation_lock(place, edges.now) as held:
            plan = plan_dream(place, thinker, agents)
            id = carry_out(plan, held, who) if plan.changes else ""
    except Locked as error:
        return DreamOutcome(place.name, Gate("lock", error.message))
    return DreamOutcome(place.name, None, plan, id)


def maybe_dream(workspace: Workspace, edges: Edges, present: str = "") -> tuple[DreamOutcome, ...]:
    """Consolidates every scope whose gates are open; what fails is logged, and memory stays as it was."""
    done = []
    for place in workspace.scopes:
        try:
            done.append(dream(workspace, edges, scope=place.name, present=present))
        except Exception as error:
            log(workspace.layout.common_dir, f"dream: {place.name}: {type(error).__name__}: {error}")
    return tuple(done)


def dream_status(workspace: Workspace, edges: Edges) -> tuple[DreamStatus, ...]:
    """Which gate holds for each scope, and until when."""
    return tuple(
        DreamStatus(
            place.name,
            first_gate(_asked(workspace, edges, place, False, "")),
            prior_of(place),
            tuple(waiting.id for waiting in dreams_of(place)),
        )
        for place in workspace.scopes
    )


def _asked(workspace: Workspace, edges: Edges, place: Scope, force: bool, present: str) -> Asked:
    def count(since: float) -> int:
        files = sessions_here(workspace, edges)
        return sum(file.mtime_ns > since * 1e9 and file.id != present for file in files)

    return Asked(
        place, workspace.settings.flag("dream"), edges.now, count, _folders(workspace, place), force
    )


def _folders(workspace: Workspace, place: Scope) -> tuple[Path, ...]:
    """The scope's live directories in all work trees."""
    found: dict[Path, None] = {}
    for tree in workspace.worktrees:
        for live in workspace.live_directories(tree.path):
            if live.scope.name == place.name:
                found[live.path] = None
    return tuple(found)
