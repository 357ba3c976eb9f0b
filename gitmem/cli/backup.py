"""`git mem backup`: private memory in a repository of the person's own, on another machine or disk."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet, Yes
from gitmem.cli.output import Output
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted
from gitmem.flows import exchange
from gitmem.flows.purge import IN_PROJECT
from gitmem.git.remote import without_credentials
from gitmem.git.repository import short_name
from gitmem.ledger.backup import Backed, BackupPlan, forget_backup, named_backup, plan_backup, unlock
from gitmem.ledger.sealed_backup import SETTING, parse_recipients, recipients_of
from gitmem.ledger.workspace import Workspace
from gitmem.rules.screen import doubt_told

WORDS = {
    "send": "sent",
    "take": "merged here",
    "join": "joined",
    "delete there": "deleted there, as here",
    "delete here": "deleted here, as there",
    "leave apart": "left as it is on both sides: each changed it in its own way",
}


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(backup)


def backup(
    ctx: typer.Context,
    url: Annotated[str, typer.Argument(help="A repository of your own.", show_default=False)] = "",
    off: Annotated[bool, typer.Option("--off", help="Forget it; what it holds stays there.")] = False,
    encrypt_to: Annotated[
        list[str] | None,
        typer.Option(
            "--encrypt-to", metavar="RECIPIENT", help="Encrypt it: age1…, an SSH key, or a file of them."
        ),
    ] = None,
    identity: Annotated[
        Path | None,
        typer.Option("--identity", metavar="FILE", help="Open an encrypted one, once.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Copies private memory to a repository of yours, and keeps it there.

    With URL it is named, asked for once, and brought together with what is here; from then on git mem sync
    does that too. Without URL the named one is brought up to date. All that is private goes there: your own
    memory, and your memory of every project. Two machines can back up to one repository. On another one,
    git mem init --backup URL starts from it.

    With --encrypt-to (it may be given more than once) the host reads nothing: what goes there is encrypted
    in the age format, under a key that only your identity opens, and this machine once it did. Other
    recipients than before make a new key. On another machine --identity opens it: a file of age-keygen, or
    an SSH key, without a passphrase. Keep it elsewhere: without it a lost machine takes the backup along.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace = run.workspace
    if off:
        if url or encrypt_to or identity:
            raise UsageError("--off takes no URL, recipient or identity")
        _forget(run.out, workspace, dry_run)
        return
    named = exchange.address(workspace, run.edges, url) if url else named_backup(workspace)
    if not named:
        raise CheckFailed("No backup is named", "Name an empty repository of your own: git mem backup URL")
    if identity is not None:
        if dry_run:
            raise UsageError("--identity goes without --dry-run: it keeps the key that it opens")
        unlock(workspace, named, run.edges.path(identity))
    recipients = parse_recipients(encrypt_to, run.edges.path) if encrypt_to else ()
    if recipients:
        workspace.settings = workspace.with_settings(**{SETTING.lower(): ",".join(recipients)}).settings
    before = workspace.settings.get("backup")
    if dry_run or named != before:
        plan = plan_backup(workspace, named)
        if dry_run:
            show_plan(run.out, plan)
            return
        projects = counted(plan.projects, "project")
        how = ", encrypted" if recipients_of(workspace) else ""
        question = (
            f"Private memory of {projects}, and your own, will be copied to {plan.place}{how}. Do it?"
        )
        run.out.ask(question)
    done = carry_out(run, workspace, named, recipients)
    if run.out.as_json:
        run.out.json(backed_value(done))
        return
    show_done(run.out, workspace, done)
    if named != before:
        back = quote(without_credentials(before)) if before else "--off"
        run.out.say(f"undo: git mem backup {back} (what was copied stays there)")


def carry_out(
    run: CommandContext, workspace: Workspace, url: str, recipients: tuple[str, ...] = ()
) -> Backed:
    """Backs up, and says what a person has to know of it even when quiet."""
    out, done = run.out, exchange.back_up(workspace, run.edges, url, recipients)
    for refusal in done.arrived:
        out.warn(f"from the backup: {refusal.path} {refusal.message}; have it rotated and removed")
    for path, text in done.buried:
        out.warn(f"stays forgotten: {path}: {text.splitlines()[0] if text else ''}")
    for step in done.steps:
        if step.what == "leave apart":
            out.warn(f"{step.ref} is {WORDS[step.what]}")
    for one in done.doubts:
        out.warn(doubt_told(one, "leaves"))
    if done.stands_in_project:
        out.warn(IN_PROJECT)
    for ref, words in done.refused.items():
        out.warn(f"{ref} was deleted here, and stays in the backup: {words}")
    return done


def show_plan(out: Output, plan: BackupPlan) -> None:
    """Prints what a backup would do."""
    if out.as_json:
        out.json(plan_value(plan))
        return
    if not plan.steps:
        out.data(f"the backup {plan.place} is up to date")
    for step in plan.steps:
        amount = f" ({counted(step.memories, 'memory')})" if step.memories else ""
        out.data(f"would {step.what} {short_name(step.ref)}{amount}")


def show_done(out: Output, workspace: Workspace, done: Backed) -> None:
    """Prints what a backup did, with the way back."""
    for step in done.steps:
        out.say(f"  {short_name(step.ref)}: {WORDS[step.what]}")
    out.data(f"{done.place}: {done.fetched} fetched, {done.merged} merged, {done.sent} sent")
    for name in ("local", "user"):
        if before := done.before.get(workspace.scope(name).ref):
            out.say(f"undo: git mem restore --all --scope {name} --at {before[:12]}")


def plan_value(plan: BackupPlan) -> dict[str, Any]:
    """The JSON form of a plan."""
    return {
        "url": plan.place,
        "dry_run": True,
        "projects": plan.projects,
        "refs": [{"ref": step.ref, "what": step.what, "memories": step.memories} for step in plan.steps],
    }


def backed_value(done: Backed) -> dict[str, Any]:
    """The JSON form of what was done."""
    return {
        "url": done.place,
        "dry_run": False,
        "fetched": done.fetched,
        "merged": done.merged,
        "sent": done.sent,
        "lost_races": done.lost,
        "refs": [{"ref": step.ref, "what": step.what, "memories": step.memories} for step in done.steps],
        "refused": [{"ref": ref, "reason": words} for ref, words in done.refused.items()],
        "secrets": [{"path": refusal.path, "reason": refusal.message} for refusal in done.arrived],
        "doubts": [{"path": one.path, "rule": one.rule} for one in done.doubts],
        "buried": [{"path": path, "text": text} for path, text in done.buried],
        "split": list(done.split),
        "purged_text_in_project": done.stands_in_project,
    }


def _forget(out: Output, workspace: Workspace, dry_run: bool) -> None:
    url = workspace.settings.get("backup")
    place = without_credentials(url)
    if not url:
        out.data("no backup was named")
    elif dry_run:
        out.data(f"would forget the backup {place}")
    else:
        forget_backup(workspace)
        out.data(f"the backup {place} is forgotten; what it holds stays there")
        out.say(f"undo: git mem backup {quote(place)}")
