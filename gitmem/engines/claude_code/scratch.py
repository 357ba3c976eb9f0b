"""The scratch copy that the client works in: a private folder, laid out as memory is, thrown away at the
end."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from uuid import uuid4

from gitmem.core.errors import EngineError
from gitmem.core.limits import MEMORY_BYTES

PREFIX = "gitmem-fork-"
SCOPES = ("local", "user", "project")
"""Where a fork may write, the usual one first."""
FORGOTTEN = 86_400
"""Seconds after which a scratch copy counts as left by a process that was killed."""
_MOST_NEW = 10_000


@dataclass(frozen=True)
class May:
    """What the client's calls may do.

    Attributes:
        agents: whose folders new memories may go to, the usual one first.
        scopes: in which scopes, the usual one first.
        reads: real paths of folders that may be read besides.
        fixed: files of the copy, `<scope>/<agent>/<file>`, that may be read only.
        new: whether files may be made that are not there.
        size: bytes of one file, at most.
    """

    agents: Sequence[str]
    scopes: Sequence[str] = SCOPES
    reads: Sequence[Path] = ()
    fixed: Collection[str] = ()
    new: bool = True
    size: int = MEMORY_BYTES


@dataclass(frozen=True)
class Scratch:
    """One run's folder.

    Attributes:
        folder: its real path, mode 0700.
        nonce: a word that nobody outside this run can know.
        session: id for the client's session.
        laid: files of the copy at first.
        size: bytes of one file, at most.
    """

    folder: Path
    nonce: str
    session: str
    laid: int = 0
    size: int = MEMORY_BYTES

    @property
    def memory(self) -> Path:
        """The copy: `<scope>/<agent>/<file>`."""
        return self.folder / "memory"

    @property
    def sessions(self) -> Path:
        """What was said: `<session>`, text; to read only."""
        return self.folder / "sessions"

    @property
    def rules(self) -> Path:
        """What the hook goes by."""
        return self.folder / "rules.json"

    @property
    def log(self) -> Path:
        """What the hook decided."""
        return self.folder / "decisions.jsonl"

    def read(self) -> dict[str, bytes]:
        """What the copy holds now; a file without text counts as deleted.

        Raises:
            EngineError: it holds what no allowed call could have written.
        """
        found: dict[str, bytes] = {}
        # Each file may have folders of its own.
        for path in _walk(self.memory, 4 * self.laid + _MOST_NEW):
            name = path.relative_to(self.memory).as_posix()
            data = _content(path, self.size)
            if len(data) > self.size:
                raise EngineError(f"Claude Code wrote {len(data):,} bytes to {name}", "Nothing was taken.")
            if data.strip():
                found[name] = data
        return found


@contextmanager
def scratch(
    temp: Path | None,
    memory: Mapping[str, bytes],
    may: May,
    sessions: Mapping[str, str] | None = None,
    now: float | None = None,
) -> Iterator[Scratch]:
    """Makes a scratch copy, and throws it away whatever happens.

    Args:
        temp: the folder to make it in; None for the system's.
        memory: `<scope>/<agent>/<file>` to content.
        may: what the rules allow there.
        sessions: plain file name to what was said.
        now: epoch seconds; the present if None.

    Raises:
        EngineError: it cannot be made.
    """
    try:
        base = (temp or Path(tempfile.gettempdir())).resolve()
        _sweep(base, time.time() if now is None else now)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        made = Scratch(folder, os.urandom(8).hex(), str(uuid4()), len(memory), may.size)
    except OSError as error:
        raise EngineError(
            f"No scratch copy can be made: {error}", "Is the temporary folder full?"
        ) from error
    try:
        _fill(made, memory, may)
        for name, text in (sessions or {}).items():
            made.sessions.mkdir(mode=0o700, exist_ok=True)
            (made.sessions / name).write_text(text, encoding="utf-8", errors="replace")
        yield made
    except OSError as error:
        raise EngineError(f"{error.filename or made.folder}: {error.strerror}", "Try again.") from error
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)


def _fill(made: Scratch, memory: Mapping[str, bytes], may: May) -> None:
    for scope in may.scopes:
        for agent in may.agents:
            (made.memory / scope / agent).mkdir(parents=True, mode=0o700, exist_ok=True)
    for name, data in memory.items():
        path = made.memory / _inside(name)
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        path.write_bytes(data)
    fixed = frozenset(may.fixed)
    rules = {
        "nonce": made.nonce,
        "memory": str(made.memory),
        "scopes": list(may.scopes),
        "agents": list(may.agents),
        "known": sorted(memory.keys() - fixed),
        "fixed": sorted(fixed),
        "reads": [str(folder) for folder in (*may.reads, made.sessions)],
        "new": may.new,
        "bytes": may.size,
        "log": str(made.log),
    }
    made.log.touch(mode=0o600)
    made.rules.write_text(json.dumps(rules), encoding="utf-8")


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or len(path.parts) < 3 or "\0" in name:
        raise EngineError(f"{name!r} is no place in the memory tree")
    return path


def _walk(folder: Path, most: int) -> Iterator[Path]:
    count = 0
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path, count = Path(top, name), count + 1
            mode = path.lstat().st_mode
            if count > most or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise EngineError(
                    f"Claude Code left what is no memory file: {path.relative_to(folder)}",
                    "Nothing was taken.",
                )
            if stat.S_ISREG(mode):
                yield path


def _content(path: Path, most: int) -> bytes:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(most + 1)


def _sweep(base: Path, now: float) -> None:
    """Takes away what this person's killed runs left."""
    for folder in base.glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            if own and now - found.st_mtime > FORGOTTEN:
                shutil.rmtree(folder, ignore_errors=True)
