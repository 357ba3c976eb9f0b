"""`git mem import`: memories of other tools, as something to review."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import typer

from gitmem.cli.context import context
from gitmem.cli.options import DryRun, Json, Quiet, ScopeOption
from gitmem.cli.output import iso, sound
from gitmem.core.errors import UsageError
from gitmem.core.text import counted, one_line
from gitmem.flows.imports.formats import FORMATS
from gitmem.flows.imports.run import ImportReport, bring, scope_named
from gitmem.flows.imports.source import open_source, piped
from gitmem.ledger.imports import ImportRow

WIDTH = 160
SHOWN = 10
"""Lines of a kind that are shown; --json has all."""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(import_memories)


def _formats(incomplete: str) -> list[str]:
    return [one.name for one in FORMATS if one.name.startswith(incomplete)]


def import_memories(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A file, folder or zip archive; - for what is piped.")
    ] = "",
    format: Annotated[
        str,
        typer.Option(
            "--format",
            help="What it is, where that is not seen.",
            show_default=False,
            autocompletion=_formats,
        ),
    ] = "",
    project: Annotated[
        str,
        typer.Option(
            "--project",
            metavar="NAME",
            help="Of a store of several projects, the records of this one; * for all.",
            show_default="this folder's name",
        ),
    ] = "",
    formats: Annotated[bool, typer.Option("--formats", help="List what can be read.")] = False,
    scope: ScopeOption = None,
    dry_run: DryRun = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Brings memories of other tools in, as one proposal for git mem review; nothing lands by itself.

    Each memory is a commit with the time at which it was written and the id that it has in its source. What
    memory says already is left out, what was forgotten stays so, secrets are named and stay where they are;
    a second import of the same brings nothing.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    if formats:
        if run.out.as_json:
            run.out.json([{"name": one.name, "what": one.what} for one in FORMATS])
            return
        for one in FORMATS:
            run.out.data(f"{one.name:14} {one.what}")
        return
    if not source:
        raise UsageError(
            "There is nothing to import", "Name it: git mem import SOURCE (what can be: --formats)"
        )
    given = piped(sys.stdin.buffer) if source == "-" else open_source(run.edges.path(source))
    top = run.workspace.layout.worktree
    wanted = project or (top.name if top else "")
    given = replace(given, name=source, project="" if wanted == "*" else wanted)
    report = bring(run.workspace, run.edges, given, format, scope_named(scope or "local"), dry_run=dry_run)
    if run.out.as_json:
        run.out.json(_value(report))
        return
    _show(report, run.out.data, run.out.say, dry_run=dry_run)


def _show(report: ImportReport, data: Any, say: Any, *, dry_run: bool) -> None:
    verb = "would propose" if dry_run else "proposed"
    for row in report.rows[:SHOWN]:
        data(one_line(f"{verb} {report.scope}/{sound(row.path)}: {sound(row.subject)}", WIDTH))
    if len(report.rows) > SHOWN:
        data(f"… and {len(report.rows) - SHOWN} more")
    for found in report.refused[:SHOWN]:
        data(
            one_line(
                f"refused: {sound(found.path)} {found.message}: {sound(found.text)}".rstrip(": "), WIDTH
            )
        )
    if len(report.refused) > SHOWN:
        data(f"… and {len(report.refused) - SHOWN} more refused")
    for name in report.forgotten[:SHOWN]:
        data(one_line(f"stays forgotten: {sound(name)}", WIDTH))
    for why, names in _reasons(report.skipped).items():
        listed = ", ".join(map(sound, names[:3])) + (
            f" and {len(names) - 3} more" if len(names) > 3 else ""
        )
        data(one_line(f"left out: {listed}: {sound(why)}", WIDTH))
    say(f"{report.format.name}: {_counts(report)}")
    for (field, to), number in sorted(report.fields.items()):
        say(f"  {sound(field):20} {to:24} {number}")
    if report.waits:
        id = report.waits.id
        say(f"look: git mem review show {id}; take all: git mem review accept {id}")
    elif not report.rows:
        say("nothing in it is new")


def _counts(report: ImportReport) -> str:
    parts = [f"{counted(report.found, 'memory')} found", f"{len(report.rows)} new", f"{report.known} known"]
    changed = sum(row.before is not None for row in report.rows)
    for number, what in ((changed, "changed since"), (len(report.forgotten), "forgotten"),
                         (len(report.refused), "refused"), (len(report.skipped), "left out")):  # fmt: skip
        if number:
            parts.append(f"{number} {what}")
    return ", ".join(parts)


def _reasons(skipped: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, why in sorted(skipped.items()):
        found.setdefault(why, []).append(name)
    return found


def _value(report: ImportReport) -> dict[str, Any]:
    return {
        "format": report.format.name,
        "scope": report.scope,
        "id": report.waits.id if report.waits else None,
        "found": report.found,
        "known": report.known,
        "new": [_row(row) for row in report.rows],
        "forgotten": list(report.forgotten),
        "refused": [
            {"path": one.path, "rule": one.rule, "message": one.message, "text": one.text}
            for one in report.refused
        ],
        "warnings": [{"path": one.path, "rule": one.rule} for one in report.warned],
        "left_out": [{"name": name, "reason": why} for name, why in sorted(report.skipped.items())],
        "fields": [
            {"field": field, "becomes": to, "count": number}
            for (field, to), number in sorted(report.fields.items())
        ],
    }


def _row(row: ImportRow) -> dict[str, Any]:
    return {
        "path": row.path,
        "name": row.name,
        "description": row.subject,
        "source": row.source,
        "time": iso(row.time) if row.time is not None else None,
        "changed": row.before is not None,
    }
