"""`git mem log`: what was learned, when and from whom."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Annotated, Any

import typer
import typer.core

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, Json, ScopeOption, names
from gitmem.cli.output import day
from gitmem.core.text import one_line
from gitmem.flows.json_values import entry_value
from gitmem.ledger import moments
from gitmem.ledger.log import LogEntry, fates, log_entries
from gitmem.ledger.signatures import SignatureVerdict, trusts, verdicts
from gitmem.ledger.workspace import Scope

SUBJECT_WIDTH = 100
SHORT = 12
AT_ONCE = 50
"""Commits whose signatures are looked at together: what is read first comes first."""


class LogCommand(typer.core.TyperCommand):
    """Reads `-5` as `-n 5`, as git does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What is left of the words of the command."""
        words = [
            f"--max-count={word[1:]}" if before != "-n" and re.fullmatch(r"-\d+", word) else word
            for before, word in zip(["", *args], args, strict=False)
        ]
        return super().parse_args(ctx, words)


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(cls=LogCommand)(log)


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
        typer.Option(
            "--max-count",
            "-n",
            metavar="N",
            min=0,
            help="At most so many; -5, too.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str,
        typer.Option("--since", metavar="DATE", help="Only what was taught since.", show_default=False),
    ] = "",
    oneline: Annotated[bool, typer.Option("--oneline", help="A line each: commit and subject.")] = False,
    with_merges: Annotated[
        bool, typer.Option("--with-merges", help="Also merges of what others learned.")
    ] = False,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Shows what was learned, when and from whom, newest first, over all scopes.

    Each line names the commit, when it was taught, the scope and who wrote it: a person (human), an agent,
    an extraction, a dream or a sync. What a dream did to claims is counted here; `git log` has it
    whole.
    """
    run = context(ctx, as_json=as_json, pages=True)
    begin = moments.since(run.workspace.git, since, run.edges.now)
    all_of_it = log_entries(run.workspace, name, scope, agent, merges=with_merges)
    found = islice((pair for pair in all_of_it if pair[1].time >= begin), max_count)
    proved = _proved(run, found)
    if run.out.as_json:
        run.out.json([entry_value(where.name, entry, signed) for where, entry, signed in proved])
        return
    empty = True
    for where, entry, signed in proved:
        empty = False
        if oneline:
            head = run.out.paint(entry.commit[:SHORT], "yellow")
            run.out.data(f"{head} {one_line(entry.subject, SUBJECT_WIDTH)}")
        else:
            _print(run, where, entry, signed)
    if empty and max_count != 0:
        run.out.say(f"nothing was learned here {f'since {since}' if since else 'yet'}")


def _proved(
    run: CommandContext, found: Iterable[tuple[Scope, LogEntry]]
) -> Iterator[tuple[Scope, LogEntry, SignatureVerdict | None]]:
    """The same, each with what is proved of it; nothing where signatures do not count."""
    if not trusts(run.workspace):
        yield from ((where, entry, None) for where, entry in found)
        return
    rest = iter(found)
    while some := list(islice(rest, AT_ONCE)):
        shared = [entry.commit for where, entry in some if where.name == "project"]
        signed = verdicts(run.workspace, shared)
        yield from ((where, entry, signed.get(entry.commit)) for where, entry in some)


def _print(run: CommandContext, scope: Scope, entry: LogEntry, signed: SignatureVerdict | None) -> None:
    out, told = run.out, entry.provenance
    head = f"{out.paint(entry.commit[:SHORT], 'yellow')} {day(entry.time)}  {scope.name:7}"
    who = one_line(f"{entry.author.partition(' <')[0]}, {told.by}", 60)
    out.data(f"{head}  {who}  {one_line(entry.subject, SUBJECT_WIDTH)}")
    if signed is not None:
        out.data(f"    {one_line(signed.words, 80)}")
    if told.session:
        out.data(f"    session {one_line(told.session, 80)}")
    if told.claims:
        counts = ", ".join(f"{number} {kind}" for kind, number in fates(told).items())
        out.data(f"    claims: {counts}")
