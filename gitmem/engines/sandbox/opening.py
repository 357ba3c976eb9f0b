"""Opens a file of the work tree so that nothing else can be meant: no link is followed at any part."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from gitmem.engines.sandbox.budget import Problem, Refusal

FILE_BYTES = 1_048_576
"""Bytes of one file that is read. Source files are far below; the secret detector takes a second for it."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_regular(top: Path, relative: str) -> bytes:
    """Reads a regular file below a folder.

    Each part is opened relative to the one before, without following links, so that a folder which is
    replaced by a link meanwhile leads nowhere.

    Args:
        top: top of the work tree; it may be reached through links itself.
        relative: parts separated by `/`, none of them `.` or `..`.

    Raises:
        Problem: there is no such file, or it cannot be read.
        Refusal: a link is on the way, or it is no regular file, or a large one.
    """
    handles: list[int] = []
    try:
        *folders, name = relative.split("/")
        handles.append(os.open(top, _FOLDER))
        for folder in folders:
            handles.append(os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=handles[-1]))
        # Looked at first: to open a device or a pipe can have effects of its own.
        _check(os.stat(name, dir_fd=handles[-1], follow_symlinks=False), relative)
        handles.append(os.open(name, _FILE, dir_fd=handles[-1]))
        _check(os.fstat(handles[-1]), relative)
        return _read(handles[-1], relative)
    except OSError as error:
        raise _explained(error, relative) from None
    finally:
        for handle in handles:
            os.close(handle)


def _check(status: os.stat_result, relative: str) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise Refusal(f"{relative} is a symbolic link, and links are not followed")
    if not stat.S_ISREG(status.st_mode):
        raise Refusal(f"{relative} is no regular file")
    if status.st_size > FILE_BYTES:
        raise Refusal(f"{relative} is larger than {FILE_BYTES:,} bytes")


def _read(handle: int, relative: str) -> bytes:
    parts: list[bytes] = []
    room = FILE_BYTES + 1
    while room > 0 and (part := os.read(handle, min(room, 1 << 16))):
        parts.append(part)
        room -= len(part)
    if room <= 0:
        raise Refusal(f"{relative} is larger than {FILE_BYTES:,} bytes")
    return b"".join(parts)


def _explained(error: OSError, relative: str) -> Problem:
    if error.errno == errno.ENOENT:
        return Problem(f"{relative} is tracked by git, but missing in the work tree")
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return Refusal(f"a part of {relative} is a symbolic link or no folder, and links are not followed")
    return Problem(f"{relative} cannot be read: {error.strerror}")
