"""`git mem remote`: hosted memory stores that a scope is mirrored to, and an exchange with one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import Json, Quiet, ScopeOption, store_names
from gitmem.cli.output import Progress, day, iso, sound
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.stores import Exchanged, StoreOptions, exchange_with, store_client
from gitmem.git.remote import PushPatience
from gitmem.ledger.push_plan import Leaving
from gitmem.ledger.stores import (
    HostedStore,
    add_store,
    last_seen,
    named_store,
    remove_store,
    store_ref,
    stores,
)
from gitmem.ledger.workspace import Workspace
from gitmem.rules.screen import doubt_told

WIDTH = 120


def register(app: typer.Typer) -> None:
    """Adds the verb and its words, which are git's."""
    app.callback(invoke_without_command=True)(remote)
    app.command()(add)
    app.command("list")(list_remotes)
    app.command()(remove)


def remote(ctx: typer.Context, as_json: Json = False) -> None:
    """Names the hosted memory stores that a scope is mirrored to; alone it lists them.

    `git mem sync NAME` merges what changed in one, and sends what changed here. The remote that the team's
    memory is shared with is one of git's: git mem share.
    """
    if ctx.invoked_subcommand is None:
        _list(context(ctx, as_json=as_json))


def add(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it here.")],
    store: Annotated[
        str, typer.Option("--store", metavar="ID", help="The store's id: memstore_…", show_default=False)
    ] = "",
    scope: ScopeOption = None,
    quiet: Quiet = False,
) -> None:
    """Adds a store; nothing is sent before `git mem sync NAME`.

    The project's memory unless --scope names a private one. One store is for one scope.
    """
    from gitmem.engines.stores import is_id

    run = context(ctx, quiet=quiet)
    if not store:
        raise UsageError("Which store?", "git mem remote add NAME --store ID; one of git's: git remote add")
    if not is_id(store):
        raise UsageError(f"{one_line(store, 60)!r} is no id of a store", "It looks like memstore_01Abc.")
    one = HostedStore(name, store, run.workspace.scope(scope or "project").name)
    add_store(run.workspace, one)
    run.out.say(f"{name} is {store}, for the memory of the scope {one.scope}; nothing was sent")
    run.out.say(f"look: git mem sync {name} -n; undo: git mem remote remove {name}")


def list_remotes(ctx: typer.Context, as_json: Json = False) -> None:
    """Lists the stores, whose memory each holds, and when it was last seen."""
    _list(context(ctx, as_json=as_json))


def remove(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="As `git mem remote` lists it.", autocompletion=store_names),
    ],
    quiet: Quiet = False,
) -> None:
    """Forgets a store; memory here and there stays as it is."""
    run = context(ctx, quiet=quiet)
    one = named_store(run.workspace, name)
    remove_store(run.workspace, one)
    if dream := one.dream.partition(" ")[0]:
        run.out.say(f"{dream} goes on there and is looked at no more; what it writes is a store of its own")
    run.out.say(
        f"forgot {name}; undo: git mem remote add {name} --store {one.id} --scope {one.scope}, then sync"
    )


def _list(run: CommandContext) -> None:
    found = [(one, _seen_at(run.workspace, one)) for one in stores(run.workspace)]
    if run.out.as_json:
        run.out.json(
            [
                {
                    "name": one.name,
                    "store": one.id,
                    "scope": one.scope,
                    "seen": iso(time) if time else None,
                    "dream": one.dream.partition(" ")[0] or None,
                }
                for one, time in found
            ]
        )
        return
    for one, time in found:
        when = f"seen {day(time)}" if time else "not seen yet"
        dream = f", a dream goes on: git mem dream --store {one.name}" if one.dream else ""
        run.out.data(f"{one.name}  {one.scope}  {one.id}  {when}{dream}")
    if not found:
        run.out.say("no store; add one: git mem remote add NAME --store ID")


def _seen_at(workspace: Workspace, one: HostedStore) -> int:
    return last_seen(workspace.scope(one.scope).repo, store_ref(workspace, one)).time


