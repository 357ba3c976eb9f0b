"""`git mem sync`: fetch, merge and push shared memory."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated, Any

import typer

from gitmem.cli import backup
from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet, Yes, store_names
from gitmem.cli.output import Output, Progress, aside_hint, sound
from gitmem.core.errors import CheckFailed, GitmemError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.decide import DecidingSession, ItemChoice, decide_one
from gitmem.flows.exchange import synchronise
from gitmem.flows.purge import IN_PRIVATE
from gitmem.flows.review import decidable
from gitmem.flows.review_items import ReviewItem, purge_item, waiting_line
from gitmem.git.repository import short_name
from gitmem.ledger.backup import named_backup, plan_backup
from gitmem.ledger.consent import PurgeWaits, foreign_purge
from gitmem.ledger.push_plan import Leaving, right_place
from gitmem.ledger.sync import Synced
from gitmem.ledger.workspace import Workspace
from gitmem.rules.rule import Finding
from gitmem.rules.screen import doubt_told


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(sync)


def sync(
    ctx: typer.Context,
    remote: Annotated[
        str,
        typer.Argument(
            help="A remote of git's, or a store (git mem remote).",
            show_default=False,
            autocompletion=store_names,
        ),
    ] = "",
    pull: Annotated[bool, typer.Option("--pull", help="Only fetch and merge.")] = False,
    push: Annotated[bool, typer.Option("--push", help="Only push.")] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fetches, merges and pushes shared memory, and brings your backup up to date.

    A memory that leaves this machine for the first time is named, and asked for. With --dry-run the
    remote's branches are fetched, and nothing else is done. The backup that you named (git mem backup) is
    left out where a remote or a direction is given. With the name of a hosted memory store (git mem remote)
    the memory of its scope is exchanged with that.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    workspace, both = run.workspace, pull == push
    if remote:
        from gitmem.ledger.stores import find_store  # a sync with git's remotes needs none

        if store := find_store(workspace, remote):
            from gitmem.cli.remote import sync_store

            sync_store(run, store, pull=pull or both, push=push or both, dry_run=dry_run)
            return
        if workspace.sharing == "off" and remote not in workspace.settings.config.remotes:
            raise UsageError(
                f"There is no store {remote!r} here, and no remote", "See them: git mem remote"
            )
    named = named_backup(workspace) if both and not remote else ""
    done, failure = None, None
    if workspace.sharing != "off" or not named:
        known = {item.id for item in _decidable(run, workspace)}
        with Progress(quiet=run.out.silent) as progress:

            def ask(leaves: tuple[Leaving, ...]) -> bool:
                progress.clear()
                return run.out.agrees(leaves, f"Share {counted(len(leaves), 'memory')}?")

            def warn(doubts: tuple[Finding, ...]) -> None:
                progress.clear()
                for one in doubts:
                    run.out.warn(doubt_told(one, "leaves"))

            def exchange() -> Synced:
                return synchronise(
                    workspace,
                    run.edges,
                    ask,
                    remote=remote,
                    pull=pull or both,
                    push=push or both,
                    dry_run=dry_run,
                    tell=progress,
                    warn=warn,
                )

            try:
                try:
                    done = exchange()
                except PurgeWaits:
                    progress.clear()
                    if dry_run or not _purge_taken(run):
                        raise
                    done = exchange()
            except GitmemError as error:
                if not named:
                    raise
                failure = error
    value: dict[str, Any] = {}
    if done is not None:
        _show(run.out, done, dry_run)
        if fresh := [item for item in _decidable(run, workspace) if item.id not in known]:
            run.out.say(waiting_line(fresh))
        value = _value(done, dry_run)
        if done.held and not dry_run:
            held = ", ".join(map(str, done.held))
            failure = CheckFailed(f"Held back: {held}", "Look at them, and say yes: git mem sync -y")
    if named:
        try:
            value["backup"] = _back_up(run, workspace, named, dry_run)
        except GitmemError as error:
            if failure is not None:
                run.out.warn(f"{error.message} ({error.hint})")
            failure = failure or error
    if run.out.as_json and value:
        run.out.json(value)
    if failure is not None:
        raise failure


def _purge_taken(run: CommandContext) -> bool:
    """Asks about somebody else's purge. `--yes` is no answer: it has to be agreed to by name."""
    waits = foreign_purge(run.workspace)
    if waits is None or not sys.stdin.isatty() or run.out.as_json:
        return False
    for line in purge_item(waits).lines:
        run.out.say(line)
    try:
        replace(run.out, yes=False).ask("Take it?")
    except CheckFailed:
        return False
    decided = decide_one(DecidingSession(run.workspace, run.edges, run.out.ask), ItemChoice(waits.id))
    for line in (decided.line, *decided.notes):
        run.out.say(f"  {line}")
    return True


def _back_up(run: CommandContext, workspace: Workspace, url: str, dry_run: bool) -> dict[str, Any]:
    if dry_run:
        plan = plan_backup(workspace, url)
        if not run.out.as_json:
            backup.show_plan(run.out, plan)
        return backup.plan_value(plan)
    done = backup.carry_out(run, workspace, url)
    if not run.out.as_json:
        backup.show_done(run.out, workspace, done)
    return backup.backed_value(done)


