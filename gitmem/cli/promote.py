"""`git mem promote` and `demote`: a memory becomes a rule of CLAUDE.md or another file, and one again."""

from __future__ import annotations

import shlex
from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption, Yes, memory_names
from gitmem.cli.output import sound
from gitmem.flows import promote as promotion
from gitmem.flows.json_values import difference
from gitmem.flows.promote import Promotion, PromotionResult, plan
from gitmem.flows.rule_files import message
from gitmem.flows.undo import forget_decided
from gitmem.ledger.lookup import find


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(promote)


def promote(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FILE",
            help="The file; CLAUDE.md where it is there, else AGENTS.md.",
            show_default=False,
        ),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Writes a memory as a rule into the work tree's file, in a section of its own, for you to commit.

    Once the commit is there, the memory points to the rule, stands in the archive, is no longer recalled
    and is not learned again, here and in every clone that pulls the rule. A commit that takes the rule out
    brings the memory back. What the memory is taught since is recalled until you promote it again.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.workspace
    planned = plan(workspace, run.edges, find(workspace, name, scope, agent, whole=True), to)
    if planned.doubts and not dry_run:
        run.out.ask(planned.question)
    done = None if dry_run else promotion.promote(workspace, run.edges, planned)
    if run.out.as_json:
        run.out.json(_value(planned, done))
        return
    out = run.out
    verb = "would write" if done is None else "wrote"
    if done is not None and not done.edited:
        verb = "has"
        out.data(f"{planned.file} has the rule {planned.at.address} already")
    else:
        out.data(f"{verb} the rule {planned.at.address} into {planned.file}")
    if done is None:
        for line in difference(planned.file, planned.before, planned.after):
            out.data(line)
        out.say("would propose to commit it so:")
        for line in message(workspace, [("Add", planned.at.address, planned.file)]).splitlines():
            out.say(f"    {line}".rstrip())
        for doubt in planned.doubts:
            out.say(f"would ask: {doubt}")
        return
    for line in planned.rule.split("\n") if done.edited else ():
        out.say(f"    {line}".rstrip())
    for note in done.notes:
        out.data(note)
    if done.command:
        out.say(f"commit it: {done.command}")
    if done.edited or done.notes:
        out.say(f"undo: git mem demote {shlex.quote(planned.at.address)}")


def demote(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)],
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Takes a memory's rule out of the work tree's file, for you to commit, and brings the memory back.

    The memory stands where the agent sees it at once; the section goes where nothing else is left in it.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.workspace
    found = find(workspace, name, scope, agent, whole=True)
    done = promotion.demote(workspace, run.edges, found, dry_run=dry_run)
    at, out = done.at, run.out
    commit = done.written.commit if done.written else None
    if not dry_run:
        forget_decided(workspace.state, f"git mem demote {shlex.quote(at.address)}")
    if out.as_json:
        out.json(
            {
                "name": sound(at.memory.name),
                "scope": at.scope,
                "agent": sound(at.agent),
                "memory": sound(at.home),
                "file": sound(done.file),
                "edited": done.edited,
                "commit": commit,
                "message": sound(done.message) or None,
                "command": sound(done.command) or None,
                "dry_run": dry_run,
            }
        )
        return
    verb = "would take" if dry_run else "took"
    if done.edited:
        out.data(f"{verb} the rule {at.address} out of {done.file}")
    for note in done.notes:
        out.data(note)
    if commit:
        out.data(f"{commit[:8]} {at.address} is a memory again")
    if done.command:
        out.say(f"commit it: {done.command}")
    if not dry_run:
        out.say(f"undo: git mem promote {shlex.quote(at.address)} --to {shlex.quote(done.file)}")


def _value(planned: Promotion, done: PromotionResult | None) -> dict[str, object]:
    at = planned.at
    return {
        "name": sound(at.memory.name),
        "scope": at.scope,
        "agent": sound(at.agent),
        "memory": sound(at.file),
        "file": sound(planned.file),
        "rule": sound(planned.rule),
        "doubts": list(planned.doubts),
        "edited": done.edited if done else False,
        "message": sound(done.message) or None if done else None,
        "command": sound(done.command) or None if done else None,
        "dry_run": done is None,
    }
