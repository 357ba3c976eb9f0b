"""`git mem undo`: take a change back, as a new commit."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import Context, DryRun, Json, ScopeOption, context
from gitmem.cli.words import day, sound
from gitmem.core.errors import CheckFailed, UsageError
from gitmem.core.text import one_line
from gitmem.core.trailers import parse
from gitmem.dream.kept_aside import reopen
from gitmem.integrations.edges import allowed_fingerprints
from gitmem.integrations.saving import save_all
from gitmem.store.commits import read_tip
from gitmem.store.history import revision
from gitmem.store.lookup import chosen_scopes
from gitmem.store.travel import Undoing, newest_undoable, other_half, plan_undo, take_back
from gitmem.store.unshared import is_kept
from gitmem.store.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(undo)


def undo(
    ctx: typer.Context,
    commit: Annotated[
        str | None,
        typer.Argument(metavar="[COMMIT]", help="A commit from git mem log.", show_default=False),
    ] = None,
    scope: ScopeOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Takes the newest change back, as a new commit; run again, it goes one further back.

    What was learned since stays: the change is taken out by a merge. An undo can itself be undone by naming
    its commit. What `init` adopted, what was purged, and merges with other clones are left alone.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    # Chosen before live edits are saved: they are newer than what the person has in mind.
    found = _named(workspace, commit, scope) if commit else _newest(run, workspace, scope)
    made, reopened = "", None
    if not dry_run:
        save_all(workspace, run.edges)
        who = workspace.author(run.edges.now)
        allow = allowed_fingerprints(workspace)
        written = take_back(found.scope, found.target, who, workspace.code_head(), allow)
        if written is None:
            raise _nothing_left(found)
        made = written.commit
        half = other_half(workspace.scopes, found)
        if half is not None:
            take_back(half.scope, half.target, who, workspace.code_head(), allow)
        reopened = reopen(found.scope, found.target) if parse(found.target.message).reviewed else None
        save_all(workspace, run.edges)
    if run.out.as_json:
        run.out.json(
            {
                "scope": found.scope.name,
                "undid": found.target.oid,
                "subject": sound(found.target.subject),
                "commit": made,
                "paths": sorted(map(sound, found.edits)),
            }
        )
        return
    target = found.target
    done = "would undo" if dry_run else "undid"
    told = one_line(f"{target.subject} ({found.scope.name}, {day(target.author.time)})", 160)
    run.out.data(f"{done} {target.oid[:12]} {told}")
    for path, _ in found.buried:
        run.out.say(f"stays forgotten: {found.scope.name}/{path}")
    if reopened is not None:
        how = (
            f"{reopened.id} waits again: git mem review show {reopened.id}"
            if reopened.how == "open"
            else f"{reopened.id} itself does not come back; git mem dream --force proposes what still fits"
        )
        run.out.say(how)
    if made:
        run.out.say(f"undo: git mem undo {made[:12]}")


def _named(workspace: Workspace, commit: str, scope: str | None) -> Undoing:
    for where in chosen_scopes(workspace, scope):
        oid = revision(where, commit)
        if oid is None:
            continue
        tip = read_tip(where.repo, where.ref)
        if not (where.repo.is_ancestor(oid, tip.commit) or is_kept(where.repo, oid)):
            raise UsageError(f"{commit} is not on {where.ref}", "See what is: git mem log")
        found = plan_undo(where, tip, where.repo.commit(oid))
        if not found.edits:
            raise _nothing_left(found)
        return found
    raise UsageError(f"{commit!r} is no commit of the memory", "See them: git mem log")


def _newest(run: Context, workspace: Workspace, scope: str | None) -> Undoing:
    me = workspace.author(run.edges.now)
    found = []
    for where in chosen_scopes(workspace, scope):
        # Shared memory holds what teammates taught: that is not undone by the way.
        shared = where.name == "project" and workspace.sharing != "off"
        newest = newest_undoable(where, (lambda who: who.email == me.email) if shared else None)
        if newest is not None:
            found.append(newest)
    if not found:
        raise CheckFailed("There is nothing to undo", "To undo a certain change: git mem undo COMMIT")
    return max(found, key=lambda each: each.target.committer.time)


def _nothing_left(found: Undoing) -> CheckFailed:
    return CheckFailed(f"Nothing of {found.target.oid[:12]} is left to undo: later changes took its place")
