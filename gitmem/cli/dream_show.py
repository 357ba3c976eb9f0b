"""What `git mem dream` prints, in lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from gitmem.cli.output import Output
from gitmem.cli.words import day, iso
from gitmem.core.text import counted
from gitmem.dream.cards import KINDS, by_kind, kind_of, summary_lines, worth
from gitmem.dream.schedule import Gate
from gitmem.flows.dream import DreamOutcome, DreamStatus
from gitmem.flows.dream_process import Killed, Running
from gitmem.flows.review_dream import worth_value
from gitmem.ledger.dreams import DreamCommit

NOTES_SHOWN = 5
"""Of each kind."""

CHANGES_SHOWN = 5
"""Of each kind; the walk and `review show` have all."""


def outcome(out: Output, one: DreamOutcome, dry_run: bool) -> None:
    """What came of a scope's dream, in lines."""
    gate, plan = one.gate, one.plan
    if gate:
        out.data(f"{one.scope}: {_held(gate)}")
    if plan is None:
        return
    number = counted(len(plan.changes), "change")
    if not plan.changes:
        out.data(f"{one.scope}: nothing to propose")
    elif dry_run:
        out.data(f"{one.scope}: would propose {number}")
    else:
        out.data(f"{one.scope}: dream {one.id} proposes {number}")
    for line in summary_lines(plan.commits):
        out.data(line)
    for line in _changes(out, plan.commits):
        out.data(line)
    _notes(out, plan.notes)
    for line in plan.log:
        out.say(f"  {line}")
    if one.id:
        questions = [change.n for change in plan.commits if kind_of(change) == "question"]
        out.say(f"review: git mem review show {one.id}")
        if questions:
            one_of_them = f"git mem review accept {one.id} {questions[0]}"
            out.say(f"settle: {one_of_them} --same|--newer|--older|--different, or git mem review settle")
        out.say(f"undo: git mem review reject {one.id} -m WHY")


def how_to_force(out: Output, outcomes: Sequence[DreamOutcome]) -> None:
    """What to do where only gates hold that a person may pass."""
    if any(one.gate and one.gate.name not in ("lock", "client") for one in outcomes):
        out.say("dream all the same: git mem dream --force")


def _changes(out: Output, changes: Sequence[DreamCommit]) -> Iterator[str]:
    """A line a change, each kind by itself, so that what is frequent does not hide what is not."""
    kinds: dict[str, list[DreamCommit]] = {}
    for change in changes:
        kinds.setdefault(kind_of(change), []).append(change)
    for kind in sorted(kinds, key=list(KINDS).index):
        group = kinds[kind]
        # One more takes the line that says so.
        few = group if len(group) <= CHANGES_SHOWN + 1 else group[:CHANGES_SHOWN]
        for change in few:
            out_of = {"question": "yellow"}.get(kind, "green")
            yield f"  {out.paint(f'{change.n}.', out_of)} {change.subject}"
        if len(few) < len(group):
            yield f"  … and {counted(len(group) - len(few), *KINDS[kind])} more"


def _notes(out: Output, notes: Sequence[str]) -> None:
    if not notes:
        return
    out.say("for a person:")
    for kind, group in _by_kind(notes).items():
        for note in group[:NOTES_SHOWN]:
            out.say(f"  - {note}")
        if len(group) > NOTES_SHOWN:
            out.say(f"  - {kind}: … and {len(group) - NOTES_SHOWN} more of these (--json has all)")


def _by_kind(notes: Sequence[str]) -> dict[str, list[str]]:
    """Notes by the word before their colon, so that what is frequent does not hide what is not."""
    found: dict[str, list[str]] = {}
    for note in notes:
        found.setdefault(note.partition(":")[0], []).append(note)
    return found


def status(out: Output, one: DreamStatus) -> None:
    """Where a scope stands, in lines."""
    last = day(one.last) if one.last else "never"
    if going := one.running:
        who = f"process {going.process.pid}" + (f", {going.engine}" if going.engine else "")
        out.data(
            f"{one.scope}: dreaming since {day(going.since)}: {going.told} ({who}); last dream: {last}"
        )
        for path in going.files:
            out.data(f"  changed {path}")
        out.say("  end it: git mem dream kill")
    else:
        state = f"held: {_held(one.gate)}" if one.gate else "ready"
        out.data(f"{one.scope}: {state}; last dream: {last}")
    for id in one.waiting:
        out.data(f"  {id} waits: git mem review show {id}")


def killed(out: Output, one: Killed) -> None:
    """What became of a dream that was to be ended, in lines."""
    was = one.was
    whose = f"{was.scope}: the dream of process {was.process.pid} ({was.told})"
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
    commits = plan.commits if plan else ()
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
        "kinds": by_kind(commits),
        "saves": worth_value(worth(commits)),
    }


def status_value(one: DreamStatus) -> dict[str, Any]:
    """Where a scope stands, for `--json`."""
    return {
        "scope": one.scope,
        "gate": _gate_value(one),
        "last": iso(one.last) if one.last else None,
        "waiting": list(one.waiting),
        "running": running_value(one.running) if one.running else None,
    }


def running_value(one: Running) -> dict[str, Any]:
    """A dream that goes on, for `--json`."""
    return {
        "scope": one.scope,
        "pid": one.process.pid,
        "since": iso(one.since),
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
    until = iso(gate.until) if gate.until else None
    return {"name": gate.name, "reason": gate.reason, "until": until}


def _held(gate: Gate) -> str:
    """Why a gate holds, and until when, for a person."""
    if not gate.until:
        return gate.reason
    # More time alone opens all of them but this one.
    what = "counted again after" if gate.name == "sessions" else "until"
    return f"{gate.reason} ({what} {day(gate.until)})"
