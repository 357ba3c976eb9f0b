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

    Each step checks what it claims; the exit status is 1 if one does not hold.
    """
    from gitmem.app.demo.run import run_demo

    out = Output()
    run_demo(os.environ, lambda line: out.data(line), keep)