def sync_store(run: CommandContext, store: HostedStore, *, pull: bool, push: bool, dry_run: bool) -> None:
    """Brings a scope and a store together, and says what came of it.

    Raises:
        CheckFailed: a memory was held back since nobody agreed.
    """
    with store_client(run.workspace, run.edges) as client, Progress(quiet=run.out.silent) as progress:

        def ask(leaves: tuple[Leaving, ...]) -> bool:
            progress.clear()
            to = f"{store.name} ({store.id})"
            return run.out.agrees(leaves, f"Send {counted(len(leaves), 'memory')} to {to}?")

        options = StoreOptions(ask, PushPatience(), pull, push, dry_run, progress)
        done = exchange_with(run.workspace, run.edges, store, client, options)
    if run.out.as_json:
        run.out.json(_value(done, dry_run))
    _show(run, done, dry_run)
    if done.held:
        names = ", ".join(map(str, done.held))
        raise CheckFailed(f"Held back: {names}", f"Look at them, and say yes: git mem sync {store.name} -y")


def _show(run: CommandContext, done: Exchanged, dry_run: bool) -> None:
    out, name = run.out, done.store.name
    for path, why in done.kept_out.items():
        out.warn(f"not taken from {name}: {one_line(path, WIDTH)} {why}; it stays there as it is")
    for path, why in done.kept_back.items():
        out.warn(f"not sent to {name}: {one_line(path, WIDTH)} {why}")
    for path, why in done.passed.items():
        out.warn(f"has no place here: {one_line(path, WIDTH)} {why}")
    if done.restored:
        them = ", ".join(done.restored[:5]) + (", …" if len(done.restored) > 5 else "")
        out.warn(
            f"{counted(len(done.restored), 'memory')} vanished from {name} at once, too many to be meant; "
            f"{'would be ' if dry_run else ''}put back: {them}. To delete one: git mem forget NAME"
        )
    for path, text in done.buried:
        out.warn(f"stays forgotten: {path}: {text.splitlines()[0] if text else ''}")
    for one in done.doubts:
        out.warn(doubt_told(one, "leaves"))
    if out.as_json:
        return
    for path in done.split:
        out.say(f"  two memories wanted one file; one is now {path}")
    for path in done.deleted:
        out.say(f"  deleted here, as it was there: {path}")
    for path in done.removed:
        out.say(f"  deleted there, as it was here: {path}")
    for memory in done.leaves if dry_run else ():
        out.data(f"  would leave for the first time: {memory}")
    out.data(
        f"{'would sync ' if dry_run else ''}{name}: {len(done.fetched)} fetched, {len(done.both)} merged, "
        f"{len(done.deleted)} deleted here; {len(done.sent)} sent, {len(done.removed)} deleted there"
    )
    if done.before and not dry_run:
        out.say(f"undo: git mem restore --all --scope {done.store.scope} --at {done.before[:12]}")


def _value(done: Exchanged, dry_run: bool) -> dict[str, Any]:
    def leaving(found: tuple[Leaving, ...]) -> list[dict[str, str]]:
        return [{"agent": one.agent, "name": one.name, "path": one.path} for one in found]

    def told(found: Any) -> list[dict[str, str]]:
        return [{"path": sound(path), "why": why} for path, why in found.items()]

    store = asdict(done.store)
    return {
        "remote": store["name"],
        "store": store["id"],
        "scope": store["scope"],
        "dry_run": dry_run,
        "fetched": list(done.fetched),
        "merged": list(done.both),
        "deleted_here": list(done.deleted),
        "sent": list(done.sent),
        "deleted_there": list(done.removed),
        "leaves": leaving(done.leaves),
        "held": leaving(done.held),
        "not_taken": told(done.kept_out),
        "not_sent": told(done.kept_back),
        "no_place": told(done.passed),
        "put_back": list(done.restored),
        "doubts": [{"path": one.path, "rule": one.rule} for one in done.doubts],
        "buried": [{"path": path, "text": text} for path, text in done.buried],
        "split": list(done.split),
        "lost_races": done.lost,
    }
