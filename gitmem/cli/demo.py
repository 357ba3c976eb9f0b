"""`git mem demo`: see all of it in a throw-away folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from gitmem.cli.output import Output


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(demo)


def demo(
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="DIR", help="Use this folder, and leave it.", show_default=False),
    ] = None,
) -> None:
    """Shows all of it in a throw-away folder with its own HOME; nothing of yours is read or written.

    The exit status is 1 if a command fails.
    """
    from gitmem.app.demo import run_demo

    out = Output()
    run_demo(os.environ, lambda line: out.data(line), keep)
