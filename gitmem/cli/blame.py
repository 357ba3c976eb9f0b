"""`git mem blame`: who taught each claim of a memory, and which memories say a thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import AgentOption, At, Json, ScopeOption, names
from gitmem.cli.output import day
from gitmem.core.account import path_of
from gitmem.core.names import file_address, kind
from gitmem.core.text import one_line
from gitmem.core.trailers import Telling
from gitmem.flows.blame import BlameLine, as_value, code_of, signed_by
from gitmem.flows.blame import blame as look_up
from gitmem.ledger.blame import Blamed, ClaimOrigin
from gitmem.ledger.moments import Became
from gitmem.ledger.sayings import ReplacedClaim
from gitmem.ledger.signatures import SignatureVerdict

SHORT = 12
RULE = "**Rule in:** "
BEYOND = "restored there; the history that tells who taught it is not here (any more)"
WHO_WIDTH = 40
CLAIM_WIDTH = 80


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(blame)


def blame(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="A memory or a daily log, as in git mem show, or an agent's MEMORY.md.",
            autocompletion=names,
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None,
        typer.Option(
            "--text", metavar="TEXT", help="Or: every memory and log that says this.", show_default=False
        ),
    ] = None,
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Shows for each claim of a memory, or line of a log, the commit that taught it, when and by whom.

    A claim keeps its origin through merges, renames, paging, dreams, restores and re-wrapped lines. With
    --text, finds the memories of all scopes that say something, archived ones too, and shows for each the
    way from the claim to the session and the code commit that it came from. Where a dream replaced or
    dropped a claim, it says which, why, and what stands instead.
    """
    run = context(ctx, as_json=as_json, pages=True)
    workspace = run.workspace
    lines = look_up(workspace, run.edges, name, text, scope, agent, at)
    code, signed = code_of(workspace, lines), signed_by(workspace, lines)
    if run.out.as_json:
        run.out.json([as_value(line, code, signed) for line in lines])
    elif not lines:
        run.out.say("no memory says this" if text is not None else "this memory is empty")
    elif text is not None:
        for line in lines:
            _print_hops(run, line, code, signed)
    else:
        _print_lines(run, lines, code, signed)
        if not at and any(line.blamed.claim.text.startswith(RULE) for line in lines):
            _tell_rule(run, name or "", scope, agent)


def _tell_rule(run: CommandContext, name: str, scope: str | None, agent: str | None) -> None:
    """Says so of a memory that became a rule."""
    from gitmem.flows.show import show

    shown = show(run.workspace, run.edges, name, scope, agent)
    if shown.became is not None:
        run.out.say(shown.became.said)


def _print_lines(
    run: CommandContext,
    lines: list[BlameLine],
    code: dict[str, Became],
    signed: Mapping[str, SignatureVerdict],
) -> None:
    """A line a claim; the session stands below, once for claims in a row that share it.

    A log is not about one thing: there the code of that time stands below, too.
    """
    out = run.out
    heads = [_head(line.blamed) for line in lines]
    width = max(len(who) for _, _, who in heads)
    before = ""
    for line, (commit, when, who) in zip(lines, heads, strict=True):
        claim = one_line(line.blamed.text, CLAIM_WIDTH)
        out.data(f"{out.paint(commit, 'yellow')} {when}  {who:{width}}  {claim}")
        at = _codes(line.blamed, code) if kind(line.file) == "log" else []
        proved = _signed(line.blamed, signed)
        notes = [*_sessions(line.blamed), *proved, *at, *_notes(line.blamed), *_replaced(line)]
        told = "\n".join(notes)
        if told != before:
            for note in notes:
                out.data(f"    {note}")
        before = told


def _print_hops(
    run: CommandContext, line: BlameLine, code: dict[str, Became], signed: Mapping[str, SignatureVerdict]
) -> None:
    """The way from a claim back to where it was said and to the code of that time."""
    out, blamed = run.out, line.blamed
    address = one_line(f"{line.scope.name}/{line.agent}/{file_address(line.file)}", 100)
    out.data(f"{out.paint(address, 'bold')}  {one_line(blamed.text, CLAIM_WIDTH)}")
    for note in _became(line.gone) if line.gone else ():
        out.data(f"    {note}")
    for origin in blamed.origins:
        for one in origin.told:
            head = f"{out.paint(origin.commit[:SHORT], 'yellow')} {_when(one.time)}  {_who(one)}"
            out.data(f"    {head}  {one_line(one.subject, CLAIM_WIDTH)}")
            for session in _session(one):
                out.data(f"    {session}")
            known = code.get(one.provenance.code_commit)
            if known:
                out.data(f"    code {one_line(_code(one.provenance.code_commit, known), 120)}")
    for note in (*_signed(blamed, signed), *_notes(blamed), *_replaced(line)):
        out.data(f"    {note}")


