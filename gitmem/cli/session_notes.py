"""`git mem session notes` and `git mem session resume-context`: what a session noted, and how to go on."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from gitmem.app.context import real_edges
from gitmem.cli.completing import session_ids
from gitmem.cli.context import At, Json, context
from gitmem.cli.words import age, iso, sound
from gitmem.core.session_notes import Section
from gitmem.core.text import one_line
from gitmem.flows.context import by_command, initialised_at
from gitmem.flows.notes import NothingNoted, noted_ids, resume, shown_notes
from gitmem.flows.resume import resume_text


def _ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Ids of sessions with notes that begin so; none where anything is in the way."""
    try:
        directory = ctx.find_root().params.get("directory")
        workspace = by_command(initialised_at(real_edges(directory)))
        return [id for id in noted_ids(workspace) if id.startswith(incomplete)]
    except Exception:  # a shell waits at its prompt: nothing may be said there
        return []


def _any_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    return sorted({*_ids(ctx, incomplete), *session_ids(ctx, incomplete)})


def notes(
    ctx: typer.Context,
    id: Annotated[
        str | None,
        typer.Argument(
            help="Id of the session, or its beginning; the one noted last without it.",
            autocompletion=_ids,
            show_default=False,
        ),
    ] = None,
    at: At = None,
    as_json: Json = False,
) -> None:
    """Prints the notes that were taken of a session. Exits 1 where there are none."""
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
                "sections": [_value(section) for section in kept.sections],
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

    Its notes, the last request, open to-dos, files, branch and commit. What it prints can be piped into
    an agent; secrets are left out.
    """
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
                "request": sound(found.request) or None,
                "todos": [sound(one) for one in found.todos],
                "files": [sound(one) for one in found.files],
                "noted": iso(found.noted) if found.noted else None,
                "notes": [_value(section) for section in found.notes],
            }
        )
        return
    for line in resume_text(found).removesuffix("\n").split("\n"):
        run.out.data(line)


def _value(section: Section) -> dict[str, Any]:
    return {"title": sound(section.title), "guide": sound(section.guide), "body": sound(section.body)}
