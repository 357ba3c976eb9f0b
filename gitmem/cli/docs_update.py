"""`git mem docs update`: proposes, now, what makes living documents true again."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitmem.cli.context import Context, DryRun, Json, Quiet, context
from gitmem.cli.words import sound
from gitmem.core.errors import EngineError, UsageError
from gitmem.core.text import counted

if TYPE_CHECKING:
    from gitmem.flows.documents.planned import Told, Updated


def update(
    ctx: typer.Context,
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PATH]...", help="Only these documents; all unless given."),
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Who is asked, in place of gitmem.engine.", show_default=False)
    ] = "",
    dry_run: DryRun = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Proposes what makes living documents true, as commits on gitmem/docs; your work tree stays as it is.

    What was turned down is proposed again only for a document that is named.
    """
    from gitmem.flows.documents.planned import Request
    from gitmem.flows.documents.update import update as carry_out
    from gitmem.flows.engines import engine_for

    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    named = tuple(_from_top(run, path) for path in paths or ()) or None
    done = carry_out(
        workspace,
        run.edges,
        lambda: engine_for(workspace, run.edges, engine),
        Request(named, all=named is None),
        dry_run=dry_run,
    )
    if run.out.as_json:
        run.out.json(_value(done, dry_run))
    else:
        _show(run, done, dry_run)
    failed = [one for one in done.plan.told if one.result == "failed"]
    if failed:
        raise EngineError(f"{counted(len(failed), 'document')} could not be looked at: {failed[0].why}")


def _from_top(run: Context, path: str) -> str:
    """A path as a person gives it, from the top of the work tree."""
    top = run.workspace.layout.worktree or run.edges.cwd
    found = os.path.relpath(os.path.normpath(run.edges.cwd / path), os.path.realpath(top))
    if found == os.pardir or found.startswith(f"{os.pardir}{os.sep}"):
        raise UsageError(f"{path} is outside of this work tree")
    return found.replace(os.sep, "/")


def _show(run: Context, done: Updated, dry_run: bool) -> None:
    from gitmem.flows.documents.review import difference

    out, plan = run.out, done.plan
    if plan.left:
        out.data(f"gitmem/docs is left alone: {plan.left}")
    for told in plan.told:
        out.data(_line(told))
        for note in told.notes:
            out.say(f"  {note}")
        if dry_run and told.after != told.before:
            for line in difference(told.path, told.before, told.after):
                out.data(line)
    if not plan.told and not plan.left:
        out.say("there is no living document here; one begins with a line `# MAGIC DOC: TITLE`")
    if dry_run:
        return
    if plan.outcome == "deleted":
        out.say("gitmem/docs is deleted: nothing is proposed any more")
        out.say(f"undo: git branch gitmem/docs {done.before[:12]}")
    elif plan.outcome == "proposed":
        ids = [one.id for one in plan.changes]
        out.say(f"look: git mem review show {ids[0]}; take all of it: git merge gitmem/docs")
        one = f"git mem review reject {ids[0]}" if len(ids) == 1 else "git mem review reject ID"
        out.say(f"undo: git branch -D gitmem/docs, or {one}")


def _line(told: Told) -> str:
    what = counted(len(told.stale), "statement")
    words = {
        "proposed": f"a change is proposed ({told.id})",
        "kept": f"the change that is proposed stands ({told.id})",
        "true": "says nothing that is known not to hold",
        "open": f"{what} no longer true, and no change is known that mends it: git mem docs check",
        "rejected": f"the change was turned down; propose it again: git mem docs update {told.path}",
        "refused": f"nothing is proposed: {told.why}",
        "failed": f"could not be looked at: {told.why}",
    }
    return f"{told.path}: {words[told.result]}"


def _value(done: Updated, dry_run: bool) -> dict[str, Any]:
    plan = done.plan
    return {
        "dry_run": dry_run,
        "outcome": plan.outcome,
        "branch": "gitmem/docs",
        "commit": done.tip or None,
        "before": done.before or None,
        "base": plan.place.head,
        "engine": sound(plan.engine) or None,
        "left_alone": sound(plan.left) or None,
        "documents": [_told_value(told) for told in plan.told],
    }


def _told_value(told: Told) -> dict[str, Any]:
    from gitmem.flows.documents.review import difference

    return {
        "path": sound(told.path),
        "result": told.result,
        "id": told.id or None,
        "why": sound(told.why) or None,
        "stale": [
            {
                "line": one.line,
                "name": sound(one.name),
                "kind": one.kind,
                "became": sound(one.became) or None,
                "evidence": sound(one.evidence),
            }
            for one in told.stale
        ],
        "notes": list(map(sound, told.notes)),
        "diff": list(map(sound, difference(told.path, told.before, told.after))),
    }
