"""Replacing a file under the eyes of others, so that whatever they write meanwhile is found again."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.values import dataclass


@dataclass(frozen=True)
class Replaced:
    """How a replacement went.

    Attributes:
        done: whether the new content stands at the path.
        found: content of the file that was displaced; None where there was none.
    """

    done: bool
    found: bytes | None = None


ASIDE = ".gitmem-displaced"
"""Folder beside the file for what was displaced, where `aside` is on another file system."""

_FRESH = re.compile(r"\.gitmem-[0-9a-f]{16}\.tmp")


def replace_file(
    path: Path, new: bytes | None, aside: Path, label: str, mtime: float | None = None
) -> Replaced:
    """Puts new content at a path, keeping what was there.

    The new file is written beside it, the old one renamed away, the new one linked exclusively: a file
    that someone creates in between stays, and `done` is false. The displaced file is read only after it
    was displaced, so an edit up to that moment is in `found`; one who still holds it open may write
    later, and this process may die here, so it is kept as `<aside>/<token>.<label>` for a second look; in
    `ASIDE` beside it where that is on another file system.

    Args:
        path: the file; a link there is not followed but left alone.
        new: content, or None to delete.
        aside: folder for displaced files, on the same file system.
        label: what the displaced file was expected to be and its name, as `<expected>/<name>`, for whoever
            finds it. Where the new content could not be put there, the expected part becomes `none`: who
            wrote there meanwhile did not know what was displaced.
        mtime: modification time for a file that did not exist before, seconds since the epoch.

    Raises:
        RepositoryError: the folder is read-only or the disk is full; the file is as it was.
    """
    token = secrets.token_hex(8)
    fresh = path.with_name(f".gitmem-{token}.tmp")
    try:
        if new is not None:
            _write_new(fresh, new, path)
        displaced = _displace(path, aside, f"{token}.{label}")
        if displaced is None and mtime is not None and new is not None:
            os.utime(fresh, (mtime, mtime))
        done = new is None or _link(fresh, path)
        if not done and displaced is not None:
            unknown = displaced.parent.with_name(f"{token}.none")
            displaced.parent.rename(unknown)
            displaced = unknown / displaced.name
        return Replaced(done, displaced.read_bytes() if displaced else None)
    except OSError as error:
        raise RepositoryError(f"{path} cannot be written: {error.strerror}", _hint(error)) from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink()


def read_regular(path: Path, limit: int) -> bytes | None:
    """Content of a regular file, at most `limit` bytes and one; None for anything else, links included."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read(limit + 1)


def sweep(folder: Path) -> None:
    """Deletes new files that a process left behind when it died; only for who holds the folder's lock."""
    for path in folder.glob(".gitmem-*.tmp"):
        if _FRESH.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


def _write_new(fresh: Path, data: bytes, like: Path) -> None:
    if fresh.parent.is_symlink():
        raise OSError(errno.ELOOP, "its folder is a symbolic link")
    fresh.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        with contextlib.suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(os.lstat(like).st_mode))


def _displace(path: Path, aside: Path, label: str) -> Path | None:
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            raise OSError(errno.EEXIST, "something that is no regular file is in the way")
        try:
            return _moved(path, aside / label)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            return _moved(path, path.parent / ASIDE / label)
    except FileNotFoundError:
        return None


def _moved(path: Path, target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.rename(target)
    except OSError:
        with contextlib.suppress(OSError):
            target.parent.rmdir()
        raise
    return target


def _link(fresh: Path, path: Path) -> bool:
    try:
        os.link(fresh, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK):
            raise
        # A file system without hard links: an exclusive copy is the next best thing.
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        except FileExistsError:
            return False
        with os.fdopen(handle, "wb") as file:
            file.write(fresh.read_bytes())
    return True


def _hint(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "Free some disk space and run it again; nothing was lost."
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return "A file is where a folder should be: move it away and run it again; nothing was lost."
    return "Make its folder writable for you and run it again."
