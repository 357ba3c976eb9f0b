"""`git mem recall`: the memories that help with a question."""

from __future__ import annotations

from typing import Annotated

import typer

from gitmem.cli.context import context
from gitmem.cli.options import AgentOption, At, Json, Quiet, ScopeOption, words
from gitmem.cli.recall_output import SOURCES, answer, question
from gitmem.core.change import TYPES
from gitmem.core.limits import PATIENT_SECONDS, RECALLED
from gitmem.flows.recall import RecallRequest
from gitmem.ledger.workspace import CHOICES

MOST = 50


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(recall)


def recall(
    ctx: typer.Context,
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY...", help="A question, or words; - reads standard input.")
    ],
    limit: Annotated[
        int, typer.Option("--limit", metavar="N", min=1, max=MOST, help="At most so many.")
    ] = RECALLED,
    type: Annotated[
        str | None,
        typer.Option(
            "--type", help=f"{', '.join(TYPES)}.", show_default=False, autocompletion=words(*TYPES)
        ),
    ] = None,
    at: At = None,
    scope: ScopeOption = None,
    agent: AgentOption = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            help="Who chooses; the configured engine if not given.",
            show_default=False,
            autocompletion=words(*CHOICES["engine"]),
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            help="memory, commits (of the code) or all; as gitmem.recallCommits says if not given.",
            show_default=False,
            autocompletion=words(*SOURCES),
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what each was found by, and why others are left out.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Finds the memories that help with a question, over all scopes and agents.

    Few and right beats many: where nothing fits, nothing is shown. Each memory comes with its age and with
    what no longer holds of what it names. Commits of the code's default branch that decided what you ask
    about come after them, with the commit that undid them if one did. With --at memory alone answers, as of
    then. It stays on this machine unless a model engine is configured or named; where one fails,
    the offline rules answer.
    """
    run = context(ctx, as_json=as_json, quiet=quiet)
    asked = RecallRequest(
        question(query), limit, at, scope, agent, type, engine=engine, patience=PATIENT_SECONDS
    )
    answer(run, asked, source, explain=explain)
