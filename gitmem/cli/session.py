"""`git mem session`: list, show and search this repository's sessions of every client, and their notes."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import At, Json, noted_sessions, session_ids
from gitmem.cli.output import age, day, iso, sound
from gitmem.core.errors import UsageError
from gitmem.core.session_notes import Section
from gitmem.core.text import counted, one_line
from gitmem.flows.sessions import (
    ListedSession,
    recent_sessions,
    redacted_session,
    search,
    session_file,
    sessions_here,
    short_ids,
    without_secrets,
)
from gitmem.transcripts.model import Message, ToolCall

SHOWN = 20
"""Sessions that are listed, and hits that are shown, unless another number is asked for."""
RESULT_LINES = 3
WIDTH = 160
"""Terminal cells of one line of a call or its result."""
PASTE_CHARS = 4_000
"""Of one message's pastes that are shown; `--json` has all."""

Number = Annotated[int, typer.Option("--max-count", "-n", metavar="N", min=1, help="At most so many.")]
Id = Annotated[str, typer.Argument(help="Id of the session, or its beginning.", autocompletion=session_ids)]


def register(app: typer.Typer) -> None:
    """Adds the verb and its words."""
    app.callback(invoke_without_command=True)(session)
    app.command(name="list")(list_)
    app.command()(show)
    app.command()(grep)
    app.command()(notes)
    app.command(name="resume-context")(resume_context)


def session(ctx: typer.Context, as_json: Json = False) -> None:
    """Lists, shows and searches the sessions that agents recorded here, and prints their notes.

    Alone it lists them.
    """
    if ctx.invoked_subcommand is None:
        list_(ctx, as_json=as_json)


def list_(ctx: typer.Context, number: Number = SHOWN, as_json: Json = False) -> None:
    """Lists sessions, newest first.

    Of each: id, client, when it began, how often a person spoke, and what they said first.
    """
    run = context(ctx, as_json=as_json, pages=True)
    found, total = recent_sessions(run.workspace, run.edges, number)
    if run.out.as_json:
        run.out.json([_value(one) for one in found])
        return
    for one in found:
        first = "(cannot be read)" if one.session is None else one.first.marked(WIDTH) if one.first else ""
        when, said = day(_began(one)), counted(one.prompts, "prompt")
        run.out.data(f"{one.short}  {one.file.client:11}  {when}  {said:>12}  {one_line(first, 80)}")
    if not found:
        run.out.say("no agent recorded a session here")
    elif total > len(found):
        run.out.say(f"{total - len(found)} older ones: git mem session list -n {total}")


def show(
    ctx: typer.Context,
    id: Id,
    person: Annotated[bool, typer.Option("--person", help="Only what a person said.")] = False,
    as_json: Json = False,
) -> None:
    """Prints what was said in a session.

    What tools gave is cut, secrets are left out.
    """
    run = context(ctx, as_json=as_json, pages=True)
    file = session_file(run.workspace, run.edges, id)
    said = redacted_session(run.workspace, file)
    messages = [(n, m) for n, m in enumerate(said.messages, 1) if m.role == "person" or not person]
    if run.out.as_json:
        head = {"id": said.id, "client": said.client, "path": sound(str(file.path)), "cwd": sound(said.cwd)}
        run.out.json({**head, "messages": [_said(run, n, m) for n, m in messages], "skipped": said.skipped})
        return
    for place, (n, message) in enumerate(messages):
        if place:
            run.out.data()
        run.out.data(run.out.paint(_title(n, message), "bold"))
        for line in message.marked(PASTE_CHARS).splitlines():
            run.out.data(line)
        for call in message.tools:
            for line in _call(run, call):
                run.out.data(line)
    if said.skipped:
        run.out.say(f"{counted(said.skipped, 'line')} of the recording cannot be read")


def grep(
    ctx: typer.Context,
    terms: Annotated[
        list[str], typer.Argument(metavar="TERM...", help="All on one line; case is ignored.")
    ],
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="Only this one.",
            show_default=False,
            autocompletion=session_ids,
        ),
    ] = None,
    number: Number = SHOWN,
    as_json: Json = False,
) -> None:
    """Finds lines that hold every term.

    Two lines around each are shown. What tools gave is not searched. Exits 1 where there is none.
    """
    run = context(ctx, as_json=as_json, pages=True)
    if not any(term.strip() for term in terms):
        raise UsageError("There is no term to look for", "Give a word or more.")
    workspace = run.workspace
    one = session is not None
    every = sessions_here(workspace, run.edges)
    files = (session_file(workspace, run.edges, session or ""),) if one else every
    hits = list(search(workspace, files, terms, number + 1))
    if run.out.as_json:
        run.out.json(
            [
                {
                    "session": file.id,
                    "message": hit.number,
                    "uuid": hit.message.uuid,
                    "role": hit.message.role,
                    "time": _iso(hit.message),
                    "lines": [sound(line) for line in hit.lines],
                    "at": hit.at,
                }
                for file, hit in hits[:number]
            ]
        )
        raise typer.Exit(0 if hits else 1)
    short = short_ids(every)
    for file, hit in hits[:number]:
        head = f"{short.get(file.id, file.id)} {_title(hit.number, hit.message)}"
        run.out.data(run.out.paint(head, "bold"))
        for at, line in enumerate(hit.lines):
            run.out.data(f"{'>' if at == hit.at else ' '} {line}")
    if not hits:
        run.out.say("nothing was said with these words")
        raise typer.Exit(1)
    if len(hits) > number:
        run.out.say(f"more than {counted(number, 'hit')}; give more words, or -n")


