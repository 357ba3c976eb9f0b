"""`git mem show`: one memory, as it is or as it was."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Annotated

import typer

from gitmem.cli.completing import memory_names
from gitmem.cli.context import AgentOption, At, Context, Json, ScopeOption, context
from gitmem.cli.words import age as in_words
from gitmem.cli.words import iso, sound
from gitmem.guard.text import one_line
from gitmem.store.lookup import Found, age, find
from gitmem.store.repository import MissingObject


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(show)


def show(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Its name, file, or the beginning of one; or scope/agent/name.",
            autocompletion=memory_names,
        ),
    ],
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Prints a memory: its file, byte for byte; on a terminal, control characters are written out.

    It is read from the ref: what was edited but not saved yet is in `git mem diff`.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    found = find(workspace, name, scope, agent, at, run.edges.now)
    taught = age(workspace, found.spot)
    found, hidden = _shown(run, found)
    if run.out.as_json:
        run.out.json(as_value(found, taught, hidden))
        return
    run.out.say(
        run.out.safe(
            one_line(f"{found.address}, {found.memory.type}, taught {_ago(taught, run.edges.now)}", 300)
            + (f", as of {found.commit[:12]}" if at else "")
        )
    )
    if hidden:
        run.out.warn("something of it holds a secret that came with shared memory, and is not shown")
        run.out.say(
            run.out.safe(
                f"whole: git cat-file blob {found.blob}. Take it out of all history: git mem purge"
            )
        )
    _print(run, found.memory.render())


def _shown(run: Context, found: Found) -> tuple[Found, bool]:
    """A memory without what of it came with a secret; whether that is something."""
    from gitmem.integrations.recalling import without_secrets
    from gitmem.memory.memory import parse

    if found.scope != "project":
        return found, False
    whole = found.memory.render()
    try:
        kept = without_secrets(run.workspace, found.file, whole)
    except MissingObject:
        kept = b""
    return (replace(found, memory=parse(found.file, kept)), True) if kept != whole else (found, False)


def as_value(found: Found, taught: int, hidden: bool = False) -> dict[str, object]:
    """A memory for `--json`: its parts, and `content`, the whole file as text."""
    memory = found.memory
    return {
        "name": sound(memory.name),
        "type": memory.type,
        "scope": found.scope,
        "agent": sound(found.agent),
        "file": sound(found.file),
        "description": sound(memory.description),
        "taught": iso(taught) if taught else None,
        "archived": found.archived,
        "commit": found.commit,
        "blob": found.blob,
        "secret": hidden,
        "content": memory.render().decode("utf-8", "replace"),
    }


def _ago(taught: int, now: float) -> str:
    words = in_words(taught, now)
    return f"{words} ago" if words[:1].isdigit() else words


def _print(run: Context, data: bytes) -> None:
    if sys.stdout.isatty():
        run.out.data(run.out.safe(data.decode("utf-8", "backslashreplace")).removesuffix("\n"))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()
