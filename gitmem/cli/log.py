"""`git mem log`: what was learned, when and from whom."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Annotated

import typer

from gitmem.cli.completing import memory_names
from gitmem.cli.context import AgentOption, Context, Json, ScopeOption, context
from gitmem.cli.words import day, iso, sound
from gitmem.errors import UsageError
from gitmem.guard.text import one_line
from gitmem.store.commits import memory_commit
from gitmem.store.gone import places
from gitmem.store.log import LogEntry, entries, entries_of, fates, homes
from gitmem.store.lookup import Ambiguous, chosen_agent, chosen_scopes, find
from gitmem.store.workspace import Scope, Workspace

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
            autocompletion=memory_names,
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
    workspace = run.workspace
    found = islice(_all(workspace, name, scope, agent), max_count)
    if run.out.as_json:
        run.out.json([as_value(where, entry) for where, entry in found])
        return
    empty = True
    for where, entry in found:
        empty = False
        _print(run, where, entry)
    if empty and max_count != 0:
        run.out.say("nothing was learned here yet")


def as_value(scope: Scope, entry: LogEntry) -> dict[str, object]:
    """One commit for `--json`; empty strings where a trailer is missing."""
    told = entry.provenance
    return {
        "commit": entry.commit,
        "scope": scope.name,
        "time": iso(entry.time),
        "author": sound(entry.author),
        "op": told.op,
        "writer": told.writer,
        "engine": sound(told.engine),
        "session": sound(told.session),
        "code_commit": sound(told.code_commit),
        "undoes": sound(told.undoes),
        "subject": sound(entry.subject),
        "paths": [sound(path) for path in entry.paths],
        "claims": fates(told),
    }


def _all(
    workspace: Workspace, name: str | None, scope: str | None, agent: str | None
) -> Iterator[tuple[Scope, LogEntry]]:
    if name is not None:
        streams = _named(workspace, name, scope, agent)
    else:
        folder = chosen_agent(agent)
        streams = [
            _with(where, entries(where.repo, tip, (folder,) if folder else ()))
            for where, tip in _tips(workspace, scope)
        ]
    return heapq.merge(*streams, key=lambda pair: -pair[1].time)


def _named(
    workspace: Workspace, name: str, scope: str | None, agent: str | None
) -> list[Iterator[tuple[Scope, LogEntry]]]:
    """The log of a memory, wherever its file stood; a deleted one is known by its file."""
    try:
        found = find(workspace, name, scope, agent)
    except Ambiguous:
        raise
    except UsageError as error:
        gone = _deleted(workspace, name, scope, agent)
        if not gone:
            raise error from None
        return gone
    where = workspace.scope(found.scope)
    return [_with(where, entries_of(where.repo, found.commit, homes(found.path)))]


def _deleted(
    workspace: Workspace, name: str, scope: str | None, agent: str | None
) -> list[Iterator[tuple[Scope, LogEntry]]]:
    streams = []
    for where, tip, paths in places(workspace, name, scope, agent):
        log = entries_of(where.repo, tip, paths)
        newest = next(log, None)
        if newest is not None:
            streams.append(_with(where, chain([newest], log)))
    return streams


def _tips(workspace: Workspace, scope: str | None) -> Iterator[tuple[Scope, str]]:
    for where in chosen_scopes(workspace, scope):
        tip = memory_commit(where.repo, where.ref)
        if tip is not None:
            yield where, tip


def _with(scope: Scope, log: Iterable[LogEntry]) -> Iterator[tuple[Scope, LogEntry]]:
    return ((scope, entry) for entry in log)


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
