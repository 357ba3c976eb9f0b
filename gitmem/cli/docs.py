"""`git mem docs`: list, check and keep true this repository's living documents."""

from __future__ import annotations

import typer

from gitmem.cli import docs_look, docs_update


def register(app: typer.Typer) -> None:
    """Adds the verb and its words."""
    app.callback()(docs)
    docs_look.register(app)
    app.command()(docs_update.update)


def docs() -> None:
    """Lists living documents, checks them against the code, and proposes what makes them true."""
