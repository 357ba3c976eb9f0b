"""`git mem forget`: delete a memory, or one claim of it, and see to it that it stays away."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, DryRun, Json, Quiet, ScopeOption, memory_names
from gitmem.cli.output import place_value, sound
from gitmem.core.errors import UsageError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.flows.edit import forget as carry_out
from gitmem.flows.edit import left_behind
from gitmem.ledger.lookup import FoundMemory, find, find_all

if TYPE_CHECKING:
    from gitmem.ledger.forget import Holding


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(forget)


def forget(
    ctx: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Name or file of the memory.", autocompletion=memory_names)
    ] = None,
    claim: Annotated[
        str | None,
        typer.Option("--claim", metavar="TEXT", help="Forget only what says this.", show_default=False),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="In every scope and agent that has it, archives too.")
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Deletes a memory, or with --claim one claim, and marks what it said as forgotten.

    No merge, dream or extraction brings it back, in no clone; `git mem restore` and `remember` do. History
    keeps the text: git mem purge takes it out of that, too.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if name is not None and claim is not None:
        raise UsageError(
            "A name and --claim do not go together", "--scope and --agent narrow --claim down."
        )
    if name is None and claim is None:
        raise UsageError("Say what to forget", "Give the name of a memory, or --claim TEXT.")
    if claim is not None:
        _forget_claim(run, claim, scope, agent, everywhere, dry_run)
    elif everywhere:
        _forget_everywhere(run, name or "", scope, agent, dry_run)
    else:
        found = find(run.workspace, name or "", scope, agent, whole=True)
        value = _forget_one(run, found, dry_run)
        if run.out.as_json:
            run.out.json(value)


def _forget_one(run: CommandContext, found: FoundMemory, dry_run: bool) -> dict[str, object]:
    out = run.out
    where = f"{found.scope}/{found.agent}/{found.file}"
    written = None if dry_run else carry_out(run.workspace, run.edges, found)
    commit = written.commit if written else None
    if commit:
        _tell_left(run, found)
    if out.as_json:
        return place_value(found) | {"commit": commit, "dry_run": dry_run}
    if dry_run:
        out.data(f"would forget {where}: {found.memory.description}")
    elif commit is None:
        out.data(f"{where} is gone already")
    else:
        out.data(f"{commit[:8]} forgot {where}")
        if len(found.memory.render()) > MEMORY_BYTES:  # which nothing brings back into memory
            out.say(f"what it said: git mem restore {shlex.quote(found.address)} --to FOLDER")
        else:
            out.say(f"undo: git mem undo {commit[:12]}")
    return {}


def _forget_everywhere(
    run: CommandContext, name: str, scope: str | None, agent: str | None, dry_run: bool
) -> None:
    values = [_forget_one(run, found, dry_run) for found in find_all(run.workspace, name, scope, agent)]
    if run.out.as_json:
        run.out.json({"forgotten": values, "dry_run": dry_run})


def _forget_claim(
    run: CommandContext, text: str, scope: str | None, agent: str | None, everywhere: bool, dry_run: bool
) -> None:
    from gitmem.ledger.forget import find_claim

    out, values = run.out, []
    found = find_claim(run.workspace, text, scope=scope, agent=agent, everywhere=everywhere, warn=out.warn)
    for one in found:
        written = None if dry_run else carry_out(run.workspace, run.edges, one)
        values.append(
            {
                "scope": one.scope,
                "agent": sound(one.agent),
                "file": sound(one.file),
                "name": sound(one.name),
                "claim": sound(one.claim.key),
                "whole": one.whole,
                "commit": written.commit if written else None,
            }
        )
        if written and one.whole:
            _tell_left(run, one)
        if out.as_json:
            continue
        what = f"{one.address}" if one.whole else f"a {'line' if one.in_log else 'claim'} of {one.address}"
        if dry_run:
            out.data(f"would forget {what}: {one.claim.key}")
        elif written is None:
            out.data(f"{one.address} does not say it any more")
        else:
            out.data(f"{written.commit[:8]} forgot {what}")
            out.say(f"undo: git mem undo {written.commit[:12]}")
    if out.as_json:
        out.json({"forgotten": values, "dry_run": dry_run})


def _tell_left(run: CommandContext, what: FoundMemory | Holding) -> None:
    """What agents still read: nothing else holds what it says, so it is for the person to delete."""
    for path in left_behind(run.workspace, what):
        run.out.warn(f"agents still read {path}: it holds what memory does not (why: git mem status)")
        run.out.say(f"keep what you need of it, then: rm {shlex.quote(str(path))}")
