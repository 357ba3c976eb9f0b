"""Finds a repository's Gemini CLI sessions on disk.

A recording names its working directory by a hash only (SHA-256 of the path), and a project's folder, named
after the last part of the path, may have been another's before. So a session counts where its hash is that
of a known directory in the repository: a work tree, or one that the client lists in `projects.json` or in a
`.project_root` file.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from os import scandir
from pathlib import Path
from typing import Any

from gitmem.core.errors import GitmemError
from gitmem.transcripts.discover import SessionFile, belongs
from gitmem.transcripts.gemini_records import string
from gitmem.transcripts.lines import document, opened, read_lines

NAME = "gemini"
_HEAD = 50
"""Records in which a message is looked for: a resumption leaves files that hold none."""
_ROOT_SIZE = 16 * 1024


def gemini_home(environ: Mapping[str, str], home: Path) -> Path:
    """Names the client's folder: `$GEMINI_CLI_HOME/.gemini`, else `~/.gemini`."""
    given = environ.get("GEMINI_CLI_HOME", "")
    return (Path(given) if given else home) / ".gemini"


def sessions_of(folder: Path, worktrees: Sequence[Path]) -> tuple[SessionFile, ...]:
    """Finds the sessions that were started in a repository; subagents' do not count.

    Args:
        folder: the client's folder.
        worktrees: real paths of all work trees.

    Returns:
        Oldest change first, then by path.
    """
    known = [*map(str, worktrees), *_registered(folder)]
    found = []
    for project in _entries(folder / "tmp", stat.S_ISDIR):
        roots = _by_hash([*known, *_root_of(project)])
        recordings = {path.name: path for path in _entries(project / "chats", stat.S_ISREG)}
        for name, path in recordings.items():
            # A document that is resumed goes on as a log beside it.
            if not name.startswith("session-") or f"{name}l" in recordings:
                continue
            head = _first(path)
            if head.get("kind") == "subagent" or not belongs(
                roots.get(string(head.get("projectHash")), ""), worktrees
            ):
                continue
            with suppress(OSError):
                status = path.lstat()
                found.append(
                    SessionFile(path, string(head["sessionId"]), status.st_mtime_ns, status.st_size, NAME)
                )
    return tuple(sorted(found, key=lambda file: (file.mtime_ns, file.path)))


def working_directory(path: Path, project: str) -> str:
    """Tells where a session began, by the hash in its header; empty where that is of no known directory.

    Args:
        path: the recording, in its place.
        project: `projectHash`.
    """
    folder = path.parent.parent
    return _by_hash([*_root_of(folder), *_registered(folder.parent.parent)]).get(project, "")


def is_message(record: object) -> bool:
    """Whether a record is a message."""
    named = isinstance(record, dict) and "$rewindTo" not in record and record.get("id")
    return bool(named) and isinstance(named, str)


def is_header(record: Mapping[str, Any]) -> bool:
    """Whether a record, or a document, says whose recording this is."""
    return isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str)


def _entries(folder: Path, wanted: Callable[[int], bool]) -> Iterator[Path]:
    """What is of a kind in a folder that is no link, sorted; links are not followed."""
    try:
        if not stat.S_ISDIR(folder.lstat().st_mode):
            return
        with scandir(folder) as found:
            names = [one.name for one in found if wanted(one.stat(follow_symlinks=False).st_mode)]
    except OSError:
        return
    yield from (folder / name for name in sorted(names))


def _first(path: Path) -> Mapping[str, Any]:
    """A recording's header; empty where there is none, or nothing was said after it."""
    try:
        if path.suffix == ".json":
            whole = document(path)
            return whole if whole and is_header(whole) else {}
        if path.suffix != ".jsonl":
            return {}
        head: Mapping[str, Any] = {}
        for line in islice(read_lines(path), _HEAD):
            record = line.record or {}
            if is_header(record):
                head = record
            elif is_message(record):
                return head
    except GitmemError:
        return {}
    return {}


def _root_of(project: Path) -> list[str]:
    """The directory that a project's folder stands for."""
    try:
        with opened(project / ".project_root") as file:
            return [file.read(_ROOT_SIZE).decode("utf-8", "replace").strip()]
    except GitmemError:
        return []


def _registered(folder: Path) -> list[str]:
    """The directories in which the client was started."""
    try:
        projects = (document(folder / "projects.json") or {}).get("projects")
    except GitmemError:
        return []
    return [*projects] if isinstance(projects, dict) else []


def _by_hash(paths: Sequence[str]) -> dict[str, str]:
    return {hashlib.sha256(path.encode("utf-8", "replace")).hexdigest(): path for path in paths}
