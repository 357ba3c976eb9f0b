"""What every verb shares: the options given before or after it, and the memory it works on."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.output import Output
from gitmem.errors import UsageError
from gitmem.integrations.edges import Edges, by_command, initialised_at, real_edges, workspace_at
from gitmem.store.workspace import Workspace


def _some_time(at: str | None) -> str | None:
    """A script's empty variable must not mean the present."""
    if at is not None and not at.strip():
        raise UsageError("--at names no time", "Give e.g. 2026-11-20, '2 days ago', a tag, or ~1.")
    return at


Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but data and errors.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Show what would be done, and do nothing.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Answer every question with yes.")]
ScopeOption = Annotated[
    str | None, typer.Option("--scope", help="project, local or user.", show_default=False)
]
AgentOption = Annotated[
    str | None,
    typer.Option("--agent", help="Whose memory: main, or a subagent's name.", show_default=False),
]
At = Annotated[
    str | None,
    typer.Option(
        "--at", metavar="REV|DATE|TAG", help="As of then.", show_default=False, callback=_some_time
    ),
]


@dataclass(frozen=True)
class Context:
    """One run of a command."""

    edges: Edges
    out: Output

    @property
    def workspace(self) -> Workspace:
        """The memory here.

        Raises:
            RepositoryError: not a repository, or `init` has not run.
        """
        return by_command(initialised_at(self.edges))

    @property
    def any_workspace(self) -> Workspace:
        """The repository here, whether or not `init` has run."""
        return by_command(workspace_at(self.edges))

    def with_output(self, *, as_json: bool = False, quiet: bool = False, yes: bool = False) -> Context:
        """The same with options that were given after the verb."""
        out = replace(
            self.out,
            as_json=self.out.as_json or as_json,
            quiet=self.out.quiet or quiet,
            yes=self.out.yes or yes,
        )
        return replace(self, out=out, edges=replace(self.edges, say=lambda line: out.say(out.safe(line))))


def make_context(directory: Path | None, out: Output) -> Context:
    """The context for a command run in a folder (`-C`)."""
    # A command lives for a moment, and what it makes is hardly ever garbage.
    gc.set_threshold(50_000)
    return Context(real_edges(directory), out)


def context(ctx: typer.Context, **given: bool) -> Context:
    """The context that the application made, with a verb's own options on top."""
    made: Callable[[], Context] = ctx.obj
    return made().with_output(**given)
