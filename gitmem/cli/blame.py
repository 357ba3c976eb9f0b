"""`git mem blame`: who taught each claim of a memory, and which memories say a thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Annotated

import typer

from gitmem.cli.completing import memory_names
from gitmem.cli.context import AgentOption, At, Context, Json, ScopeOption, context
from gitmem.cli.words import day, iso, sound
from gitmem.errors import UsageError
from gitmem.guard.text import one_line
from gitmem.memory.squash import Telling
from gitmem.store.blame import Blamed, blame_memory
from gitmem.store.code_time import Became, became
from gitmem.store.lookup import find
from gitmem.store.sayings import sayings
from gitmem.store.workspace import Scope, Workspace

SHORT = 12
WHO_WIDTH = 40
CLAIM_WIDTH = 80


@dataclass(frozen=True)
class Line:
    """One claim with its place: scope, agent's folder, and file inside it."""

    scope: Scope
    agent: str
    file: str
    blamed: Blamed


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(blame)


def blame(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A memory, as in git mem show.",
            autocompletion=memory_names,
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option("--text", metavar="TEXT", help="Or: every memory that says this.", show_default=False),
    ] = None,
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Shows for each claim of a memory the commit in which it was taught, when and by whom.

    A claim keeps its origin through merges, renames, paging, dreams, restores and re-wrapped lines. With
    --text, finds the memories of all scopes that say something, archived ones too, and shows for each the
    way from the claim to the session and the code commit that it came from.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    if (name is None) == (text is None):
        raise UsageError("Blame takes the name of a memory, or --text", "For example: git mem blame NAME")
    if text is not None:
        lines = list(_saying(run, workspace, text, at, scope, agent))
    else:
        found = find(workspace, name or "", scope, agent, at, run.edges.now)
        where = workspace.scope(found.scope)
        blamed = blame_memory(where.repo, found.commit, found.path)
        lines = [Line(where, found.agent, found.file, one) for one in blamed]
    code = became(workspace, (one.provenance.code_commit for one in _all_told(lines)))
    if run.out.as_json:
        run.out.json([as_value(line, code) for line in lines])
    elif not lines:
        run.out.say("no memory says this" if text is not None else "this memory is empty")
    elif text is not None:
        for line in lines:
            _print_hops(run, line, code)
    else:
        _print_lines(run, lines)


def as_value(line: Line, code: dict[str, Became]) -> dict[str, object]:
    """One claim for `--json`; empty strings where a trailer is missing.

    Args:
        code: what is known of the code commits that are named.
    """
    blamed = line.blamed
    return {
        "scope": line.scope.name,
        "agent": sound(line.agent),
        "file": sound(line.file),
        "claim": blamed.claim.short,
        "text": sound(blamed.claim.text),
        "description": blamed.description,
        "disputed": blamed.claim.dispute,
        "against": list(blamed.against),
        "origins": [
            {
                "commit": origin.commit,
                "path": sound(origin.path),
                "claim": origin.claim,
                "via": list(origin.via),
                "told": [_told_value(one, code) for one in origin.told],
            }
            for origin in blamed.origins
        ],
    }


def _told_value(one: Telling, code: dict[str, Became]) -> dict[str, object]:
    told = one.provenance
    known = code.get(told.code_commit)
    return {
        "subject": sound(one.subject),
        "author": sound(one.author),
        "time": iso(one.time) if one.time is not None else None,
        "op": told.op,
        "writer": told.writer,
        "engine": sound(told.engine),
        "session": sound(told.session),
        "messages": [sound(uuid) for uuid in told.messages or ()],
        "code_commit": sound(told.code_commit),
        "code_commit_now": known.oid if known else "",
        "code_subject": sound(known.subject) if known else "",
    }


def _saying(
    run: Context, workspace: Workspace, text: str, at: str | None, scope: str | None, agent: str | None
) -> Iterator[Line]:
    for said in sayings(workspace, text, scope, agent, at, run.edges.now):
        found = blame_memory(said.scope.repo, said.commit, f"{said.agent}/{said.file}", said.claims)
        # A description mostly repeats the body, which is where the thing was said.
        in_body = [one for one in found if not one.description]
        for one in in_body or found:
            yield Line(said.scope, said.agent, said.file, one)


