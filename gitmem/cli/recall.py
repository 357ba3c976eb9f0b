"""`git mem recall`: the memories that help with a question."""

from __future__ import annotations

from textwrap import indent
from typing import Annotated

import typer

from gitmem.cli.context import AgentOption, At, Context, Json, ScopeOption, context
from gitmem.guard.text import one_line
from gitmem.integrations.recalling import ask
from gitmem.memory.limits import RECALLED
from gitmem.recall.recall import RecallItem
from gitmem.recall.show import as_json as as_value

MOST = 50


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(recall)


def recall(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY...", help="A question, or words.")],
    limit: Annotated[int, typer.Option("--limit", min=1, max=MOST, help="At most so many.")] = RECALLED,
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    as_json: Json = False,
) -> None:
    """Finds the memories that help with a question, offline, over all scopes and agents.

    Few and right beats many: where nothing fits, nothing is shown. Each memory comes with its age, and with
    the files that it names and HEAD no longer has. With --at it answers as of then.
    """
    run = context(ctx, as_json=as_json)
    workspace = run.workspace
    answer = ask(workspace, run.edges, " ".join(query), limit=limit, at=at, scope=scope, agent=agent)
    if run.out.as_json:
        run.out.json(as_value(answer))
        return
    for number, item in enumerate(answer.items):
        if number:
            run.out.data()
        _print(run, item)
    if not answer.items:
        run.out.say("no memory fits")


def _print(run: Context, item: RecallItem) -> None:
    out = run.out
    place = one_line(f"{item.scope}/{item.agent}", 60)
    age = "age unknown" if item.age_days is None else "today" if not item.age_days else _days(item.age_days)
    then = f", as of {item.commit[:12]}" if item.commit else ""
    out.data(f"{out.paint(one_line(item.name, 80), 'bold')}  ({item.type}, {place}, {age}{then})")
    if item.description:
        out.data(f"  {one_line(item.description, 160)}")
    if item.note:
        out.data(out.paint(f"  note: {one_line(item.note, 300)}", "yellow"))
    out.data(indent(out.safe(item.text), "    "))


def _days(count: int) -> str:
    return f"{count} day{'' if count == 1 else 's'} old"
