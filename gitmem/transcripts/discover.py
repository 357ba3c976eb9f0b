"""The clients whose recordings can be read: one more is one new file, and one more line here."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

from gitmem.core.errors import GitmemError, RepositoryError
from gitmem.transcripts import claude_code, codex, gemini, opencode, qwen
from gitmem.transcripts.model import Session, SessionFile
from gitmem.transcripts.privacy import NOTHING, Ignore
from gitmem.transcripts.reader import ClientReader, belongs, document, first_cwd, read_lines

# The first that recognises a record has it; Claude Code's rule is the loosest of those about `sessionId`.
CLIENTS: tuple[ClientReader, ...] = (
    qwen.CLIENT,
    gemini.CLIENT,
    claude_code.CLIENT,
    codex.CLIENT,
    opencode.CLIENT,
)
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


def client_of(path: Path) -> ClientReader:
    """Tells whose recording a file is, by what is in it; Claude Code's where that tells nothing.

    Raises:
        RepositoryError: the file cannot be read.
    """
    if opencode.is_recording(path):
        return opencode.CLIENT
    for line in islice(read_lines(path), _HEAD):
        for client in CLIENTS:
            if line.record is not None and client.recognises(line.record):
                return client
    whole = document(path) if path.suffix == ".json" else None
    found = (client for client in CLIENTS if whole is not None and client.recognises(whole))
    return next(found, claude_code.CLIENT)


def size_of(path: Path) -> int:
    """Where a reading of all that there is of a session would end.

    Raises:
        RepositoryError: it cannot be read.
    """
    if opencode.is_recording(path):
        return opencode.position(path)
    try:
        return path.stat().st_size
    except OSError as error:
        raise RepositoryError(f"cannot read {path}: {error.strerror}", "give a recorded session") from error


def read(
    path: Path,
    start: int = 0,
    *,
    most: int = 0,
    ignore: Ignore = NOTHING,
) -> Session:
    """Reads a recorded session of any client, or what was added to it; see `reader.read_on`.

    Args:
        ignore: messages that it hides are left out wholly.

    Raises:
        RepositoryError: the file cannot be read, or is no regular file.
    """
    session = client_of(path).read(path, start, most=most)
    if not ignore:
        return session
    return replace(session, messages=tuple(one for one in session.messages if not ignore.hides(one)))


def subagents(sessions: Iterable[SessionFile]) -> Iterator[tuple[Path, str]]:
    """Recordings of the subagents of some sessions, and the name of each one's agent.

    The client writes `agent-<id>.meta.json` beside each, `{"agentType": …}` (seen in 2.1.197).
    """
    for session in sessions:
        if session.client != "claude-code":
            continue
        for meta in sorted(
            (session.path.with_suffix("") / claude_code.SUBAGENTS).rglob("agent-*.meta.json")
        ):
            try:
                name = (document(meta) or {}).get("agentType")
            except GitmemError:
                continue
            if isinstance(name, str) and name:
                yield meta.with_name(meta.name.removesuffix(".meta.json") + ".jsonl"), name


def is_transcript(path: Path, config: Path, tops: Sequence[Path]) -> bool:
    """Whether a path that a hook named is a subagent's recording of this repository.

    It has to lie where the client keeps such recordings, and to have begun in one of the work trees.

    Args:
        config: the client's folder.
        tops: real paths of all work trees.
    """
    if not path.is_absolute() or ".." in path.parts or "\0" in str(path):
        return False
    root = config / "projects"
    for base in dict.fromkeys((root, root.resolve())):
        if not path.is_relative_to(base):
            continue
        inside = path.relative_to(base).parts
        placed = (len(inside) >= 4 and inside[2] == claude_code.SUBAGENTS) or len(inside) == 2
        if not placed or not inside[-1].startswith("agent-") or not inside[-1].endswith(".jsonl"):
            return False
        if any(place.is_symlink() for place in (path, *path.parents[: len(inside) - 1])):
            return False
        try:
            is_file = stat.S_ISREG(path.lstat().st_mode)
        except OSError:
            return False
        return is_file and belongs(first_cwd(path), tops)
    return False
