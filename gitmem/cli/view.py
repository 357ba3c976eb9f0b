"""`git mem view`: the page, in a browser of this machine or as a file to hand on."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.context import CommandContext, context
from gitmem.cli.options import At, DryRun, Json, Quiet, ScopeOption, Yes
from gitmem.core.errors import UsageError
from gitmem.core.text import counted

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables that say that there is a screen, or which browser is wanted."""


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(view)


def view(
    ctx: typer.Context,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Of this machine; any that is free otherwise.")
    ] = 0,
    open_it: Annotated[
        bool, typer.Option("--open/--no-open", help="Start a browser; else only the address is printed.")
    ] = True,
    static: Annotated[
        Path | None,
        typer.Option("--static", metavar="FILE", help="Write one HTML file instead.", show_default=False),
    ] = None,
    at: At = None,
    scope: ScopeOption = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Shows memory on a page: what is learned now, what waits for you, any day of the past, a map.

    The page is served to this machine alone, at an address that nobody can guess, until Ctrl-C. With
    --static it is one file that anybody can open, read-only: project memory, and another scope only
    where --scope names it. What the file would carry is said first.
    """
    run = context(ctx, as_json=as_json, quiet=quiet, yes=yes)
    if static is not None:
        if port or not open_it:
            raise UsageError("--static writes a file, and serves nothing")
        _write(run, run.edges.path(static), scope or "project", at or "", dry_run=dry_run)
        return
    if scope or dry_run:
        raise UsageError("--scope and --dry-run belong to --static", "git mem view --static FILE")
    _serve(run, port, at or "", open_it=open_it)


def _write(run: CommandContext, path: Path, scope: str, at: str, *, dry_run: bool) -> None:
    from gitmem.view.static import content, write

    out = run.out
    made = content(run.workspace, run.edges, scope, at)
    carries = f"{counted(made.memories, 'memory')} of {scope}"
    carries += (
        f", {counted(made.changes, 'change')} with their authors, {counted(made.waiting, 'proposal')}"
    )
    out.say(f"would carry {carries}" if dry_run else f"carries {carries}")
    if not made.memories:
        out.say("another scope is carried where it is named: --scope project, local or user")
    if not dry_run:
        if scope != "project":
            out.ask(f"{scope} memory is private. Write it into a file that can be handed on?")
        write(path, made.html)
    if out.as_json:
        out.json(
            {
                "file": str(path),
                "scope": scope,
                "memories": made.memories,
                "changes": made.changes,
                "waiting": made.waiting,
                "bytes": len(made.html),
                "dry_run": dry_run,
            }
        )
    elif not dry_run:
        out.data(f"wrote {path}")
        out.say("undo: delete it")


def _serve(run: CommandContext, port: int, at: str, *, open_it: bool) -> None:
    from gitmem.view.server import ViewServer

    workspace = run.workspace
    if at:  # what means nothing is told here, and not on the page
        from gitmem.ledger.moments import resolve_all

        resolve_all(workspace, workspace.scopes, at, run.edges.now)
    page = ViewServer(run.edges.cwd, at, port)
    try:
        if run.out.as_json:
            run.out.json({"url": page.url, "port": page.server_port})
        else:
            run.out.data(page.url)
        sys.stdout.flush()
        run.out.say("for this machine alone; the address is a key to it. Ctrl-C ends it")
        if open_it and not _opened(run, page.link):
            run.out.say("no browser could be started here: open the address in yours")
        with suppress(KeyboardInterrupt):
            page.serve_forever()
    finally:
        page.stop()


def _opened(run: CommandContext, link: str) -> bool:
    """Starts a browser that has a window; one that would take the terminal is not wanted."""
    if sys.platform != "darwin" and not any(run.edges.environ.get(name) for name in SCREENS):
        return False
    import webbrowser  # it looks for browsers

    return webbrowser.open(link)
