"""`git mem docs`: list, check and keep true this repository's living documents."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import DryRun, Json, Quiet
from gitmem.cli.output import Output, sound
from gitmem.core.errors import EngineError, UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.json_values import difference

if TYPE_CHECKING:
    from gitmem.engines.engine import Stale
    from gitmem.flows.document_check import Checked
    from gitmem.flows.documents import DocumentResult, Update

WIDTH = 400
"""Terminal cells of one line."""

Revision = Annotated[
    str, typer.Option("--at", metavar="REV", help="As of that commit; HEAD otherwise.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Adds the verb and its words."""
    app.callback(invoke_without_command=True)(docs)
    app.command(name="list")(list_)
    app.command()(check)
    app.command()(update)


def docs(ctx: typer.Context, as_json: Json = False) -> None:
    """Lists living documents, checks them against the code, and proposes what makes them true.

    Alone it lists them.
    """
    if ctx.invoked_subcommand is None:
        list_(ctx, as_json=as_json)


def list_(ctx: typer.Context, at: Revision = "", as_json: Json = False) -> None:
    """Lists living documents: files whose first line is `# MAGIC DOC: <title>`."""
    from gitmem.flows.document_check import code_files, documents

    run = context(ctx, as_json=as_json)
    with closing(code_files(run.edges)) as files:
        found = documents(files, at or "HEAD")
    if run.out.as_json:
        run.out.json(
            [
                {
                    "path": sound(doc.path),
                    "title": sound(doc.title),
                    "instructions": sound(doc.instructions),
                    "statements": len(doc.statements),
                }
                for doc in found
            ]
        )
        return
    for doc in found:
        names_ = counted(len(doc.statements), "name")
        run.out.data(f"{one_line(doc.path, WIDTH)}  {names_:>10}  {one_line(doc.title, WIDTH)}")
    if found:
        run.out.say("what of them no longer holds: git mem docs check")
    else:
        run.out.say("no living document here: begin one with the line `# MAGIC DOC: <title>`")


def check(
    ctx: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH...", help="Only these documents.", show_default=False),
    ] = None,
    at: Revision = "",
    staged: Annotated[bool, typer.Option("--staged", help="What is staged, before a commit.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="List also what the code never had, as far as is known.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Lists what living documents say that no longer holds, and what became of it; then exits 1.

    Told is what the code had when the document said so, and has no longer: files, folders, symbols, flags,
    commands, links. Needs no `init`, writes nothing, and asks no model.
    """
    from gitmem.flows.document_check import checked_here

    run = context(ctx, as_json=as_json, quiet=quiet)
    if staged and at:
        raise UsageError("--staged and --at do not go together")
    found = checked_here(run.edges, at or "HEAD", paths or (), staged=staged)
    failed = any(one.stale or (strict and one.untold) for one in found)
    if run.out.as_json:
        run.out.json({"ok": not failed, "documents": [_checked(one, strict) for one in found]})
    else:
        for one in found:
            _print(run.out, one, strict)
        stale = sum(len(one.stale) for one in found)
        known = (
            "nothing is known not to hold" if any(one.note for one in found) else "all that they say holds"
        )
        said = f"{counted(stale, 'statement')} no longer true" if stale else known
        run.out.say(
            f"{counted(len(found), 'living document')}: {said}" if found else "no living document here"
        )
    for one in found:
        if one.note:
            run.out.warn(one.note)
    if failed:
        raise typer.Exit(1)


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

    What was rejected is proposed again only for a document that is named.
    """
    from gitmem.flows.documents import update as carry_out
    from gitmem.flows.engines import engine_for

    run = context(ctx, as_json=as_json, quiet=quiet)
    workspace = run.workspace
    named = tuple(run.edges.from_top(workspace.layout.worktree, path) for path in paths or ()) or None
    done = carry_out(
        workspace,
        run.edges,
        lambda: engine_for(workspace, run.edges, engine),
        named,
        all=named is None,
        dry_run=dry_run,
    )
    if run.out.as_json:
        run.out.json(_updated(done, dry_run))
    else:
        _show(run, done, dry_run)
    failed = [one for one in done.told if one.result == "failed"]
    if failed:
        raise EngineError(f"{counted(len(failed), 'document')} could not be looked at: {failed[0].why}")


def _print(out: Output, one: Checked, strict: bool) -> None:
    rows = sorted((*one.stale, *(one.untold if strict else ())), key=lambda stale: stale.line)
    path = one_line(one.doc.path, WIDTH)
    # A log of CI obeys a line that begins with two colons.
    path = f"./{path}" if path.startswith((":", "#")) else path
    for row in rows:
        was = "not there" if one.note else "never there"
        word = row.kind if row in one.stale else f"{row.kind} ({was})"
        line = f"{path}:{row.line}: {out.paint(word, 'red')}: {one_line(row.evidence, WIDTH)}"
        out.data(f"{line}: write `{one_line(row.became, WIDTH)}`" if row.became else line)


def _checked(one: Checked, strict: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "path": sound(one.doc.path),
        "title": sound(one.doc.title),
        "since": one.since,
        "stale": [_row(row) for row in one.stale],
        "note": sound(one.note),
    }
    return value | ({"never": [_row(row) for row in one.untold]} if strict else {})


def _row(row: Stale) -> dict[str, Any]:
    return {name: sound(value) if isinstance(value, str) else value for name, value in asdict(row).items()}


def _show(run: CommandContext, plan: Update, dry_run: bool) -> None:
    out = run.out
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
        out.say(f"undo: git branch gitmem/docs {plan.before[:12]}")
    elif plan.outcome == "proposed":
        ids = [one.id for one in plan.changes]
        out.say(f"look: git mem review show {ids[0]}; take all of it: git merge gitmem/docs")
        one = f"git mem review reject {ids[0]}" if len(ids) == 1 else "git mem review reject ID"
        out.say(f"undo: git branch -D gitmem/docs, or {one}")


def _line(told: DocumentResult) -> str:
    what = counted(len(told.stale), "statement")
    words = {
        "proposed": f"a change is proposed ({told.id})",
        "kept": f"the change that is proposed stands ({told.id})",
        "true": "says nothing that is known not to hold",
        "open": f"{what} no longer true, and no change is known that mends it: git mem docs check",
        "rejected": f"the change was rejected; propose it again: git mem docs update {told.path}",
        "refused": f"nothing is proposed: {told.why}",
        "failed": f"could not be looked at: {told.why}",
    }
    return f"{told.path}: {words[told.result]}"


def _updated(plan: Update, dry_run: bool) -> dict[str, Any]:
    return {
        "dry_run": dry_run,
        "outcome": plan.outcome,
        "branch": "gitmem/docs",
        "commit": plan.tip or None,
        "before": plan.before or None,
        "base": plan.head,
        "engine": sound(plan.engine) or None,
        "left_alone": sound(plan.left) or None,
        "documents": [_told_value(told) for told in plan.told],
    }


def _told_value(told: DocumentResult) -> dict[str, Any]:
    return {
        "path": sound(told.path),
        "result": told.result,
        "id": told.id or None,
        "why": sound(told.why) or None,
        "stale": [_row(one) | {"became": sound(one.became) or None} for one in told.stale],
        "notes": list(map(sound, told.notes)),
        "diff": list(map(sound, difference(told.path, told.before, told.after))),
    }
