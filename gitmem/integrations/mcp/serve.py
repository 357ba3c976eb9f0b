"""Serves the protocol over stdio until the client goes: stdout carries nothing else."""

from __future__ import annotations

import gc
import logging
import signal
from pathlib import Path

from gitmem.core.errors import RepositoryError

EXTRA = "pip install 'gitmem-vcs[mcp]'"


def serve(folder: Path | None, *, write: bool) -> None:
    """Serves until stdin ends, or until SIGTERM or SIGINT.

    Args:
        folder: where the repository is looked for; None for the working directory, or a root of the client.
        write: whether memory may be changed.

    Raises:
        RepositoryError: the package `mcp` is not installed, or is of another major version.
    """
    try:
        import anyio
        import mcp_types  # noqa: F401 - what version 1 had none of
        from mcp.server.stdio import stdio_server
    except ImportError as error:
        raise RepositoryError("gitmem mcp needs the package mcp, version 2", EXTRA) from error
    from gitmem.integrations.mcp.server import MemoryServer

    # What a command may leave lying about, since it lives for a moment, a server may not.
    gc.freeze()
    gc.set_threshold(2_000, 10, 10)
    _log_to_stderr()
    for number in (signal.SIGTERM, signal.SIGINT):
        # Python's own way to end would wait for the thread that reads stdin. Memory can be left at any
        # time: a ref moves in one step.
        signal.signal(number, signal.SIG_DFL)
    protocol = MemoryServer(folder, write=write).protocol()

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await protocol.run(incoming, outgoing, protocol.create_initialization_options())

    anyio.run(run)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(Wordless())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)


class Wordless(logging.Formatter):
    """What happened and in which part, without anything that came from a client or a memory."""

    def format(self, record: logging.LogRecord) -> str:
        """One line: the message as it stands in the source, and the kind of exception."""
        kind = record.exc_info[0] if record.exc_info else None
        return f"gitmem mcp: {record.name}: {record.msg}" + (f" ({kind.__name__})" if kind else "")
