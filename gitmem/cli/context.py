"""One run of a command: the memory it works on, and where it speaks; no command line is parsed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gitmem.app.context import real_edges
from gitmem.cli.output import Output, start_pager
from gitmem.flows.context import Edges, by_command, initialised_at, workspace_at
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

if TYPE_CHECKING:
    import typer

    from gitmem.rules.rule import Finding


@dataclass(frozen=True)
class CommandContext:
    """One run of a command."""

    edges: Edges
    out: Output

    @cached_property
    def workspace(self) -> Workspace:
        """The memory here, opened once: its settings are those that the verb began with.

        Raises:
            RepositoryError: not a repository, or `init` has not run.
        """
        return by_command(initialised_at(self.edges))

    @property
    def any_workspace(self) -> Workspace:
        """The repository here, whether or not `init` has run."""
        return by_command(workspace_at(self.edges))

    def with_output(
        self, *, as_json: bool = False, quiet: bool = False, yes: bool = False
    ) -> CommandContext:
        """The same with options that were given after the verb."""
        out = replace(
            self.out,
            as_json=self.out.as_json or as_json,
            quiet=self.out.quiet or quiet,
            yes=self.out.yes or yes,
        )
        return replace(self, out=out, edges=replace(self.edges, say=out.say))


def make_context(directory: Path | None, out: Output) -> CommandContext:
    """The context for a command run in a folder (`-C`)."""
    return CommandContext(real_edges(directory), out)


def context(ctx: typer.Context, *, pages: bool = False, **given: bool) -> CommandContext:
    """The context that the application made, with a verb's own options on top.

    Args:
        pages: the verb only reads, and may print more than a screen holds.
    """
    made: Callable[[], CommandContext] = ctx.obj
    run = made().with_output(**given)
    if pages and run.out.pages and not run.out.as_json:
        start_pager(run.edges)
    return run


def warn_of(run: CommandContext, found: Iterable[Finding]) -> None:
    """Says what is stored and may be a credential; what is none can be allowed."""
    from gitmem.rules.screen import allow_command, doubt_told  # a verb that only reads screens nothing

    for one in found:
        run.out.warn(doubt_told(one, "stored"))
        run.out.say(f"if it is none: {allow_command(one.fingerprints)}")
