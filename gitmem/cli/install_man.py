"""`git mem install-man`: manual pages where man finds them, for installers that do not place them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.context import DryRun, Quiet, context
from gitmem.core.text import counted


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command(name="install-man")(install_man)


def install_man(
    ctx: typer.Context,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="DIR", help="A folder of MANPATH.", show_default=False),
    ] = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> None:
    """Writes the manual pages to `~/.local/share/man`, for `git mem --help` and `git help mem`.

    Where pip installs into an environment whose `bin` is on PATH, man finds the pages of the package by
    itself; uv and pipx keep them to themselves. Doing it again renews them.
    """
    from gitmem.cli.manual import man_pages

    run = context(ctx, quiet=quiet)
    edges = run.edges
    data = edges.environ.get("XDG_DATA_HOME") or str(edges.home / ".local/share")
    folder = (edges.path(to) if to else Path(data) / "man") / "man1"
    pages = list(man_pages())
    if not dry_run:
        folder.mkdir(parents=True, exist_ok=True)
        for file, text in pages:
            (folder / file).write_text(text, encoding="utf-8")
    verb = "would write" if dry_run else "wrote"
    run.out.data(f"{verb} {counted(len(pages), 'manual page')} to {folder}")
    if not dry_run:
        run.out.say("see: git mem --help")
        run.out.say(f"undo: rm {folder}/git-mem*.1 {folder}/gitmem.1")
