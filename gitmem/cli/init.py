"""`git mem init`: start keeping memory in this repository.

At its end, sessions that were recorded before are looked through, where the person says so.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.app.setup import InitPlan, carry_out_init, plan_init
from gitmem.cli.context import CommandContext, context, warn_of
from gitmem.cli.options import DryRun, Json, Quiet, Yes
from gitmem.cli.output import Output, Progress
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.text import counted
from gitmem.flows import exchange
from gitmem.flows.engines import choice_for
from gitmem.flows.sessions import sessions_here
from gitmem.ledger import moments
from gitmem.ledger.backup import named_backup
from gitmem.ledger.workspace import CHOICES, Workspace

if TYPE_CHECKING:
    from gitmem.flows.extraction import Lookback
    from gitmem.ledger.suggestions import Suggestion
    from gitmem.transcripts.model import SessionFile


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(init)


def init(
    ctx: typer.Context,
    engine: Annotated[
        str | None,
        typer.Option("--engine", help="agent, offline, anthropic or claude-code.", show_default=False),
    ] = None,
    project: Annotated[
        str,
        typer.Option("--project", metavar="ID", help="The project that this is.", show_default=False),
    ] = "",
    backup: Annotated[
        str,
        typer.Option("--backup", metavar="URL", help="Start from this backup.", show_default=False),
    ] = "",
    identity: Annotated[
        Path | None,
        typer.Option("--identity", metavar="FILE", help="Open an encrypted backup.", show_default=False),
    ] = None,
    since: Annotated[
        str,
        typer.Option(
            "--since", metavar="DATE", help="Look back at sessions from then on.", show_default=False
        ),
    ] = "",
    chain: Annotated[
        bool,
        typer.Option("--chain", help="Have hooks of another tool (core.hooksPath) call gitmem's."),
    ] = False,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME", help="Add hooks for this client.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Starts keeping memory in this repository.

    Lists what it will touch and asks. Adopts every memory directory that is there, with nothing changed on
    disk; installs git hooks, and hooks of the clients that you have: Claude Code, Codex CLI, Gemini CLI,
    Qwen Code, OpenCode, Cursor. --client NAME chooses them (claude, codex, gemini, qwen, opencode, cursor),
    and puts hooks into your own folder where the code tracks the file here. Twice changes nothing.

    A moved repository, or another clone of it, gets the private memory that you keep for it. Where only the
    URL, or only the first commit, is that of a project of yours, you are asked; --project ID says which one
    it is. --backup URL starts from a backup (git mem backup) and keeps it as yours, and --identity FILE
    opens an encrypted one; the one that your git configuration names is used on a machine that has no
    private memory yet.

    Where git's hooks are another tool's, as husky's, --chain writes a few lines into them. These name no
    path of this machine and do nothing in a clone without gitmem: the code may track them.

    Sessions that were recorded before are looked through by the offline rules where you say so (-y says
    it, too): what you asked to remember is stored, and of the rest the five best finds are shown, for you
    to accept or leave. After a no they are left alone. --since DATE takes those from then on, also later.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    if engine is not None and engine not in CHOICES["engine"]:
        raise UsageError(f"There is no engine {engine!r}", f"Engines are: {', '.join(CHOICES['engine'])}.")
    workspace = run.any_workspace
    back_to = moments.since(workspace.git, since, run.edges.now)
    address = exchange.address(workspace, run.edges, backup) if backup else ""
    key = run.edges.path(identity) if identity else None
    environ, wanted = run.edges.environ, client or ()
    planned = partial(
        plan_init, workspace, environ, engine or "", backup=address, chain=chain, clients=wanted
    )
    plan = planned(project)
    if not dry_run:
        plan = _settled(run.out, plan, planned)
    lines = plan.lines(workspace)
    if run.out.as_json and dry_run:
        steps = [*plan.doubts, *lines, *plan.lacks]
        run.out.json({"project": plan.project_id, "changes": plan.changes, "steps": steps})
        return
    if plan.changes and not dry_run:
        workspace.author(run.edges.now)  # nobody reads a plan, and says yes, that cannot be carried out
    _tell_doubts(run.out, plan, dry_run)
    for line in lines:
        (run.out.data if dry_run else run.out.say)(f"  {line}")
    for problem in plan.problems:
        run.out.warn(f"left alone: {problem}")
    if dry_run:
        count = len(recorded_before(run, workspace, back_to))
        if count and (plan.changes or since):
            run.out.data(f"  look through {counted(count, 'recorded session')} of before, if you say so")
        if not lines:
            run.out.say(f"gitmem is here already ({plan.project_id}); nothing would change")
        _tell_lacks(run.out, plan)
        return
    if plan.changes:
        run.out.ask("Do this?")
    if plan.backup:
        run.out.say(f"  {exchange.start_from_backup(workspace, run.edges, plan.backup, key)}")
        # Which project this is may be known there.
        planned = partial(
            plan_init, workspace, environ, engine or "", started=True, chain=chain, clients=wanted
        )
        plan = replace(_settled(run.out, planned(project), planned), backup=plan.backup)
        _tell_doubts(run.out, plan, dry_run)
    done = carry_out_init(workspace, run.edges, plan)
    for saved in done.adopted:
        for refusal in saved.plan.refusals:
            run.out.warn(f"not stored: {refusal.path} {refusal.message}")
        warn_of(run, saved.plan.warnings)
    if run.out.as_json:
        run.out.json(
            {
                "project": plan.project_id,
                "changed": plan.changes,
                "others": list(plan.others),
                "adopted": [
                    {"scope": saved.live.scope.name, "agent": saved.live.agent, "commit": w.commit}
                    for saved in done.adopted
                    for w in saved.written
                ],
                "laid_out": [
                    {
                        "scope": saved.live.scope.name,
                        "agent": saved.live.agent,
                        "path": str(saved.live.path),
                        "files": list(saved.laid_out),
                    }
                    for saved in done.laid_out
                ],
            }
        )
        return
    for note in done.notes:
        if note not in lines:
            run.out.say(f"  {note}")
    for saved in done.laid_out:
        run.out.say(f"  laid out {counted(len(saved.laid_out), 'file')} in {saved.live.path}")
    if plan.changes:
        run.out.data(f"gitmem keeps memory for {plan.project_id}; {_leaves(done.workspace)}")
        chosen = choice_for(done.workspace, run.edges)
        run.out.say(f"engine {chosen.gist} (git mem engine)")
        if chosen.more:
            run.out.say(f"more would be learned by {chosen.more}")
        kept = plan.backup and named_backup(done.workspace)
        run.out.say(f"undo: git mem uninstall{' (and git mem backup --off)' if kept else ''}")
    else:
        files = sum(len(saved.laid_out) for saved in done.laid_out)
        did = f"laid out {counted(files, 'file')} of memory" if files else "nothing changed"
        run.out.data(f"gitmem was here already ({plan.project_id}); {did}")

    if plan.changes or since:
        offer(run, done.workspace, back_to)
    if plan.changes:
        run.out.say("next: go on as before. What you tell your agent is looked through when you commit")
        run.out.say("then: git mem log says what was learned, git mem says what waits for you")
    if not done.workspace.around.config.is_dir():
        run.out.say("no memory files are laid out before Claude Code was used here: there is no ~/.claude")
    _tell_lacks(run.out, plan)


def _settled(out: Output, plan: InitPlan, planned: Callable[[str], InitPlan]) -> InitPlan:
    """The plan for the project that the person says this is, where there is a doubt and they can be asked.

    A yes given beforehand is no answer: it was not about somebody's private memory.
    """
    if len(plan.others) != 1 or out.yes or not sys.stdin.isatty():
        return plan
    try:
        out.ask(f"{plan.doubts[0]}. Is this that project?")
    except CheckFailed:
        return plan
    return planned(plan.others[0])


def _leaves(workspace: Workspace) -> str:
    """What of it leaves the machine."""
    if named_backup(workspace):
        return "git mem sync brings your backup up to date"
    if workspace.sharing != "off":
        return f"it is shared with {workspace.settings.get('remote')} ({workspace.sharing})"
    return "nothing leaves this machine"


def _tell_lacks(out: Output, plan: InitPlan) -> None:
    """What could not be installed, last, where it is read: each line ends with the command for it."""
    for line in plan.lacks:
        out.warn(f"not installed: {line}")


def _tell_doubts(out: Output, plan: InitPlan, dry_run: bool) -> None:
    for line in plan.doubts:
        (out.data if dry_run else out.warn)(line)


def recorded_before(run: CommandContext, workspace: Workspace, since: float) -> tuple[SessionFile, ...]:
    """Recorded sessions with something that was never looked at, newest first; arguments as for `offer`."""
    files = sessions_here(workspace, run.edges)
    if not files:
        return ()
    from gitmem.flows.extraction import unread  # the rules of extraction take half a second to load

    return unread(workspace, files, since)


def offer(run: CommandContext, workspace: Workspace, since: float) -> None:
    """Asks whether old sessions are to be looked through, does it, and lets the best finds be accepted.

    Where nobody can answer, nothing is done here: the worker comes to them in its own time. After a no it
    does not, either.
    """
    files = recorded_before(run, workspace, since)
    if not files or not (run.out.yes or sys.stdin.isatty()):
        return
    from gitmem.flows.extraction import context_of, look_back, pass_over

    try:
        run.out.ask(f"{counted(len(files), 'recorded session')} of before: look through them now?")
    except CheckFailed:
        pass_over(workspace, files)
        run.out.say("they are skipped, as far as they were recorded until now")
        return
    try:
        with Progress(quiet=run.out.silent) as progress:
            by_hand = context_of(workspace, run.edges, by_hand=True)
            found = look_back(by_hand, files, progress, time.monotonic)
    except GitmemError as error:
        run.out.warn(f"the sessions are not looked through now: {error.message}")
        return
    _show(run, files, found)
    if found.best and not run.out.yes:
        _accept(run, workspace, found.best)


def _show(run: CommandContext, files: Sequence[SessionFile], found: Lookback) -> None:
    out, left = run.out, len(files) - found.looked
    rest = f"; {left} left for the worker" if left else ""
    out.say(f"looked through {counted(found.looked, 'session')}{rest}")
    for description in found.stored:
        out.data(f"stored, as it was asked for: {description}")
    for number, one in enumerate(found.best, 1):
        said = f", {one.change.origin.time:%Y-%m-%d}" if one.change.origin.time else ""
        out.data(f"{number}  {one.change.description}  ({one.change.type}{said}, {one.id})")
    if found.more or (found.best and out.yes):
        waits = f"{found.more} more wait" if found.more else "they wait"
        out.say(f"{waits}: git mem review")


def _accept(run: CommandContext, workspace: Workspace, best: Sequence[Suggestion]) -> None:
    """Stores those whose numbers the person gives; the others go on waiting."""
    from gitmem.flows.suggestions import accept_suggestions

    answer = run.out.answer("Which are true and worth keeping? Numbers, all, or none: ").lower()
    words = answer.replace(",", " ").split()
    numbers = (
        set(range(1, len(best) + 1)) if words == ["all"] else {int(one) for one in words if one.isdecimal()}
    )
    chosen = [one for number, one in enumerate(best, 1) if number in numbers]
    for each in accept_suggestions(workspace, run.edges, chosen):
        if each.error is not None:
            run.out.warn(f"{each.one.id} still waits: {each.error.message}")
        else:
            run.out.data(f"stored {each.one.change.description}")
    if len(numbers & set(range(1, len(best) + 1))) < len(best):
        run.out.say("decide on the others: git mem review")
