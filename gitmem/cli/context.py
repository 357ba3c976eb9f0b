"""What every verb shares: the options given before or after it, and the memory it works on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gitmem.app.context import real_edges
from gitmem.cli.output import start_pager
from gitmem.cli.run import CommandContext as CommandContext
from gitmem.core.errors import UsageError
from gitmem.core.names import file_address, hot_path, is_memory_file, kind
from gitmem.flows.context import Edges, by_command, initialised_at
from gitmem.git.trees import list_files
from gitmem.ledger.land import memory_commit
from gitmem.ledger.workspace import Workspace

if TYPE_CHECKING:
    from gitmem.rules.rule import Finding


def _some_time(at: str | None) -> str | None:
    """A script's empty variable must not mean the present."""
    if at is not None and not at.strip():
        raise UsageError("--at names no time", "Give e.g. 2026-11-20, '2 days ago', a tag, or ~1.")
    return at


def _scopes(incomplete: str) -> list[str]:
    from gitmem.ledger.workspace import SCOPES

    return [name for name in SCOPES if name.startswith(incomplete)]


def _agents(ctx: typer.Context, incomplete: str) -> list[str]:
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
    from gitmem.rules.screen import allowing, doubt_told  # a verb that only reads screens nothing

    for one in found:
        run.out.warn(doubt_told(one, "stored"))
        run.out.say(f"if it is none: {allowing(one.fingerprints)}")


def offered(
    find: Callable[[typer.Context, str], Iterable[str]],
) -> Callable[[typer.Context, str], list[str]]:
    """Makes a completion: of the words found those that begin like this; none where anything is in the way.

    What a file is called goes to a shell: words with anything but plain characters are left out.
    """

    def those(ctx: typer.Context, incomplete: str) -> list[str]:
        try:
            found = [one for one in {*find(ctx, incomplete)} if one.startswith(incomplete)]
        except Exception:  # a shell waits at its prompt: nothing may be said there
            return []
        return sorted(one for one in found if one.translate(dict.fromkeys(map(ord, "-_/"))).isalnum())

    return those


@offered
def memory_names(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """Memories, hot and archived.

    One in a folder of the agent's (`topics/deep`) is offered by its stem and by its address there; in full
    (`local/main/topics/deep`) once a slash was typed. Only names are read, no content, so that it is quick.
    """
    return _named(ctx, incomplete, logs=False)


@offered
def names(ctx: typer.Context, incomplete: str) -> Iterator[str]:
    """The same, and the dates of daily logs."""
    return _named(ctx, incomplete, logs=True)


def _named(ctx: typer.Context, incomplete: str, *, logs: bool) -> Iterator[str]:
    for scope, path in _paths(ctx):
        agent, _, file = path.partition("/")
        if is_memory_file(file) or (logs and kind(path) == "log"):
            address = file_address(file)
            yield address
            yield address.rpartition("/")[2]
            if "/" in incomplete:
                yield f"{scope}/{agent}/{address}"


@offered
def agent_names(ctx: typer.Context, _: str) -> Iterator[str]:
    """Agents that have a memory."""
    return (path.partition("/")[0] for _, path in _paths(ctx) if "/" in path)


@offered
def session_ids(ctx: typer.Context, _: str) -> Iterator[str]:
    """Ids of recorded sessions."""
    from gitmem.flows.sessions import sessions_here

    return (file.id for file in sessions_here(_workspace(ctx), _edges(ctx)))


@offered
def noted_sessions(ctx: typer.Context, _: str) -> Iterable[str]:
    """Ids of sessions with notes."""
    from gitmem.flows.notes import noted_ids

    return noted_ids(_workspace(ctx))


@offered
def review_ids(ctx: typer.Context, _: str) -> Iterator[str]:
    """Ids of what waits for a decision."""
    from gitmem.flows.review import decidable

    return (item.id for item in decidable(_workspace(ctx)))


@offered
def store_names(ctx: typer.Context, _: str) -> Iterator[str]:
    """Hosted stores."""
    from gitmem.ledger.stores import stores

    return (one.name for one in stores(_workspace(ctx)))


def words(*choices: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""

    def those(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return those


def _paths(ctx: typer.Context) -> Iterator[tuple[str, str]]:
    """Scope and path of each file of memory, where it is hot."""
    for scope in _workspace(ctx).scopes:
        tip = memory_commit(scope.repo, scope.ref)
        for path in list_files(scope.repo, scope.repo.commit(tip).tree) if tip else ():
            yield scope.name, hot_path(path) or path


def _workspace(ctx: typer.Context) -> Workspace:
    return by_command(initialised_at(_edges(ctx)))


def _edges(ctx: typer.Context) -> Edges:
    directory = ctx.find_root().params.get("directory")
    return real_edges(Path(directory) if directory else None)
