"""`git mem show`: one memory or daily log, as it is or as it was."""

from __future__ import annotations

import sys
from shutil import get_terminal_size
from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, At, Json, ScopeOption, names
from gitmem.cli.output import NARROW, fitted, on_terminal
from gitmem.cli.output import age as in_words
from gitmem.core.text import one_line
from gitmem.flows.redaction import redact, shown_bytes
from gitmem.flows.show import as_value
from gitmem.flows.show import show as look_up


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(show)


def show(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Its name, file, or the beginning of one; or scope/agent/name. A date is a daily log.",
            autocompletion=names,
        ),
    ],
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Prints a memory: its file as it is. What is in it of secrets, control characters and tags that a
    client takes for its own is written out instead; a disputed description is told beside it.

    A date (2026-11-20), or the path of a log, prints the daily log of that day. All is read from the ref:
    what was edited but not saved yet is in `git mem diff`.
    """
    run = context(ctx, as_json=as_json, pages=True)
    one = look_up(run.workspace, run.edges, name, scope, agent, at)
    found = one.found
    if run.out.as_json:
        run.out.json(as_value(one))
        return
    what = "daily log, last fact" if found.is_log else f"{found.memory.type}, taught"
    run.out.say(
        one_line(f"{found.address}, {what} {_ago(one.taught, run.edges.now)}", 300)
        + (f", as of {found.commit[:12]}" if at else "")
    )
    if one.proof is not None:
        run.out.say(one_line(one.proof.words, 200))
    if one.became is not None:
        run.out.say(one.became.said)
        if one.became.edited:
            for line in (one.became.rule or "").split("\n"):
                run.out.say(f"    {line}".rstrip())
    if one.hidden:
        run.out.warn("something of it holds a secret that came with shared memory, and is not shown")
        run.out.say(f"whole: git cat-file blob {found.blob}. Take it out of all history: git mem purge")
    memory, disputed = one.readable
    for key, values in disputed.items():
        said = " or ".join(repr(one_line(value, 200)) for value in values)
        run.out.warn(f"its {key} is disputed: it may also be {said}; settle it: git mem review")
    _print(memory.render())


def _ago(taught: int, now: float) -> str:
    words = in_words(taught, now)
    return f"{words} ago" if words[:1].isdigit() else words


def _print(data: bytes) -> None:
    if on_terminal():
        text = redact(data.decode("utf-8", "backslashreplace")).removesuffix("\n")
        sys.stdout.write(fitted(text, max(NARROW, get_terminal_size().columns)) + "\n")
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(shown_bytes(data))
    sys.stdout.buffer.flush()
