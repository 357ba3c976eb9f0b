"""`git mem log`: what was learned, when and from whom."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, Context, Json, ScopeOption, context
from gitmem.cli.words import day, iso, sound
from gitmem.errors import UsageError
from gitmem.guard.text import one_line
from gitmem.memory.names import archive_path
from gitmem.store.history import LogEntry, entries, fates
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
        typer.Argument(metavar="[NAME]", help="Only what changed this memory.", show_default=False),
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
    found = islice(_all(workspace, _name_filter(workspace, name, scope, agent), scope, agent), max_count)
    if run.out.as_json:
        run.out.json([as_value(where, entry) for where, entry in found])
        return
    empty = True
    for where, entry in found:
        empty = False
        _print(run, where, entry)
    if empty:
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
    workspace: Workspace,
    named: Callable[[str, str], bool] | None,
    scope: str | None,
    agent: str | None,
) -> Iterator[tuple[Scope, LogEntry]]:
    folder = chosen_agent(agent)
    streams = []
    for where in chosen_scopes(workspace, scope):
        tip = where.repo.ref(where.ref)
        if tip is not None:
            streams.append(_of(where, tip, named, folder))
    return heapq.merge(*streams, key=lambda pair: -pair[1].time)


def _of(
    scope: Scope, tip: str, named: Callable[[str, str], bool] | None, folder: str | None
) -> Iterator[tuple[Scope, LogEntry]]:
    def wanted(path: str) -> bool:
        return (folder is None or path.startswith(f"{folder}/")) and (
            named is None or named(scope.name, path)
        )

    narrowed = wanted if named is not None or folder is not None else None
    for entry in entries(scope.repo, tip, narrowed):
        yield scope, entry


def _name_filter(
    workspace: Workspace, name: str | None, scope: str | None, agent: str | None
) -> Callable[[str, str], bool] | None:
    """Which (scope, path) are a memory's, wherever its file stood; a deleted one is known by its file."""
    if name is None:
        return None
    try:
        found = find(workspace, name, scope, agent)
    except Ambiguous:
        raise
    except UsageError:
        file = f"{name.rpartition('/')[2].removesuffix('.md')}.md"
        if not _ever(workspace, scope, file):
            raise
        return lambda _, path: PurePosixPath(path).name == file
    file = PurePosixPath(found.file).name
    paths = {f"{found.agent}/{file}", f"{found.agent}/{archive_path(file)}"}
    return lambda where, path: where == found.scope and path in paths


def _ever(workspace: Workspace, scope: str | None, file: str) -> bool:
    for where in chosen_scopes(workspace, scope):
        tip = where.repo.ref(where.ref)
        if tip and any(entries(where.repo, tip, lambda path: PurePosixPath(path).name == file)):
            return True
    return False


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
