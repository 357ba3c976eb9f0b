"""`git mem bisect`: which change of memory made something go wrong."""

from __future__ import annotations

import subprocess
from dataclasses import asdict
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Json, ScopeOption
from gitmem.cli.output import sound
from gitmem.core.errors import RepositoryError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.bisect import BAD, GOOD, NOT_STARTED, SKIP, SKIPPED, Bisection, BisectReply

WIDTH = 400
FOLDER = "GITMEM_BISECT_DIR"
COMMIT = "GITMEM_BISECT_COMMIT"

Revision = Annotated[
    str, typer.Argument(metavar="[REV|DATE|TAG]", help="Of this state; of what is laid out unless given.")
]


def register(app: typer.Typer) -> None:
    """Adds the verb and its words, which are git's."""
    app.callback(invoke_without_command=True)(bisect)
    app.command()(start)
    app.command()(good)
    app.command()(bad)
    app.command()(skip)
    app.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})(run)
    app.command()(log)
    app.command()(reset)


def bisect(ctx: typer.Context, as_json: Json = False) -> None:
    """Finds the change of memory that made an agent or a check go wrong, by halves: commits, then claims.

    The memory of each candidate is laid out in a folder of its own, named in GITMEM_BISECT_DIR; the folders
    that agents use, HEAD and a git bisect of your own stay as they are.
    """
    if ctx.invoked_subcommand is None:
        one = context(ctx, as_json=as_json)
        _tell(one, Bisection(one.workspace, one.edges.now).look())


def start(
    ctx: typer.Context,
    revisions: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BAD [GOOD...]]", help="A commit of memory, a date or a tag each."),
    ] = None,
    first_parent: Annotated[
        bool, typer.Option("--first-parent", help="Take what a merge brought as one change.")
    ] = False,
    scope: ScopeOption = None,
    as_json: Json = False,
) -> None:
    """Begins: with a state that is bad, and older ones that are good, or without, to name them later."""
    one = context(ctx, as_json=as_json)
    found = Bisection(one.workspace, one.edges.now)
    _tell(one, found.start(scope or "", revisions or [], first_parent=first_parent))


def good(ctx: typer.Context, revision: Revision = "", as_json: Json = False) -> None:
    """Says that a state is good."""
    _judge(ctx, GOOD, revision, as_json=as_json)


def bad(ctx: typer.Context, revision: Revision = "", as_json: Json = False) -> None:
    """Says that a state is bad."""
    _judge(ctx, BAD, revision, as_json=as_json)


def skip(ctx: typer.Context, revision: Revision = "", as_json: Json = False) -> None:
    """Says that nobody can tell of a state."""
    _judge(ctx, SKIP, revision, as_json=as_json)


def run(
    ctx: typer.Context,
    command: Annotated[list[str], typer.Argument(metavar="CMD...", help="What tells good from bad.")],
) -> None:
    """Lets a command tell: exit code 0 is good, 125 cannot be told, any other up to 127 is bad.

    It is started here, with the folder of the memory to try in GITMEM_BISECT_DIR; no shell is in between.
    """
    one = context(ctx)
    found = Bisection(one.workspace, one.edges.now)
    step = found.look()
    if step.waits:
        raise UsageError(
            f"It is not known what is {' and '.join(step.waits)} yet", "git mem bisect start BAD GOOD"
        )
    while not step.done:
        verdict = _verdict(one, command, step)
        one.out.say(f"{verdict}: {_named(step)}")
        step = found.judge(verdict)
    _tell(one, step)


def _verdict(one: CommandContext, command: list[str], step: BisectReply) -> str:
    told = {**one.edges.environ, FOLDER: step.folder, COMMIT: step.commit}
    try:
        done = subprocess.run(command, env=told, cwd=one.edges.cwd, check=False)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}") from error
    if done.returncode < 0 or done.returncode > 127:
        raise RepositoryError(
            f"{command[0]} ended with {done.returncode}: that is neither good nor bad",
            "Exit with 0 for good, 125 where it cannot be told, another up to 127 for bad.",
        )
    return GOOD if done.returncode == 0 else SKIP if done.returncode == SKIPPED else BAD


def log(ctx: typer.Context) -> None:
    """Prints what was said so far, as commands."""
    one = context(ctx)
    state = Bisection(one.workspace, one.edges.now).state
    if state is None:
        raise NOT_STARTED
    for line in state.log:
        one.out.data(line)


def reset(ctx: typer.Context) -> None:
    """Ends it, and takes the folder of its own away."""
    one = context(ctx)
    if not Bisection(one.workspace, one.edges.now).reset():
        one.out.say("no bisection was under way")


def _judge(ctx: typer.Context, verdict: str, revision: str, *, as_json: bool) -> None:
    one = context(ctx, as_json=as_json)
    _tell(one, Bisection(one.workspace, one.edges.now).judge(verdict, revision))


def _named(step: BisectReply) -> str:
    return (
        f"[{step.commit[:12]}] {sound(step.subject)}"
        if not step.claims
        else f"claims of {step.commit[:12]}"
    )


def _tell(one: CommandContext, step: BisectReply) -> None:
    if one.out.as_json:
        one.out.json({**asdict(step), "steps": step.steps, "done": step.done})
    else:
        for line in _lines(step):
            one.out.data(line)
    if step.unsure:
        raise typer.Exit(2)


def _lines(step: BisectReply) -> list[str]:
    lines = []
    if step.waits:
        return [f"status: waiting for {' and '.join(f'a {word} state' for word in step.waits)}"]
    if step.culprit:
        lines.append(
            f"{step.culprit[:12]} is the first bad commit: {one_line(sound(step.culprit_subject), WIDTH)}"
        )
    if step.unit:
        where = (
            f"{step.unit.what} of {sound(step.unit.path)}"
            if step.unit.path
            else "nothing that it changes in files"
        )
        lines.append(f"what did it: {where}")
        for mark, text in (("-", step.unit.before), ("+", step.unit.after)):
            lines += [f"   {mark} {sound(line)}" for line in text.splitlines()]
        return lines
    if step.unsure:
        what = "claims" if step.claims else "commits"
        return [
            *lines,
            f"only skipped {what} are left; the fault is one of:",
            *(f"  {sound(each)}" for each in step.unsure),
        ]
    what = "claim" if step.claims else "revision"
    after, steps = counted((step.left - 1) // 2, what), counted(max(0, step.steps - 1), "step")
    lines.append(f"Bisecting: {after} left to test after this (roughly {steps})")
    lines.append(f"{_named(step)} is laid out in {step.folder}")
    return lines