def _all_told(lines: Iterable[Line]) -> Iterator[Telling]:
    for line in lines:
        for origin in line.blamed.origins:
            yield from origin.told


def _print_lines(run: Context, lines: list[Line]) -> None:
    """A line a claim; the session stands below, once for claims in a row that share it."""
    out = run.out
    heads = [_head(line.blamed) for line in lines]
    width = max(len(who) for _, _, who in heads)
    before = ""
    for line, (commit, when, who) in zip(lines, heads, strict=True):
        claim = one_line(line.blamed.claim.text, CLAIM_WIDTH)
        out.data(f"{out.paint(commit, 'yellow')} {when}  {who:{width}}  {claim}")
        notes = [*_sessions(line.blamed), *_notes(line.blamed)]
        told = "\n".join(notes)
        if told != before:
            for note in notes:
                out.data(f"    {note}")
        before = told


def _print_hops(run: Context, line: Line, code: dict[str, Became]) -> None:
    """The way from a claim back to where it was said and to the code of that time."""
    out, blamed = run.out, line.blamed
    address = one_line(f"{line.scope.name}/{line.agent}/{PurePosixPath(line.file).stem}", 100)
    out.data(f"{out.paint(address, 'bold')}  {one_line(blamed.claim.text, CLAIM_WIDTH)}")
    for origin in blamed.origins:
        for one in origin.told:
            head = f"{out.paint(origin.commit[:SHORT], 'yellow')} {_when(one.time)}  {_who(one)}"
            out.data(f"    {head}  {one_line(one.subject, CLAIM_WIDTH)}")
            for session in _session(one):
                out.data(f"    {session}")
            known = code.get(one.provenance.code_commit)
            if known:
                out.data(f"    code {one_line(_code(one.provenance.code_commit, known), 120)}")
    for note in _notes(blamed):
        out.data(f"    {note}")


def _head(blamed: Blamed) -> tuple[str, str, str]:
    """Commit, date and who, of the oldest thing that a claim was made of."""
    if not blamed.origins:
        return "?" * SHORT, "-" * len(day(0)), "history is missing"
    origin = blamed.origins[0]
    who = " or ".join(dict.fromkeys(_who(one) for one in origin.told))
    return origin.commit[:SHORT], day(origin.time), one_line(who, WHO_WIDTH)


def _who(one: Telling) -> str:
    told = one.provenance
    by = told.writer + (f" ({told.engine})" if told.engine else "")
    return one_line(f"{one.author.partition(' <')[0]}, {by}", WHO_WIDTH)


def _when(time: int | None) -> str:
    return day(time) if time is not None else "-" * len(day(0))


def _sessions(blamed: Blamed) -> list[str]:
    told = blamed.origins[0].told if blamed.origins else ()
    return list(dict.fromkeys(session for one in told for session in _session(one)))


def _session(one: Telling) -> list[str]:
    told = one.provenance
    messages = f", messages {'..'.join(told.messages)}" if told.messages else ""
    return [one_line(f"session {told.session}{messages}", 140)] if told.session else []


def _notes(blamed: Blamed) -> list[str]:
    """What else there is to say of a claim's way."""
    notes = [f"through dream {oid[:SHORT]}" for origin in blamed.origins[:1] for oid in origin.via]
    for origin in blamed.origins[1:]:
        who = " or ".join(dict.fromkeys(_who(one) for one in origin.told))
        notes.append(f"and {origin.commit[:SHORT]} {day(origin.time)}  {one_line(who, WHO_WIDTH)}")
    if blamed.against:
        notes.append(f"disputed with {', '.join(blamed.against)}")
    return notes


def _code(named: str, known: Became) -> str:
    now = f" (now {known.oid[:SHORT]})" if known.oid != named else ""
    return f"{named[:SHORT]}{now} {known.subject}".rstrip()
