"""Night → dream, with the outside world: sessions counted, live directories saved, the branch made."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.core.errors import CheckFailed, GitmemError
from gitmem.core.text import counted
from gitmem.dream.gather import Sources
from gitmem.dream.review import Refreshed, find_dream, refresh
from gitmem.dream.run import DreamPlan, carry_out, keep_apart, plan_dream
from gitmem.dream.schedule import (
    Gate,
    GateInput,
    consolidation_lock,
    first_gate,
    prior_of,
)
from gitmem.engines.engine import DreamProgress, Engine, Tell, untold
from gitmem.flows.context import Edges
from gitmem.flows.dream_process import Running, Stop, Stopped, running_dream
from gitmem.flows.dream_sources import dream_sources, evidence
from gitmem.flows.notices import leave_proposal
from gitmem.flows.save import save_all
from gitmem.flows.sessions import count_sessions
from gitmem.git.locks import Locked
from gitmem.git.repository import short_name
from gitmem.ledger import failures
from gitmem.ledger.dreams import dreams_of
from gitmem.ledger.files import log
from gitmem.ledger.layout import live_directories
from gitmem.ledger.workspace import Scope, ScopeName, Workspace

if TYPE_CHECKING:
    from gitmem.ledger.job_record import RunTally


_QUOTED = re.compile(r"“.*(?:”|$)", re.DOTALL)
"""From the first quotation to the end of the last: what is quoted may hold such marks itself."""

ENDED = "it was ended by a signal, as by `git mem dream kill`"


@dataclass(frozen=True)
class DreamOutcome:
    """What came of one scope's dream.

    Attributes:
        gate: the gate that held; None where all were open, or passed by force.
        plan: what was, or would be, proposed; None where a gate held or the dream failed.
        id: the dream that waits for review; empty where there was nothing to propose, or in a dry run.
        failed: why nothing came of it; empty where it did not fail.
    """

    scope: ScopeName
    gate: Gate | None = None
    plan: DreamPlan | None = None
    id: str = ""
    failed: str = ""


@dataclass(frozen=True)
class DreamStatus:
    """Where one scope stands.

    Attributes:
        last: when it was last consolidated, seconds since the epoch; 0 for never.
        waiting: ids of dreams that wait for review.
        running: the dream that goes on; None where there is none.
    """

    scope: ScopeName
    gate: Gate | None
    last: float
    waiting: tuple[str, ...]
    running: Running | None = None


def dream(
    workspace: Workspace,
    edges: Edges,
    *,
    scope: str,
    force: bool = False,
    dry_run: bool = False,
    agent: str = "",
    present: Collection[str] = (),
    engine: Engine | None = None,
    wanted: bool = True,
    stop: Stop | None = None,
    tell: Tell = untold,
) -> DreamOutcome:
    """Consolidates one scope, if it is time.

    Args:
        force: pass every gate but the locks.
        dry_run: plan whatever the gates say, and write nothing.
        agent: folder name of the one agent to consolidate; empty for all.
        present: ids of the sessions that are just going on, which do not count.
        engine: who thinks; the one that is set where None.
        wanted: somebody asked for it; the worker begins by itself.
        stop: notes signals, where several scopes are dreamt; one of its own where None.
        tell: is told how far it is; what it raises ends the dream.

    Raises:
        UsageError: there is no such scope.
        CheckFailed: the dream cannot be proved; no branch was made.
        EngineError, RepositoryError: the engine or git failed; memory and lock are as they were.
        Stopped: a signal ended it; memory and lock are as they were.
    """
    place = workspace.scope(scope)
    with nullcontext(stop) if stop else Stop() as signals:
        signals.check()
        gate = first_gate(_asked(workspace, edges, place, force, present, wanted))
        if gate and not dry_run:
            return DreamOutcome(place.name, gate)
        from gitmem.flows.engines import engine_for  # a gate holds nearly always

        thinker = engine or engine_for(workspace, edges)
        sources = dream_sources(workspace, edges, place, (agent,) if agent else ())
        if dry_run:
            with signals.work():
                plan = plan_dream(place, thinker, sources, tell)
            return DreamOutcome(place.name, gate, _with_promotions(workspace, edges, plan, sources, True))
        return _dream(workspace, edges, place, thinker, sources, signals, tell)


def maybe_dream(
    workspace: Workspace, edges: Edges, present: Collection[str] = (), tally: RunTally | None = None
) -> tuple[DreamOutcome, ...]:
    """Consolidates every scope whose gates are open, the one that was dreamt of longest ago first.

    What fails is logged, memory stays as it was, and the others have their turn. One that is ended by a
    signal ends them all: whoever sent it wants none now.

    Args:
        present: ids of the sessions that are just going on, which do not count.
        tally: is told what came of each.
    """
    done: list[DreamOutcome] = []
    with Stop() as stop:
        for place in sorted(workspace.scopes, key=prior_of):
            try:
                one = dream(workspace, edges, scope=place.name, present=present, wanted=False, stop=stop)
            except Stopped:
                done.append(DreamOutcome(place.name, failed=ENDED))
                break
            except Exception as error:
                kind = "" if isinstance(error, GitmemError) else f"{type(error).__name__}: "
                why = f"{kind}{_unquoted(place.name, str(error))}"
                log(workspace.layout.common_dir, f"dream: {place.name}: {why}")
                one = DreamOutcome(place.name, failed=why)
            done.append(one)
            if one.plan and one.id:
                leave_proposal(workspace.state, one.id, len(one.plan.changes))
    if tally is not None:
        for one in done:
            _note(one, tally)
    return tuple(done)


def dream_status(
    workspace: Workspace, edges: Edges, present: Collection[str] = ()
) -> tuple[DreamStatus, ...]:
    """Which gate holds for each scope, and until when; and the dream that goes on."""
    return tuple(
        DreamStatus(
            place.name,
            first_gate(_asked(workspace, edges, place, False, present, False)),
            prior_of(place),
            tuple(waiting.id for waiting in dreams_of(place)),
            running_dream(place),
        )
        for place in workspace.scopes
    )


def _dream(
    workspace: Workspace,
    edges: Edges,
    place: Scope,
    engine: Engine,
    sources: Sources,
    stop: Stop,
    tell: Tell,
) -> DreamOutcome:
    from gitmem.flows.save import save_all

    who = workspace.author(edges.now)

    def told(step: DreamProgress) -> None:
        # What a handler raised may have been lost in a callback.
        stop.check()
        tell(step)

    with _interrupted(stop):
        save_all(workspace, edges)
        try:
            with _noted(place, edges.now), consolidation_lock(place, edges.now) as held:
                with stop.work():
                    plan = plan_dream(place, engine, sources, told)
                plan = _with_promotions(workspace, edges, plan, sources, False)
                # From here on it is too late for a signal: in a moment the dream is there.
                id = carry_out(plan, held, who) if plan.changes else ""
                keep_apart(place, engine.name, plan.apart)
        except Locked as error:
            return DreamOutcome(place.name, Gate("lock", error.message))
    failures.clear(place.state, "dream", place.ref)
    return DreamOutcome(place.name, None, plan, id)


def _with_promotions(
    workspace: Workspace, edges: Edges, plan: DreamPlan, sources: Sources, dry_run: bool
) -> DreamPlan:
    """Proposes as rules what is recalled often; the notes of the dream say which."""
    from gitmem.flows.promotions import propose

    try:
        notes = propose(workspace, edges, plan.scope, sources.asked, dry_run=dry_run)
    except GitmemError as error:
        # The dream itself is done; the next one proposes them.
        notes = (f"promotions: {error}",)
    return replace(plan, notes=(*plan.notes, *notes)) if notes else plan


@contextmanager
def _interrupted(stop: Stop) -> Iterator[None]:
    """Tells of the signal where a git that was started got it as well, and failed."""
    try:
        yield
    except GitmemError as error:
        if stop.asked:
            raise Stopped from error
        raise


@contextmanager
def _noted(place: Scope, now: float) -> Iterator[None]:
    try:
        yield
    except Locked:
        raise
    except Stopped:
        failures.note_failure(place.state, "dream", place.ref, now, why=ENDED)
        raise
    except Exception as error:
        failures.note_failure(place.state, "dream", place.ref, now, why=str(error))
        raise


def _note(one: DreamOutcome, tally: RunTally) -> None:
    plan = one.plan
    if plan:
        tally.spent(plan.usage)
        tally.log += (_unquoted(one.scope, line) for line in plan.log)
    made = f"made {one.id}: {counted(len(plan.changes), 'change')}" if plan and one.id else ""
    if one.failed:
        tally.dreamt.append((one.scope, "failed", one.failed))
    elif one.gate:
        tally.dreamt.append((one.scope, "held", one.gate.reason))
    elif made:
        tally.dreamt.append((one.scope, "made", made))
    else:
        tally.dreamt.append((one.scope, "nothing", "nothing to propose"))


def _unquoted(scope: ScopeName, text: str) -> str:
    """What is kept with the code of a message: of a private scope no word that a memory says."""
    return text if scope == "project" else _QUOTED.sub("“…”", text)


def _asked(
    workspace: Workspace, edges: Edges, place: Scope, force: bool, present: Collection[str], wanted: bool
) -> GateInput:
    return GateInput(
        place,
        workspace.settings.flag("dream"),
        edges.now,
        lambda since: count_sessions(workspace, edges, place, since, present),
        lambda: _folders(workspace, place),
        force,
        wanted,
    )


def _folders(workspace: Workspace, place: Scope) -> tuple[Path, ...]:
    """The scope's live directories in all work trees."""
    found: dict[Path, None] = {}
    for tree in workspace.worktrees:
        for live in live_directories(workspace, tree.path):
            if live.scope.name == place.name:
                found[live.path] = None
    return tuple(found)


def refresh_dream(workspace: Workspace, edges: Edges, id: str = "") -> Refreshed:
    """Merges what memory learned since into a dream that waits, and proves it anew.

    Args:
        id: the dream's, or the beginning of one; empty for the only one.

    Raises:
        UsageError: none or several begin so.
        CheckFailed: the branch is checked out, or was decided or moved meanwhile.
    """
    dream = find_dream(workspace, id)
    for tree in workspace.worktrees:
        if tree.branch == dream.ref:
            raise CheckFailed(
                f"{tree.path} has {short_name(dream.ref)} checked out", "Merge the memory branch there."
            )
    save_all(workspace, edges)
    scope = workspace.scope(dream.scope.name)
    return refresh(scope, dream, evidence(workspace, edges, scope))
