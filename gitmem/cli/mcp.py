"""`git mem mcp`: serve memory to clients that speak the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gitmem.core.errors import RepositoryError

EXTRA = "pip install 'gitmem-vcs[mcp]' (from a clone: '.[mcp]')"


def register(app: typer.Typer) -> None:
    """Adds the verb."""
    app.command()(mcp)


def mcp(
    ctx: typer.Context,
    write: Annotated[
        bool,
        typer.Option("--write", help="Also offer remember and forget; project memory only through review."),
    ] = False,
) -> None:
    """Serves memory over stdio, for a client that starts it; read-only without --write.

    It serves the repository of -C or of the folder that it is started in, else that of the client's roots.
    """
    try:
        import mcp_types  # noqa: F401 - what version 1 of the package mcp had none of
    except ImportError as error:
        raise RepositoryError("gitmem mcp needs the package mcp, version 2", EXTRA) from error
    from gitmem.mcp.server import serve

    given = ctx.parent.params.get("directory") if ctx.parent else None
    serve(Path(given).absolute() if given else None, write=write)
