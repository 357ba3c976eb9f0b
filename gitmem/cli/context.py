"""What every verb shares: the options given before or after it, and the memory it works on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from gitmem.cli.pager import start_pager
from gitmem.cli.run import Context as Context
from gitmem.core.errors import UsageError


def _some_time(at: str | None) -> str | None:
    """A script's empty variable must not mean the present."""
    if at is not None and not at.strip():
        raise UsageError("--at names no time", "Give e.g. 2026-11-20, '2 days ago', a tag, or ~1.")
    return at


def _scopes(incomplete: str) -> list[str]:
    from gitmem.ledger.workspace import SCOPES

    return [name for name in SCOPES if name.startswith(incomplete)]


def _agents(ctx: typer.Context, incomplete: str) -> list[str]:
    from gitmem.cli.completing import agent_names

    return agent_names(ctx, incomplete)


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but data and errors.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
Allow = Annotated[
    bool, typer.Option("--allow", help="Store what may be a secret as well, this once, with a warning.")
]
ScopeOption = Annotated[
    str | None,
    typer.Option("--scope", help="project, local or user.", show_default=False, autocompletion=_scopes),
]
AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent",
        help="Whose memory: main, or a subagent's name.",
        show_default=False,
        autocompletion=_agents,
    ),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="REV|DATE|TAG", help="As of then.", show_default=False, callback=_some_time
    ),
]


def context(ctx: typer.Context, *, pages: bool = False, **given: bool) -> Context:
    """The context that the application made, with a verb's own options on top.

    Args:
        pages: the verb only reads, and may print more than a screen holds.
    """
    made: Callable[[], Context] = ctx.obj
    run = made().with_output(**given)
    if pages and run.out.pages and not run.out.as_json:
        start_pager(run.edges)
    return run
