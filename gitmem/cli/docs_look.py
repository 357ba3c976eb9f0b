"""`git mem docs list|check`: the living documents here, and what of them no longer holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gitmem.cli.context import Json, Quiet, context
from gitmem.cli.output import Output
from gitmem.cli.words import sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted, one_line
from gitmem.docs.check import Checked
from gitmem.engines.engine import Stale
from gitmem.flows.documents.here import checked_here, documents_here

WIDTH = 400
"""Terminal cells of one line."""

Revision = Annotated[
    str, typer.Option("--at", metavar="REV", help="As of that commit; HEAD otherwise.", show_default=False)
]


def register(app: typer.Typer) -> None:
    """Adds the words that only look."""
    app.command(name="list")(list_)
    app.command()(check)


def list_(ctx: typer.Context, at: Revision = "", as_json: Json = False) -> None:
    """Lists living documents: files whose first line is `# MAGIC DOC: <title>`."""
    run = context(ctx, as_json=as_json)
    found = documents_here(run.edges, at)
    if run.out.as_json:
        rows = [(doc.path, doc.title, doc.instructions, len(doc.statements)) for doc in found]
        names = ("path", "title", "instructions", "statements")
        run.out.json(
            [
                {name: sound(v) if isinstance(v, str) else v for name, v in zip(names, row, strict=True)}
                for row in rows
            ]
        )
        return
    for doc in found:
        names_ = counted(len(doc.statements), "name")
        run.out.data(f"{one_line(doc.path, WIDTH)}  {names_:>10}  {one_line(doc.title, WIDTH)}")
    if not found:
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
    run = context(ctx, as_json=as_json, quiet=quiet)
    if staged and at:
        raise UsageError("--staged and --at do not go together")
    found = checked_here(run.edges, at, paths or (), staged=staged)
    failed = any(one.stale or (strict and one.untold) for one in found)
    if run.out.as_json:
        run.out.json({"ok": not failed, "documents": [_value(one, strict) for one in found]})
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


def _value(one: Checked, strict: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "path": sound(one.doc.path),
        "title": sound(one.doc.title),
        "since": one.since,
        "stale": [_row(row) for row in one.stale],
        "note": sound(one.note),
    }
    return value | ({"never": [_row(row) for row in one.untold]} if strict else {})


def _row(row: Stale) -> dict[str, Any]:
    return {
        "line": row.line,
        "kind": row.kind,
        "name": sound(row.name),
        "became": sound(row.became),
        "evidence": sound(row.evidence),
    }
