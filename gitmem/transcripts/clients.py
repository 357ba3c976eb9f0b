"""The clients whose recordings can be read. One more is one new file, and one more line here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from gitmem.transcripts import claude_code, codex, gemini
from gitmem.transcripts.client import Client
from gitmem.transcripts.discover import SessionFile
from gitmem.transcripts.lines import document, read_lines
from gitmem.transcripts.model import Session
from gitmem.transcripts.private import NOTHING, Ignore

# The first that recognises a record has it; Claude Code's rule is the loosest of those about `sessionId`.
CLIENTS: tuple[Client, ...] = (gemini.CLIENT, claude_code.CLIENT, codex.CLIENT)
_HEAD = 20
"""Records in which a client is recognised."""


def folders(environ: Mapping[str, str], home: Path) -> dict[str, Path]:
    """Names each client's own folder, which need not exist."""
    return {client.name: client.folder(environ, home) for client in CLIENTS}


def sessions_of(places: Mapping[str, Path], worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions of all clients that were started in a repository.

    Args:
        places: client to its folder, see `folders`.
        worktrees: real paths of all work trees of the repository.

    Returns:
        Oldest change first, then by path. Subagents' files do not count, nor what is behind a symlink.
    """
    found = [
        file
        for client in CLIENTS
        if client.name in places
        for file in client.sessions(places[client.name], worktrees)
    ]
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def client_of(path: Path) -> Client:
    """Tells whose recording a file is, by what is in it; Claude Code's where that tells nothing.

    Raises:
        RepositoryError: the file cannot be read.
    """
    for line in islice(read_lines(path), _HEAD):
        for client in CLIENTS:
            if line.record is not None and client.recognises(line.record):
                return client
    whole = document(path) if path.suffix == ".json" else None
    found = (client for client in CLIENTS if whole is not None and client.recognises(whole))
    return next(found, claude_code.CLIENT)


def read(
    path: Path,
    start: int = 0,
    *,
    bookmarks: Path | None = None,
    keep: bool = True,
    most: int = 0,
    ignore: Ignore = NOTHING,
) -> Session:
    """Reads a recorded session of any client, or what was added to it; see `reading.read_on`.

    Args:
        ignore: messages that it hides are left out wholly.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    session = client_of(path).read(path, start, bookmarks=bookmarks, keep=keep, most=most)
    if not ignore:
        return session
    return replace(session, messages=tuple(one for one in session.messages if not ignore.hides(one)))