def _signed(blamed: Blamed, signed: Mapping[str, SignatureVerdict]) -> list[str]:
    """What is proved of the commits that introduced a claim; nothing where signatures do not count."""
    words = (signed[one.commit].words for one in blamed.origins if one.commit in signed)
    return [one_line(each, CLAIM_WIDTH) for each in dict.fromkeys(words)]


def _replaced(line: BlameLine) -> list[str]:
    """The claims in whose place one was put, with who taught them: they did not say this."""
    notes = []
    for former, said in line.replaced:
        _, when, who = _head(said)
        where = f"{one_line(former.path, 80)}#{said.claim.short}"
        notes.append(f"supersedes {where} by {who}, {when}: {one_line(said.claim.text, CLAIM_WIDTH)}")
    return notes


def _became(gone: ReplacedClaim) -> list[str]:
    """What became of a claim that memory does not say any more."""
    by = f"dream {gone.dream}" if gone.dream else f"a dream, landed by {one_line(gone.by, WHO_WIDTH)}"
    notes = [f"no longer said: {gone.fate.kind} by {by} on {day(gone.time)} ({gone.commit[:SHORT]})"]
    if gone.into is not None:
        where = path_of(gone.fate.target)
        notes.append(f"it is now, in {one_line(where, 80)}: {one_line(gone.into.text, CLAIM_WIDTH)}")
    elif gone.fate.target:
        notes.append(f"it went into {one_line(gone.fate.target, 100)}")
    if gone.fate.reason:
        notes.append(f"because: {one_line(gone.fate.reason, 140)}")
    return notes


def _head(blamed: Blamed) -> tuple[str, str, str]:
    """Commit, date and who, of the oldest thing that a claim was made of."""
    if not blamed.origins:
        return "?" * SHORT, "-" * len(day(0)), "history is missing"
    origin = blamed.origins[0]
    who = " or ".join(dict.fromkeys(_who(one) for one in origin.told))
    return origin.commit[:SHORT], day(origin.time), one_line(who, WHO_WIDTH)


def _who(one: Telling) -> str:
    return one_line(f"{one.author.partition(' <')[0]}, {one.provenance.by}", WHO_WIDTH)


def _when(time: int | None) -> str:
    return day(time) if time is not None else "-" * len(day(0))


def _sessions(blamed: Blamed) -> list[str]:
    told = blamed.origins[0].told if blamed.origins else ()
    return list(dict.fromkeys(session for one in told for session in _session(one)))


def _codes(blamed: Blamed, code: dict[str, Became]) -> list[str]:
    told = blamed.origins[0].told if blamed.origins else ()
    named = dict.fromkeys(one.provenance.code_commit for one in told)
    return [f"code {one_line(_code(name, code[name]), 120)}" for name in named if name in code]


def _session(one: Telling) -> list[str]:
    told = one.provenance
    messages = f", messages {'..'.join(told.messages)}" if told.messages else ""
    return [one_line(f"session {told.session}{messages}", 140)] if told.session else []


def _notes(blamed: Blamed) -> list[str]:
    """What else there is to say of a claim's way."""
    notes = [_logged(origin) for origin in blamed.origins[:1] if _is_made_of_line(blamed, origin)]
    notes += [f"through dream {oid[:SHORT]}" for origin in blamed.origins[:1] for oid in origin.via]
    notes += [BEYOND for origin in blamed.origins[:1] if origin.beyond]
    for origin in blamed.origins[1:]:
        who = " or ".join(dict.fromkeys(_who(one) for one in origin.told))
        notes.append(f"and {origin.commit[:SHORT]} {day(origin.time)}  {one_line(who, WHO_WIDTH)}")
        if _is_made_of_line(blamed, origin):
            notes.append(_logged(origin))
    if blamed.against:
        notes.append(f"disputed with {', '.join(blamed.against)}")
    return notes


def _is_made_of_line(blamed: Blamed, origin: ClaimOrigin) -> bool:
    """Whether a claim comes from a line of a log, and is not that line itself."""
    return origin.line is not None and origin.claim != blamed.claim.short


def _logged(origin: ClaimOrigin) -> str:
    """The line of a daily log that a claim was made of."""
    said = one_line(origin.line.render(), CLAIM_WIDTH) if origin.line else ""
    return f"from {one_line(origin.path, CLAIM_WIDTH)}: {said}"


def _code(named: str, known: Became) -> str:
    now = f" (now {known.oid[:SHORT]})" if known.oid != named else ""
    return f"{named[:SHORT]}{now} {known.subject}".rstrip()
