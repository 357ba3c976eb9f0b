"""`git mem log`: what was learned, when and from whom."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from gitmem.cli.completing import names
from gitmem.cli.context import AgentOption, Context, Json, ScopeOption, context
from gitmem.cli.words import day
from gitmem.core.text import one_line
from gitmem.flows.values import entry_value
from gitmem.ledger.log import LogEntry, fates, learned
from gitmem.ledger.workspace import Scope

SUBJECT_WIDTH = 100
SHORT = 12


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(log)


def log(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="Only what changed this memory.",
            autocompletion=names,
            show_default=False,
        ),
    ] = None,
    max_count: Annotated[
        int | None,
        typer.Option("--max-count", metavar="N", min=0, help="At most so many.", show_default=False),
    ] = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Shows what was learned, when and from whom, newest first, over all scopes.

    Each line names the commit, when it was taught, the scope and who wrote it: a person (human), an agent,
    an extraction, a dream or a sync. What a dream did to claims is counted here; `git log` has it
    whole.
    """
    run = context(ctx, as_json=as_json)
    found = islice(learned(run.workspace, name, scope, agent), max_count)
    if run.out.as_json:
        run.out.json([entry_value(where.name, entry) for where, entry in found])
        return
    empty = True
    for where, entry in found:
        empty = False
        _print(run, where, entry)
    if empty and max_count != 0:
        run.out.say("nothing was learned here yet")


def _print(run: Context, scope: Scope, entry: LogEntry) -> None:
    out, told = run.out, entry.provenance
    by = told.writer + (f" ({told.engine})" if told.engine else "")
    head = f"{out.paint(entry.commit[:SHORT], 'yellow')} {day(entry.time)}  {scope.name:7}"
    who = one_line(f"{entry.author.partition(' <')[0]}, {by}", 60)
    out.data(f"{head}  {who}  {one_line(entry.subject, SUBJECT_WIDTH)}")
    if told.session:
        out.data(f"    session {one_line(told.session, 80)}")
    if told.claims:
        counts = ", ".join(f"{number} {kind}" for kind, number in fates(told).items())
        out.data(f"    claims: {counts}")
