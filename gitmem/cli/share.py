"""`git mem share`: turn sharing of project memory on or off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, get_args

import typer

from gitmem.app.host_files import HostingPlan, plan_hosting, set_up_hosting
from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet, Yes
from gitmem.cli.output import sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted
from gitmem.flows.exchange import share as prepare_share
from gitmem.ledger.push_plan import right_place
from gitmem.ledger.share import Mode, SharePlan, plan_share, turn_off, turn_on


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(share)


def share(
    ctx: typer.Context,
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            help="review: others decide first; direct: straight to the branch.",
            show_default=False,
        ),
    ] = None,
    remote: Annotated[
        str,
        typer.Option(
            "--remote",
            metavar="NAME|URL",
            help="A configured remote, or the address of a repository for memory alone.",
            show_default=False,
        ),
    ] = "",
    off: Annotated[bool, typer.Option("--off", help="Stop sharing.")] = False,
    ci: Annotated[
        str,
        typer.Option("--ci", metavar="HOST", help="Have requests judged: github.", show_default=False),
    ] = "",
    owner: Annotated[
        list[str] | None,
        typer.Option("--owner", help="With --ci: who must agree, @user or @org/team.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Turns sharing of project memory on or off.

    Names every memory that will leave with the next sync and asks. Nothing is sent by this command. With
    an address for --remote, memory is kept apart from the code, in that repository: a remote named gitmem
    is made for it, and everyone of the team gives this command once in their clone.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    out, workspace = run.out, run.workspace
    if ci or owner:
        if not ci or off or mode or remote:
            raise UsageError("--ci takes --owner and nothing else", "E.g. git mem share --ci github")
        _judged(run, ci, owner or [], dry_run)
        return
    if off:
        if mode or remote:
            raise UsageError("--off takes neither --mode nor --remote")
        _off(run, dry_run)
        return
    chosen = _mode(mode)
    if dry_run:
        plan = plan_share(workspace, chosen, remote, run.edges.cwd)
    else:
        plan = prepare_share(workspace, run.edges, chosen, remote)
    leaves = [str(memory) for memory in plan.leaves]
    held = [str(memory) for memory in plan.personal]
    value = _value(plan.before, plan.mode, plan.remote.name, leaves, dry_run, plan.url, held)
    if dry_run and out.as_json:
        out.json(value)
        return
    for memory in plan.leaves:
        (out.data if dry_run else out.say)(f"  leaves with the next sync: {memory}")
    if plan.personal:
        out.warn(f"held back, since about a person: {', '.join(held)}. {right_place(plan.personal)}")
    name = f"{plan.remote.name} ({plan.url})" if plan.url else plan.remote.name
    if plan.branches:
        out.say(f"  {plan.url} has other branches, which are left alone: {', '.join(plan.branches[:5])}")
    if dry_run:
        out.data(f"would share project memory with {name} ({plan.mode})")
        return
    if plan.before == "off" or plan.leaves:
        what = counted(len(plan.leaves), "memory") if plan.leaves else "project memory"
        out.ask(f"Share {what} with everyone who can read {name}?")
    turn_on(workspace, plan, workspace.author(run.edges.now))
    if out.as_json:
        out.json(value)
        return
    out.data(f"project memory is shared with {name} ({plan.mode}); git mem sync sends it")
    if plan.url or (plan.before, plan.old_remote or plan.remote.name) != (plan.mode, plan.remote.name):
        out.say(f"undo: {_undo(plan)}")


def _undo(plan: SharePlan) -> str:
    words = "git mem share --off" if plan.before == "off" else f"git mem share --mode {plan.before}"
    if plan.old_remote and plan.old_remote != plan.remote.name:
        words += f" --remote {plan.old_remote}"
    return words + (f" && git remote remove {plan.remote.name}" if plan.url else "")


def _mode(word: str | None) -> Mode | None:
    if word is None:
        return None
    for known in get_args(Mode):
        if word == known:
            return known  # type: ignore[no-any-return]
    raise UsageError(f"There is no mode {word!r}", "Modes are: review, direct.")


def _value(
    before: str,
    mode: str,
    remote: str,
    leaves: list[str],
    dry_run: bool,
    url: str = "",
    held: Sequence[str] = (),
) -> dict[str, object]:
    """What sharing was and is (or would be): `off`, `review` or `direct`; the address where it is new."""
    return {
        "before": before,
        "mode": mode,
        "remote": sound(remote),
        "url": sound(url) or None,
        "leaves": [sound(memory) for memory in leaves],
        "held": [sound(memory) for memory in held],
        "dry_run": dry_run,
    }


def _off(run: CommandContext, dry_run: bool) -> None:
    workspace = run.workspace
    before = workspace.sharing
    done = not dry_run and turn_off(workspace)
    if run.out.as_json:
        run.out.json(_value(before, "off", "", [], dry_run))
        return
    if dry_run:
        run.out.data("nothing is shared here" if before == "off" else "would stop sharing project memory")
        return
    if not done:
        run.out.data("nothing was shared here")
        return
    run.out.data("project memory is no longer shared; what was pushed stays at the remote")
    run.out.say(f"undo: git mem share --mode {before}")


def _judged(run: CommandContext, host: str, owners: list[str], dry_run: bool) -> None:
    """Has a host judge requests: puts its files on the memory branch, or shows them."""
    out = run.out
    if dry_run:
        plan, commit = plan_hosting(run.workspace, host, owners), None
    else:
        plan, written = set_up_hosting(run.workspace, run.edges, host, owners)
        commit = written.commit if written else None
    if out.as_json:
        out.json(_hosting_value(plan, commit, dry_run))
        return
    for path in plan.kept:
        out.warn(f"{path} is your own and stays as it is; gitmem's differs")
    if not plan.files:
        out.data("nothing to add: requests on memory are judged already")
        return
    if dry_run:
        for path, data in plan.files.items():
            out.data(f"would put {path} on gitmem/project:")
            for line in data.decode().splitlines():
                out.data(f"    {line}".rstrip())
        return
    out.data(f"{(commit or '')[:8]} put {', '.join(plan.files)} on gitmem/project; git mem sync sends it")
    out.say("in the host's settings, protect gitmem/project and require the check and a review")
    out.say("snapshots in code can be kept up to date by a job, too: git mem snapshot create --all")
    out.say(f"undo: git mem undo {(commit or '')[:12]}")


def _hosting_value(plan: HostingPlan, commit: str | None, dry_run: bool) -> dict[str, object]:
    return {
        "files": sorted(plan.files),
        "kept": list(plan.kept),
        "commit": commit,
        "dry_run": dry_run,
    }
