"""`git mem dream`: consolidate, as a branch that a person reviews."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from gitmem.cli.context import AgentOption, DryRun, Json, ScopeOption, context
from gitmem.cli.output import Output
from gitmem.errors import UsageError
from gitmem.integrations.dreaming import DreamOutcome, DreamStatus, dream_status
from gitmem.integrations.dreaming import dream as dream_scope
from gitmem.memory.names import agent_name
from gitmem.store.workspace import SCOPES


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(dream)


def dream(
    ctx: typer.Context,
    action: Annotated[str, typer.Argument(metavar="[run|status]", show_default=False)] = "run",
    force: Annotated[bool, typer.Option("--force", help="Pass every gate but the lock.")] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Consolidates memory: proposes merges and repairs as a branch to review.

    Nothing changes until `git mem review accept`. `dream status` tells which gate holds, and until when.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    names = [workspace.scope(scope).name] if scope else list(SCOPES)
    if action == "status":
        found = [status for status in dream_status(workspace, run.edges) if status.scope in names]
        if run.out.as_json:
            run.out.json([_status_value(status) for status in found])
        for status in found if not run.out.as_json else ():
            _show_status(run.out, status)
        return
    if action != "run":
        raise UsageError(f"dream cannot {action!r}", "Say `dream`, or `dream status`.")
    outcomes = [
        dream_scope(
            workspace,
            run.edges,
            scope=name,
            force=force,
            dry_run=dry_run,
            agent=agent_name(agent) if agent else "",
        )
        for name in names
    ]
    if run.out.as_json:
        run.out.json([_value(outcome) for outcome in outcomes])
        return
    for outcome in outcomes:
        _show(run.out, outcome, dry_run)


def _show(out: Output, outcome: DreamOutcome, dry_run: bool) -> None:
    gate, plan = outcome.gate, outcome.plan
    if gate:
        until = f" (until {_moment(gate.until)})" if gate.until else ""
        out.data(f"{outcome.scope}: {out.safe(gate.reason)}{until}")
    if plan is None:
        return
    number = len(plan.changes)
    counted = f"{number} {'change' if number == 1 else 'changes'}"
    if not plan.changes:
        out.data(f"{outcome.scope}: nothing to propose")
    elif dry_run:
        out.data(f"{outcome.scope}: would propose {counted}")
    else:
        out.data(f"{outcome.scope}: dream {outcome.id} proposes {counted}")
    for n, change in enumerate(plan.changes, start=1):
        out.data(f"  {n}. {out.safe(change.subject)}")
    if plan.notes:
        out.say("for a person:")
        for note in plan.notes:
            out.say(f"  - {out.safe(note)}")
    if outcome.id:
        out.say(f"review: git mem review show {outcome.id}")
        out.say(f"undo: git mem review reject {outcome.id} -m WHY")


def _show_status(out: Output, status: DreamStatus) -> None:
    last = _moment(status.last) if status.last else "never"
    until = f" until {_moment(status.gate.until)}" if status.gate and status.gate.until else ""
    state = f"held{until}: {status.gate.reason}" if status.gate else "ready"
    out.data(f"{status.scope}: {out.safe(state)}; last dream: {last}")
    for id in status.waiting:
        out.data(f"  {id} waits: git mem review show {id}")


def _value(outcome: DreamOutcome) -> dict[str, Any]:
    plan = outcome.plan
    return {
        "scope": outcome.scope,
        "id": outcome.id or None,
        "gate": _gate_value(outcome),
        "changes": [
            {
                "n": n,
                "kind": change.kind,
                "subject": change.subject,
                "reason": change.reason,
                "files": sorted(change.edits),
                "claims": [fate.line() for fate in change.fates],
            }
            for n, change in enumerate(plan.changes if plan else (), start=1)
        ],
        "notes": list(plan.notes) if plan else [],
    }


def _status_value(status: DreamStatus) -> dict[str, Any]:
    return {
        "scope": status.scope,
        "gate": _gate_value(status),
        "last": _moment(status.last) if status.last else None,
        "waiting": list(status.waiting),
    }


def _gate_value(held: DreamOutcome | DreamStatus) -> dict[str, Any] | None:
    gate = held.gate
    if gate is None:
        return None
    until = _moment(gate.until) if gate.until else None
    return {"name": gate.name, "reason": gate.reason, "until": until}


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
