"""`git mem dream`: consolidate, as a branch that a person reviews."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli import dream_show
from gitmem.cli.completing import words
from gitmem.cli.context import AgentOption, Context, DryRun, Json, Quiet, ScopeOption, context
from gitmem.cli.progress import Progress
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.names import agent_name
from gitmem.engines.choice import ENGINES
from gitmem.engines.engine import Step
from gitmem.flows.dream import ENDED, DreamOutcome, dream_status
from gitmem.flows.dream import dream as dream_scope
from gitmem.flows.dream_process import Stop, Stopped, kill_dreams
from gitmem.flows.dream_process import words as how_far
from gitmem.flows.engines import engine_for
from gitmem.flows.sessions import present_session
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
        typer.Option(
            "--force", help="Pass every gate but the lock, and look again where nothing was found."
        ),
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Consolidates memory: proposes merges and repairs as a branch to review.

    Nothing changes until `git mem review accept`. `dream status` tells which gate holds and until when, or
    how far a dream has come; `dream kill` ends it; `dream refresh ID` merges what memory learned since into
    one that waits.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if name and action != "refresh":
        raise UsageError(f"dream {action} takes no ID", "Choose what to dream with --scope and --agent.")
    names = [run.workspace.scope(scope).name] if scope else list(SCOPES)
    if action == "status":
        _status(run, names)
    elif action == "kill":
        _kill(run, scope or "")
    elif action == "refresh":
        from gitmem.cli.dream_refresh import refresh  # a dream itself needs none of it

        refresh(run, name)
    elif action == "run":
        _run(run, names, engine, force, agent_name(agent) if agent else "", dry_run)
    else:
        raise UsageError(f"dream cannot {action!r}", "Say `dream`, `dream status`, `kill` or `refresh`.")


def _run(run: Context, names: list[ScopeName], engine: str, force: bool, agent: str, dry_run: bool) -> None:
    workspace, out = run.workspace, run.out
    if engine and engine not in ENGINES:
        raise UsageError(f"There is no engine {engine!r}", f"Engines are: {', '.join(ENGINES)}.")
    thinker = engine_for(workspace, run.edges, engine) if engine else None
    outcomes: list[DreamOutcome] = []
    failures: list[GitmemError] = []
    stopped = False
    with Progress(quiet=out.silent) as progress, Stop() as stop:
        for name in names:

            def tell(step: Step, name: str = name) -> None:
                progress(f"{name}: {how_far(step.phase, step.turn, step.turns, len(step.files))}")

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
                dream_show.outcome(out, one, dry_run)
            if stopped:
                break
    if out.as_json:
        out.json([dream_show.outcome_value(one) for one in outcomes])
    else:
        dream_show.how_to_force(out, outcomes)
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


def _status(run: Context, names: list[ScopeName]) -> None:
    found = dream_status(run.workspace, run.edges, present_session(run.edges.environ))
    chosen = [status for status in found if status.scope in names]
    if run.out.as_json:
        run.out.json([dream_show.status_value(status) for status in chosen])
        return
    for status in chosen:
        dream_show.status(run.out, status)


def _kill(run: Context, scope: str) -> None:
    done = kill_dreams(run.workspace, run.edges, scope)
    if run.out.as_json:
        run.out.json([dream_show.killed_value(one) for one in done])
    else:
        for one in done:
            dream_show.killed(run.out, one)
    if not done:
        raise CheckFailed("No dream is running here", "See: git mem dream status")
    if any(one.how == "made" for one in done):
        raise typer.Exit(CheckFailed.exit_code)