def _decidable(run: CommandContext, workspace: Workspace) -> list[ReviewItem]:
    """What waits for a decision; where data alone is wanted nobody is told, and nothing is looked at."""
    return [] if run.out.silent else decidable(workspace)


def _show(out: Output, done: Synced, dry_run: bool) -> None:
    for refusal in done.arrived:
        out.warn(f"from {done.remote}: {refusal.path} {refusal.message}; have it rotated and removed")
    for path, text in done.buried:
        out.warn(f"stays forgotten: {path}: {text.splitlines()[0] if text else ''}")
    for path, why in done.aside.items():
        out.warn(f"set aside: {one_line(path, 120)}: {why}. {aside_hint(why)}")
    for path in done.split:
        out.say(f"  two memories wanted one file; one is now {path}")
    for one in done.carried:
        replayed = counted(one.replayed, "commit")
        if one.theirs:
            out.say(
                f"  {done.remote} had a history from before a purge here: {replayed} of it carried over"
            )
        else:
            out.say(f"  followed a purge: {replayed} of yours carried over, the old history erased")
        for path in one.lost:
            out.warn(f"not carried over, as it was purged: {path}")
    if done.stands_in_private:
        out.warn(IN_PRIVATE)
    if done.switched:
        out.warn(
            f"{done.remote} protects gitmem/project ({done.switched}): from now on what you learn "
            "waits for review there (undo: git mem share --mode direct)"
        )
    if done.left_to_host:
        out.warn(
            f"{done.remote} protects gitmem/project ({done.left_to_host}): what you accepted waits for "
            "its reviewers (git mem status)"
        )
    if done.personal:
        would = "would hold back" if dry_run else "held back"
        names = ", ".join(map(str, done.personal))
        out.warn(f"{would}, since about a person: {names}. {right_place(done.personal)}")
    if not out.as_json:
        for memory in done.leaves if dry_run else ():
            out.data(f"  would leave for the first time: {memory}")
        for branch in done.tended.updated:
            out.say(f"  {'would bring' if dry_run else 'brought'} {short_name(branch)} up to date")
        for branch in done.tended.closed:
            gone = "would remove" if dry_run else "removed"
            out.say(f"  {gone} {short_name(branch)}, which has nothing left to ask")
        if done.sent:
            out.say(f"  sent {counted(done.sent, 'memory')} that you accepted: on gitmem/project now")
        out.data(_line(done, dry_run))
        if not dry_run and done.fetched:
            out.say(f"undo: git mem restore --all --scope project --at {done.before[:12]}")


def _line(done: Synced, dry_run: bool) -> str:
    remote = f"would sync {done.remote}" if dry_run else done.remote
    counts = f"{remote}: {done.fetched} fetched, {done.merged} merged, {done.pushed} pushed"
    asked = " (you are asked first)" if dry_run and done.leaves else ""
    if done.in_inbox and done.pushed and done.branch not in done.tended.closed:
        why = f"after {done.lost} lost races " if done.lost else ""
        return f"{counts} {why}to {short_name(done.branch)}, where it waits for review{asked}"
    if done.branch and not (dry_run or done.pushed or done.branch in done.tended.closed):
        return f"{counts}, {short_name(done.branch)} brought up to date"
    return counts + asked


def _value(done: Synced, dry_run: bool) -> dict[str, Any]:
    return {
        "remote": done.remote,
        "dry_run": dry_run,
        "fetched": done.fetched,
        "merged": done.merged,
        "pushed": done.pushed,
        "sent": done.sent,
        "branch": done.branch or None,
        "lost_races": done.lost,
        "leaves": [_named(memory) for memory in done.leaves],
        "held": [
            *({**_named(memory), "why": "nobody agreed"} for memory in done.held),
            *({**_named(memory), "why": "about a person"} for memory in done.personal),
        ],
        "doubts": [{"path": one.path, "rule": one.rule} for one in done.doubts],
        "secrets": [{"path": refusal.path, "reason": refusal.message} for refusal in done.arrived],
        "buried": [{"path": path, "text": text} for path, text in done.buried],
        "split": list(done.split),
        "set_aside": {sound(path): why for path, why in done.aside.items()},
        "carried": [
            {"commits": one.replayed, "theirs": one.theirs, "left": list(one.lost)} for one in done.carried
        ],
        "purged_text_in_private": done.stands_in_private,
        "switched_to_review": done.switched or None,
        "left_to_host": done.left_to_host or None,
        "updated": list(done.tended.updated),
        "removed": list(done.tended.closed),
        "landed": [
            {"branch": branch, "left_out": [one.after or one.before for one in landing.left_out]}
            for branch, landing in done.landed
        ],
    }


def _named(memory: Leaving) -> dict[str, str]:
    return {"agent": memory.agent, "name": memory.name, "path": memory.path}
