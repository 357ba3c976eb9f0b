"""`git mem purge`: take a text, or a memory, out of all history."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption, Yes
from gitmem.cli.output import Output
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted
from gitmem.flows import purge as purging
from gitmem.git.repository import short_name
from gitmem.ledger.workspace import Workspace

ADVICE = "rotate the secret first: whoever fetched it has it, and no purge takes it from them"

ELSEWHERE = (
    "what hosts keep: caches, pull request refs and old commits by their names (ask the host's support)",
    "forks, and clones until their next git mem sync",
)

HERE = (
    "the history of your code (git mem snapshot create --all makes the snapshots in it anew)",
    "what agents recorded of sessions, and files that were copied elsewhere",
)

MOST_SHOWN = 10


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(purge)


def purge(
    ctx: typer.Context,
    what: Annotated[
        str, typer.Argument(metavar="TEXT|NAME", help="The text; - reads it from standard input.")
    ],
    memory: Annotated[bool, typer.Option("--memory", help="It is the name of a memory.")] = False,
    text: Annotated[
        bool, typer.Option("--text", help="It is a text, also where a memory has it as name.")
    ] = False,
    no_push: Annotated[
        bool, typer.Option("--no-push", help="Rewrite here only; the next git mem sync moves the remote.")
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Takes a text, or with --memory a whole memory, out of all history of memory.

    The commits of all scopes are rewritten with [purged] in place of the text, remotes that memory is
    shared with are moved, old objects are erased, and every object is looked at afterwards. Teammates'
    clones follow with their next git mem sync. It cannot be undone. With - the text comes from standard
    input, so that it is in no shell history.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    out, workspace = run.out, run.workspace
    if memory and text:
        raise UsageError("--memory and --text exclude one another")
    out.warn(ADVICE)
    given = _given(what)
    wanted = purging.target(workspace, given, memory=memory, text=text, scope=scope, agent=agent)
    if dry_run or not out.yes:
        plan = purging.plan_purge(workspace, wanted)
        if dry_run and out.as_json:
            out.json(_plan_value(plan))
            return
        if not plan:
            out.data("nothing here holds it")
            if not dry_run:
                hint = "What others sent since: git mem sync. Or it is written in another way."
                raise CheckFailed("Nothing was purged", hint)
            return
        _show_plan(out, plan)
        if dry_run:
            return
        out.ask("This cannot be undone. Purge it?")
    done = purging.carry_out(
        workspace, run.edges, wanted, push=not no_push, tell=lambda what: out.say(f"  {what}")
    )
    if out.as_json:
        out.json(_value(done, _out_of_reach(workspace)))
    else:
        _show(out, done, _out_of_reach(workspace))
    if done.purged.left:
        raise CheckFailed(
            "It is out of memory's history, but not out of everything here", "See the places listed above."
        )


def _given(what: str) -> str:
    if what != "-":
        return what
    given = sys.stdin.read().strip("\r\n")
    if not given.strip():
        raise UsageError("There is no text on standard input", "For example: git mem purge - < FILE")
    return given


def _show_plan(out: Output, plan: purging.PurgePlan) -> None:
    for ref in plan.refs:
        out.say(f"  would rewrite {ref.ref}{' (private)' if ref.private else ''}")
    for path in plan.paths[:MOST_SHOWN]:
        out.say(f"  it is in {path}")
    if len(plan.paths) > MOST_SHOWN:
        out.say(f"  and in {len(plan.paths) - MOST_SHOWN} more")
    for live in plan.live:
        out.say(f"  it is in {live}")
    if plan.unfinished:
        out.say("  an earlier purge was interrupted, and would be finished")
    commits, refs = counted(plan.commits, "commit"), counted(len(plan.refs), "ref")
    out.data(f"{commits} in {refs} would be rewritten, {plan.held} of which hold it")


def _out_of_reach(workspace: Workspace) -> list[str]:
    """Where it may be that no purge comes to, the person's hosted stores among them."""
    from gitmem.ledger.stores import stores

    settings = workspace.settings
    return [
        *(ELSEWHERE if settings.config.remotes or settings.get("backup") else ()),
        *HERE,
        *(
            f"the hosted store {one.name}: git mem sync {one.name} takes it out, but for its past versions"
            for one in stores(workspace)
        ),
    ]


def _show(out: Output, done: purging.Done, out_of_reach: list[str]) -> None:
    purged = done.purged
    commits, refs = counted(purged.commits, "commit"), counted(len(purged.refs), "ref")
    out.data(f"rewrote {commits} in {refs}, erased {counted(purged.erased, 'object')}")
    if purged.unsigned:
        out.say(f"  {counted(purged.unsigned, 'commit')} lost a signature by that")
    if purged.files:
        out.say(f"  changed {counted(purged.files, 'live file')}")
    for branch in purged.pushed:
        out.say(f"  moved {short_name(branch)} at the remote")
    for branch, words in purged.refused:
        out.warn(
            f"the remote refused {short_name(branch)}, which holds it still: {words}; "
            "whoever may push to it gives the same purge"
        )
    if purged.unreachable:
        out.warn(f"the remote was not rewritten: {purged.unreachable}; run git mem sync later")
    if done.backup:
        out.warn(f"the backup was not rewritten: {done.backup}; run git mem backup later")
    scanned = counted(purged.scanned, "object")
    if purged.left:
        out.data(f"{scanned} scanned; it is still in:")
        for left in purged.left:
            out.data(f"  {left.where}: {left.why}")
    else:
        out.data(f"{scanned} scanned: the text is in none")
    out.say("out of reach:")
    for line in out_of_reach:
        out.say(f"  {line}")


def _plan_value(plan: purging.PurgePlan) -> dict[str, Any]:
    return {
        "dry_run": True,
        "refs": [{"ref": ref.ref, "private": ref.private} for ref in plan.refs],
        "commits": plan.commits,
        "holding": plan.held,
        "paths": list(plan.paths),
        "live": [str(path) for path in plan.live],
        "unfinished": plan.unfinished,
    }


def _value(done: purging.Done, out_of_reach: list[str]) -> dict[str, Any]:
    purged = done.purged
    return {
        "dry_run": False,
        "refs": [{"ref": ref.ref, "private": ref.private} for ref in purged.refs],
        "commits": purged.commits,
        "unsigned": purged.unsigned,
        "files": purged.files,
        "erased": purged.erased,
        "scanned": purged.scanned,
        "left": [{"where": left.where, "why": left.why} for left in purged.left],
        "pushed": list(purged.pushed),
        "refused": [{"branch": branch, "reason": words} for branch, words in purged.refused],
        "remote": purged.unreachable or None,
        "backup": done.backup or None,
        "out_of_reach": out_of_reach,
    }
