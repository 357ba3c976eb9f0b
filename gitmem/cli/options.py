"""Options that verbs share, and what a shell completes in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, make_context
from gitmem.cli.output import Output
from gitmem.core.errors import UsageError
from gitmem.core.names import file_address, hot_path, is_memory_file, kind
from gitmem.git.trees import list_files
from gitmem.ledger.land import memory_commit


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

    run = _run(ctx)
    return (file.id for file in sessions_here(run.workspace, run.edges))


@offered
def noted_sessions(ctx: typer.Context, _: str) -> Iterable[str]:
    """Ids of sessions with notes."""
    from gitmem.flows.notes import noted_ids

    return noted_ids(_run(ctx).workspace)


@offered
def review_ids(ctx: typer.Context, _: str) -> Iterator[str]:
    """Ids of what waits for a decision."""
    from gitmem.flows.review import decidable

    return (item.id for item in decidable(_run(ctx).workspace))


@offered
def store_names(ctx: typer.Context, _: str) -> Iterator[str]:
    """Hosted stores."""
    from gitmem.ledger.stores import stores

    return (one.name for one in stores(_run(ctx).workspace))


def words(*choices: str) -> Callable[[str], list[str]]:
    """Completes one of these words."""

    def those(incomplete: str) -> list[str]:
        return [word for word in choices if word.startswith(incomplete)]

    return those


def _paths(ctx: typer.Context) -> Iterator[tuple[str, str]]:
    """Scope and path of each file of memory, where it is hot."""
    for scope in _run(ctx).workspace.scopes:
        tip = memory_commit(scope.repo, scope.ref)
        for path in list_files(scope.repo, scope.repo.commit(tip).tree) if tip else ():
            yield scope.name, hot_path(path) or path


def _run(ctx: typer.Context) -> CommandContext:
    directory = ctx.find_root().params.get("directory")
    return make_context(Path(directory) if directory else None, Output())
