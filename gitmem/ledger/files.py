"""Small files and where they stand, read with no link followed and replaced in one step; a clone's log.

Hooks load this: it needs the standard library alone.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

LOG_BYTES = 128 * 1024
"""Twice this is the most that the log ever holds."""

CATALOG, COMMITS = "catalog.sqlite", "commits.sqlite"
"""Indexes in the folder of a repository's state, of memory and of the code's commits; derived."""

SNAPSHOTS = "snapshots.json"
"""File there that notes which snapshots hold what memory does not: a hook reads it."""

WARNINGS = "at-action"
"""In the private state: what memory warns of at an action, kept ready in a file a clone; derived, too."""


def log(common_dir: Path, text: str, now: float | None = None) -> None:
    """Appends a line to the repository's `gitmem/log`, which keeps its newest part only. Never raises.

    Args:
        text: what happened; line ends become spaces.
        now: epoch seconds.
    """
    from gitmem.rules.redaction import redact, suspects  # no hook may load the detector for its log

    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    line = f"{stamp} {redact(' '.join(text.split()), suspects)}".encode("utf-8", "replace")[:4096] + b"\n"
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(common_dir / "gitmem" / "log", flags, 0o600), "r+b", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size + len(line) > 2 * LOG_BYTES:
                file.seek(size - LOG_BYTES)
                kept = file.read(LOG_BYTES).partition(b"\n")[2]
                file.truncate(0)
                file.write(kept)
            file.write(line)
    except OSError:
        return


def open_regular(path: Path) -> BinaryIO | None:
    """Opens a regular file for reading, following no link in its last step.

    Returns:
        None where it is missing or something else.

    Raises:
        OSError: it is there and cannot be opened.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO):
            return None
        raise
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        return None
    return os.fdopen(handle, "rb")


def read_regular(path: Path, limit: int) -> tuple[bytes, float] | None:
    """Reads a regular file, following no link in its last step.

    Returns:
        At most `limit` + 1 bytes, and the time of its last change in epoch seconds; None where it is
        missing or something else.

    Raises:
        OSError: it is there and cannot be read.
    """
    file = open_regular(path)
    if file is None:
        return None
    with file:
        changed = os.fstat(file.fileno()).st_mtime
        return file.read(limit + 1), changed


def read_json(path: Path, limit: int) -> Any:
    """Reads a small file of JSON that one can do without.

    Returns:
        Its value; None where it is missing, no regular file, longer than `limit` + 1 bytes, or damaged.
    """
    import json

    with suppress(OSError, ValueError, RecursionError):
        found = read_regular(path, limit)
        return json.loads(found[0]) if found else None
    return None


def keep_newest(files: Collection[Path], most: int) -> None:
    """Deletes the oldest of some files, so that no more than `most` are left.

    Raises:
        OSError: one cannot be looked at or deleted.
    """
    if len(files) > most:
        for old in sorted(files, key=lambda file: file.lstat().st_mtime)[:-most]:
            old.unlink(missing_ok=True)


def is_own_folder(path: Path) -> bool:
    """Whether old files may be cleared from a folder: it is one, or is yet to be made, and no link.

    A `.git` may come out of an archive, with a link to where somebody keeps files of their own.
    """
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def read_theirs(path: Path, limit: int) -> bytes | None:
    """Reads a file of the person's that gitmem writes into; at most `limit` + 1 bytes, None as above.

    Raises:
        RepositoryError: it is there and cannot be read.
    """
    from gitmem.core.errors import RepositoryError

    try:
        found = read_regular(path, limit)
    except OSError as error:
        raise RepositoryError(
            f"{path}: cannot be read: {error.strerror}", "Check its owner and permissions."
        ) from error
    return found[0] if found else None


def replace_file(path: Path, data: bytes, mode: int) -> None:
    """Writes a file aside and moves it into place, with these permission bits.

    Raises:
        OSError: it cannot be written; what was there still is.
    """
    aside = path.with_name(f".{path.name}.gitmem-{os.urandom(6).hex()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(aside, flags, 0o600), "wb") as file:
            file.write(data)
            os.fchmod(file.fileno(), mode)
        os.replace(aside, path)
    except BaseException:
        with suppress(OSError):
            aside.unlink()
        raise


def write_atomically(path: Path, data: bytes) -> None:
    """Writes a file of gitmem's own state, as `replace_file`; its folder is made where missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data, 0o600)


def has_link(anchor: Path, path: Path) -> bool:
    """Whether a path below a trusted folder may not be opened: a link is on the way, or at its end.

    Every part below the folder is looked at without being followed, also a dangling last one. Best effort:
    the file must still be opened without following links.

    Args:
        anchor: a folder that the person controls; it may be reached through links itself.
        path: below it, or the anchor.
    """
    try:
        below = path.relative_to(anchor)
    except ValueError:
        return True
    current = anchor
    for segment in below.parts:
        current = current / segment
        try:
            if stat.S_ISLNK(os.lstat(current).st_mode):
                return True
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True
    return False


def delete_index(folder: Path, file: str) -> None:
    """Deletes an index of a folder with what SQLite keeps beside it.

    Raises:
        OSError: one of them cannot be deleted.
    """
    for suffix in ("", "-wal", "-shm", "-journal"):
        (folder / f"{file}{suffix}").unlink(missing_ok=True)


def data_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Names the folder of the private repository: `$XDG_DATA_HOME/gitmem`, else `~/.local/share/gitmem`."""
    base = Path(environ.get("XDG_DATA_HOME", ""))
    return (base if base.is_absolute() else home / ".local" / "share") / "gitmem"


def claude_folder(environ: Mapping[str, str], home: Path) -> Path:
    """Names Claude Code's own folder, as `claude_home` and the table of clients do, which no hook loads."""
    given = environ.get("CLAUDE_CONFIG_DIR", "")
    return Path(given) if given else home / ".claude"
