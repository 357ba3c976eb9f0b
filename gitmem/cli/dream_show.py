"""What `git mem dream` prints, in lines and as JSON."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gitmem.cli.output import Output
from gitmem.guard.text import counted
from gitmem.integrations.dream_kill import Killed
from gitmem.integrations.dream_progress import Running
from gitmem.integrations.dreaming import DreamOutcome, DreamStatus


def outcome(out: Output, one: DreamOutcome, dry_run: bool) -> None:
    """What came of a scope's dream, in lines."""
    gate, plan = one.gate, one.plan
    if gate:
        until = f" (until {_moment(gate.until)})" if gate.until else ""
        out.data(f"{one.scope}: {out.safe(gate.reason)}{until}")
    if plan is None:
        return
    number = counted(len(plan.changes), "change")
    if not plan.changes:
        out.data(f"{one.scope}: nothing to propose")
    elif dry_run:
        out.data(f"{one.scope}: would propose {number}")
    else:
        out.data(f"{one.scope}: dream {one.id} proposes {number}")
    for n, change in enumerate(plan.changes, start=1):
        out.data(f"  {n}. {out.safe(change.subject)}")
    if plan.notes:
        out.say("for a person:")
        for note in plan.notes:
            out.say(f"  - {out.safe(note)}")
    for line in plan.log:
        out.say(f"  {out.safe(line)}")
    if one.id:
        out.say(f"review: git mem review show {one.id}")
        out.say(f"undo: git mem review reject {one.id} -m WHY")


def status(out: Output, one: DreamStatus) -> None:
    """Where a scope stands, in lines."""
    last = _moment(one.last) if one.last else "never"
    if going := one.running:
        who = f"process {going.process.pid}" + (f", {going.engine}" if going.engine else "")
        out.data(
            out.safe(
                f"{one.scope}: dreaming since {_moment(going.since)}: {going.told} ({who}); last: {last}"
            )
        )
        for path in going.files:
            out.data(f"  changed {out.safe(path)}")
        out.say("  end it: git mem dream kill")
    else:
        until = f" until {_moment(one.gate.until)}" if one.gate and one.gate.until else ""
        state = f"held{until}: {one.gate.reason}" if one.gate else "ready"
        out.data(f"{one.scope}: {out.safe(state)}; last dream: {last}")
    for id in one.waiting:
        out.data(f"  {id} waits: git mem review show {id}")


def killed(out: Output, one: Killed) -> None:
    """What became of a dream that was to be ended, in lines."""
    was = one.was
    whose = f"{was.scope}: the dream of process {was.process.pid} ({out.safe(was.told)})"
    if one.how == "made":
        out.data(f"{whose} was made before it could be ended; it waits for review")
        for id in one.ids:
            out.say(f"turn it down: git mem review reject {id} -m WHY")
    elif one.how == "killed":
        out.data(f"{whose} did not end, and the process was killed; memory is as it was")
    else:
        out.data(f"{whose} was ended; memory is as it was")


def outcome_value(one: DreamOutcome) -> dict[str, Any]:
    """What came of a scope's dream, for `--json`."""
    plan = one.plan
    return {
        "scope": one.scope,
        "id": one.id or None,
        "gate": _gate_value(one),
        "failed": one.failed or None,
        "engine": plan.engine if plan else None,
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
        "log": list(plan.log) if plan else [],
    }


def status_value(one: DreamStatus) -> dict[str, Any]:
    """Where a scope stands, for `--json`."""
    return {
        "scope": one.scope,
        "gate": _gate_value(one),
        "last": _moment(one.last) if one.last else None,
        "waiting": list(one.waiting),
        "running": running_value(one.running) if one.running else None,
    }


def running_value(one: Running) -> dict[str, Any]:
    """A dream that goes on, for `--json`."""
    return {
        "scope": one.scope,
        "pid": one.process.pid,
        "since": _moment(one.since),
        "engine": one.engine or None,
        "phase": one.phase or None,
        "turn": one.turn or None,
        "turns": one.turns or None,
        "changed": one.changed,
        "files": list(one.files),
    }


def killed_value(one: Killed) -> dict[str, Any]:
    """What became of a dream that was to be ended, for `--json`."""
    return {**running_value(one.was), "how": one.how, "ids": list(one.ids)}


def _gate_value(held: DreamOutcome | DreamStatus) -> dict[str, Any] | None:
    gate = held.gate
    if gate is None:
        return None
    until = _moment(gate.until) if gate.until else None
    return {"name": gate.name, "reason": gate.reason, "until": until}


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