def _title(number: int, message: Message) -> str:
    how = f" ({message.source})" if message.source in ("queued", "refusal", "answer") else ""
    about = f", to: {one_line(message.context, 80)}" if message.context else ""
    when = f", {day(message.time.timestamp())}" if message.time else ""
    return f"[{number}] {message.role}{how}{when}{about}"


def _call(run: CommandContext, call: ToolCall) -> list[str]:
    """A tool call in a few lines, redacted before it is cut: half a secret looks like none."""
    lines = [f"  {one_line(f'{call.name} {_given(run, call)}', WIDTH)}"]
    result = (call.result or "").splitlines()
    lines += [f"  | {one_line(line, WIDTH)}" for line in result[:RESULT_LINES]]
    if len(result) > RESULT_LINES:
        lines.append(f"  | … {counted(len(result) - RESULT_LINES, 'line')} more")
    return lines


def _given(run: CommandContext, call: ToolCall) -> str:
    text = ", ".join(f"{name}={value}" for name, value in call.input.items() if isinstance(value, str))
    return without_secrets(run.workspace, [Message("", "agent", text[:4_000], None, "reply")])[0].text


def _said(run: CommandContext, number: int, message: Message) -> dict[str, Any]:
    return {
        "number": number,
        "uuid": sound(message.uuid),
        "role": message.role,
        "source": message.source,
        "time": _iso(message),
        "branch": sound(message.branch) or None,
        "commit": sound(message.commit) or None,
        "context": sound(message.context) or None,
        "text": sound(message.text),
        "pasted": [sound(paste) for paste in message.pasted],
        "tools": [
            {
                "name": sound(call.name),
                "input": sound(_given(run, call)),
                "result": sound(call.result) if call.result is not None else None,
                "is_error": call.is_error,
            }
            for call in message.tools
        ],
    }


def _value(one: ListedSession) -> dict[str, Any]:
    return {
        "id": sound(one.file.id),
        "client": one.file.client,
        "path": sound(str(one.file.path)),
        "size": one.file.size,
        "began": iso(_began(one)),
        "changed": iso(one.file.mtime_ns / 1e9),
        "prompts": one.prompts,
        "first": sound(one.first.marked(WIDTH)) if one.first else None,
        "readable": one.session is not None,
    }


def _began(one: ListedSession) -> float:
    return one.first.time.timestamp() if one.first and one.first.time else one.file.mtime_ns / 1e9


def _iso(message: Message) -> str | None:
    return iso(message.time.timestamp()) if message.time else None


def _any_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    return sorted({*noted_sessions(ctx, incomplete), *session_ids(ctx, incomplete)})


def notes(
    ctx: typer.Context,
    id: Annotated[
        str | None,
        typer.Argument(
            help="Id of the session, or its beginning; the one noted last without it.",
            autocompletion=noted_sessions,
            show_default=False,
        ),
    ] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Prints the notes that were taken of a session. Exits 1 where there are none."""
    from gitmem.flows.notes import NothingNoted, shown_notes  # a list of sessions needs no engine

    run = context(ctx, as_json=as_json)
    try:
        kept = shown_notes(run.workspace, run.edges, id, at)
    except NothingNoted as nothing:
        run.out.say(str(nothing))
        raise typer.Exit(1) from nothing
    if run.out.as_json:
        run.out.json(
            {
                "session": sound(kept.session),
                "taken": iso(kept.time),
                "commit": kept.commit,
                "engine": sound(kept.told.engine) or None,
                "last": sound(kept.last) or None,
                "code_commit": sound(kept.told.code_commit) or None,
                "sections": [_section_value(section) for section in kept.sections],
            }
        )
        return
    when = age(kept.time, run.edges.now)
    when += " ago" if when[:1].isdigit() else ""
    said = f"session {kept.session}, noted {when} by {kept.told.engine or 'an unknown engine'}"
    run.out.say(one_line(said, 200))
    for line in kept.text.removesuffix("\n").split("\n"):
        run.out.data(line)


def resume_context(
    ctx: typer.Context,
    id: Annotated[
        str, typer.Argument(help="Id of the session, or its beginning.", autocompletion=_any_ids)
    ],
    as_json: Json = False,
) -> None:
    """Prints what a new session needs to go on from another one.

    Its notes as they would be now, with the last request, open to-dos and files, and the code's branch
    and commit. What it prints can be piped into an agent; secrets are left out.
    """
    from gitmem.flows.notes import resume
    from gitmem.flows.resume import resume_text

    run = context(ctx, as_json=as_json)
    found = resume(run.workspace, run.edges, id)
    if run.out.as_json:
        run.out.json(
            {
                "session": sound(found.session),
                "client": found.client or None,
                "branch": sound(found.branch) or None,
                "commit": sound(found.commit) or None,
                "said": iso(found.said) if found.said else None,
                "noted": iso(found.noted) if found.noted else None,
                "notes": [_section_value(section) for section in found.notes],
            }
        )
        return
    for line in resume_text(found).removesuffix("\n").split("\n"):
        run.out.data(line)


def _section_value(section: Section) -> dict[str, Any]:
    return {"title": sound(section.title), "guide": sound(section.guide), "body": sound(section.body)}
