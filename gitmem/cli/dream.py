"""`git mem dream`: consolidate, as a branch that a person reviews."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption, store_names, words
from gitmem.cli.output import Output, Progress, day, iso
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.names import agent_name
from gitmem.core.text import counted
from gitmem.dream.cards import KINDS, by_kind, kind_of, summary_lines, worth
from gitmem.dream.schedule import Gate
from gitmem.engines.choice import ENGINES
from gitmem.engines.engine import DreamProgress
from gitmem.flows.dream import ENDED, DreamOutcome, DreamStatus, dream_status, refresh_dream
from gitmem.flows.dream import dream as dream_scope
from gitmem.flows.dream_process import Killed, Running, Stop, Stopped, kill_dreams
from gitmem.flows.engines import engine_for
from gitmem.flows.review_dream import worth_value
from gitmem.flows.sessions import present_session
from gitmem.ledger.dreams import DreamCommit
from gitmem.ledger.workspace import SCOPES, ScopeName

INTERRUPTED = 130
ACTIONS = ("run", "status", "kill", "refresh")


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(dream)


def dream(
    ctx: typer.Context,
    action: Annotated[
        str,
        typer.Argument(
            metavar="[run|status|kill|refresh]", show_default=False, autocompletion=words(*ACTIONS)
        ),
    ] = "run",
    name: Annotated[
        str, typer.Argument(metavar="[ID]", help="The dream to refresh.", show_default=False)
    ] = "",
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Who thinks, this once: offline, anthropic, claude-code.",
            show_default=False,
            autocompletion=words(*ENGINES),
        ),
    ] = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Pass every gate but the lock."),
    ] = False,
    store: Annotated[
        str,
        typer.Option(
            "--store",
            metavar="NAME",
            help="Have Anthropic dream on a hosted store (git mem remote).",
            show_default=False,
            autocompletion=store_names,
        ),
    ] = "",
    session: Annotated[
        list[str] | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="With --store: a hosted session that it reads; several may be given.",
            show_default="the newest that had the store",
        ),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Consolidates memory: proposes merges and repairs as a branch to review.

    Nothing changes until `git mem review accept`. `dream status` says what a dream still waits for, or
    since when one goes on; `dream kill` ends it; `dream refresh ID` merges what memory learned since into
    one that waits. With --store a hosted dream reads the store and hosted sessions; it costs what the
    provider asks, takes minutes, goes on when this command is ended, and what it wrote is proved and
    reviewed as any other.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if name and action != "refresh":
        raise UsageError(f"dream {action} takes no ID", "Choose what to dream with --scope and --agent.")
    names = [run.workspace.scope(scope).name] if scope else list(SCOPES)
    if store or session:
        if not store or action != "run" or scope or agent or engine or force:
            raise UsageError("--store goes with --session and -n alone", "git mem dream --store NAME")
        _run_hosted(run, store, session or [], dry_run)
    elif action == "status":
        _status(run, names)
    elif action == "kill":
        _kill(run, scope or "")
    elif action == "refresh":
        refresh(run, name)
    elif action == "run":
        _run(run, names, engine, force, agent_name(agent) if agent else "", dry_run)
    else:
        raise UsageError(f"dream cannot {action!r}", "Say `dream`, `dream status`, `kill` or `refresh`.")


def _run(
    run: CommandContext, names: list[ScopeName], engine: str, force: bool, agent: str, dry_run: bool
) -> None:
    workspace, out = run.workspace, run.out
    if engine and engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"Engines are: {', '.join(ENGINES)}.")
    thinker = engine_for(workspace, run.edges, engine) if engine else None
    outcomes: list[DreamOutcome] = []
    failures: list[GitmemError] = []
    stopped = False
    with Progress(quiet=out.silent) as progress, Stop() as stop:
        for name in names:

            def tell(step: DreamProgress, name: str = name) -> None:
                progress(f"{name}: {_how_far(step)}")

            try:
                one = dream_scope(
                    workspace,
                    run.edges,
                    scope=name,
                    force=force,
                    dry_run=dry_run,
                    agent=agent,
                    present=present_session(run.edges.environ),
                    engine=thinker,
                    stop=stop,
                    tell=tell,
                )
            except Stopped:
                one, stopped = DreamOutcome(name, failed=ENDED), True
            except GitmemError as error:
                # The other scopes have their turn, and what came of them is said first.
                failures.append(error)
                one = DreamOutcome(name, failed=error.message)
            outcomes.append(one)
            progress.clear()
            if not out.as_json and not one.failed:
                tell_outcome(out, one, dry_run)
            if stopped:
                break
    if out.as_json:
        out.json([outcome_value(one) for one in outcomes])
    else:
        how_to_force(out, outcomes)
    if stopped:
        out.say(f"{outcomes[-1].scope}: stopped; no dream was made, and memory is as it was")
        raise typer.Exit(INTERRUPTED)
    told = {failures[0].message} if failures else set()
    for failure in failures[1:]:
        if failure.message not in told:
            out.warn(f"{failure.message} ({failure.hint})")
            told.add(failure.message)
    if failures:
        raise failures[0]


def _run_hosted(run: CommandContext, name: str, sessions: Sequence[str], dry_run: bool) -> None:
    """Has a hosted dream begin on a store, or goes on with the one that is under way, to its proposal.

    Raises:
        CheckFailed: what it wrote cannot be proved; it is under way no more.
        EngineError: it goes on, or came to nothing.
    """
    from gitmem.flows.hosted_dream import (  # a dream of one's own needs none
        HostedEngine,
        begin,
        settle,
        take,
        wait,
    )
    from gitmem.flows.stores import StoreOptions, store_client
    from gitmem.git.remote import PushPatience
    from gitmem.ledger.stores import named_store

    workspace, edges, out = run.workspace, run.edges, run.out
    store = named_store(workspace, name)
    if dry_run:
        id = store.dream.partition(" ")[0]
        out.say(f"{id} is under way" if id else f"would begin a dream on {name} ({store.id})")
        return
    with store_client(workspace, edges) as client, Progress(quiet=out.silent) as progress:
        options = StoreOptions(lambda _: False, PushPatience(), tell=progress)
        store = begin(workspace, edges, store, client, sessions, options)
        progress.clear()
        id = store.dream.partition(" ")[0]
        again = f"git mem dream --store {name}"
        out.say(f"{id} runs on {name}, also when you stop waiting here; to wait again: {again}")
        dreamt = take(workspace, edges, store, client, wait(client, store, time.sleep, progress))

        def tell(step: DreamProgress) -> None:
            progress(f"{store.scope}: {_how_far(step)}")

        try:
            one = dream_scope(
                workspace, edges, scope=store.scope, force=True, engine=HostedEngine(dreamt), tell=tell
            )
        except CheckFailed:
            settle(workspace, edges, store, dreamt.dream)
            raise
    if one.gate is None:
        settle(workspace, edges, store, dreamt.dream)
    if out.as_json:
        out.json(outcome_value(one))
        return
    tell_outcome(out, one, dry_run)
    out.say(f"what {id} wrote stays in {dreamt.dream.output}, which is yours to keep or delete")


def _how_far(step: DreamProgress) -> str:
    """A step as people read it: `consolidate, turn 2 of 5, 3 files changed`."""
    turns = f" of {step.turns}" if step.turns else ""
    turn = f", turn {step.turn}{turns}" if step.turn else ""
    return f"{step.phase}{turn}" + (f", {counted(len(step.files), 'file')} changed" if step.files else "")


def _status(run: CommandContext, names: list[ScopeName]) -> None:
    found = dream_status(run.workspace, run.edges, present_session(run.edges.environ))
    chosen = [status for status in found if status.scope in names]
    if run.out.as_json:
        run.out.json([status_value(status) for status in chosen])
        return
    for status in chosen:
        tell_status(run.out, status)


def _kill(run: CommandContext, scope: str) -> None:
    done = kill_dreams(run.workspace, run.edges, scope)
    if run.out.as_json:
        run.out.json([killed_value(one) for one in done])
    else:
        for one in done:
            tell_killed(run.out, one)
    if not done:
        raise CheckFailed("No dream is running here", "See: git mem dream status")
    if any(one.how == "made" for one in done):
        raise typer.Exit(CheckFailed.exit_code)


NOTES_SHOWN = 5
"""Of each kind."""

CHANGES_SHOWN = 5
"""Of each kind; the walk and `review show` have all."""


def tell_outcome(out: Output, one: DreamOutcome, dry_run: bool) -> None:
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


def tell_status(out: Output, one: DreamStatus) -> None:
    """Where a scope stands, in lines."""
    last = day(one.last) if one.last else "never"
    if going := one.running:
        who = f"process {going.process.pid}"
        out.data(f"{one.scope}: dreaming since {day(going.since)} ({who}); last dream: {last}")
        out.say("  end it: git mem dream kill")
    else:
        state = f"held: {_held(one.gate)}" if one.gate else "ready"
        out.data(f"{one.scope}: {state}; last dream: {last}")
    for id in one.waiting:
        out.data(f"  {id} waits: git mem review show {id}")


def tell_killed(out: Output, one: Killed) -> None:
    """What became of a dream that was to be ended, in lines."""
    was = one.was
    whose = f"{was.scope}: the dream of process {was.process.pid}"
    if one.how == "made":
        out.data(f"{whose} was made before it could be ended; it waits for review")
        for id in one.ids:
            out.say(f"reject it: git mem review reject {id} -m WHY")
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
    return {"scope": one.scope, "pid": one.process.pid, "since": iso(one.since)}


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


def refresh(run: CommandContext, id: str) -> None:
    """Refreshes one dream, and says what became of its changes."""
    out = run.out
    done = refresh_dream(run.workspace, run.edges, id)
    dream = done.dream
    if out.as_json:
        out.json(
            {
                "id": dream.id,
                "merged": done.merged or None,
                "moot": list(done.moot),
                "overtaken": [
                    {"n": one.n, "claim": one.claim, "what": one.what, "text": one.text, "now": one.now}
                    for one in done.overtaken
                ],
                "failures": [
                    {"path": one.path, "rule": one.rule, "message": one.message} for one in done.failures
                ],
            }
        )
        return
    if not done.merged:
        out.data(f"{dream.id} is up to date")
    else:
        left = counted(len(dream.open), "change")
        out.data(f"brought {dream.id} up to date: {left} open")
    if done.moot:
        out.data(f"  of no use any more: {', '.join(map(str, done.moot))}")
    for one in done.overtaken:
        now = f", now: {' '.join(one.now.split())[:100]}" if one.now else ""
        out.data(f"  {one.n}. a claim of it {'was changed' if now else 'is gone'} since{now}")
    for failure in done.failures:
        out.warn(f"{dream.id} cannot be accepted as it is: {failure.message}")
    out.say(f"review: git mem review show {dream.id}")
