"""Which paths of a memory tree may be touched. Trees come from remotes and models: none is trusted."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from gitmem.core.limits import PATH_BYTES, PATH_SEGMENTS
from gitmem.core.names import collision_key, unsafe_segment

_DRIVE = re.compile(r"[A-Za-z]:")
_DECODE_ROUNDS = 3


def check_path(path: str) -> str | None:
    """Returns why a relative path may not be in a memory tree, or None where it may.

    Args:
        path: segments separated by `/`, as in a git tree.
    """
    if not path:
        return "the path is empty"
    if path.startswith(("/", "\\")) or _DRIVE.match(path):
        return "the path is absolute"
    segments = path.split("/")
    for segment in segments:
        reason = unsafe_segment(segment)
        if reason is not None:
            return f"the part {segment[:60]!a} {reason}"
    if len(segments) > PATH_SEGMENTS:
        return f"the path has more than {PATH_SEGMENTS} parts"
    if len(path.encode()) > PATH_BYTES:
        return f"the path is longer than {PATH_BYTES} bytes"
    plain = path if path.isascii() else unicodedata.normalize("NFKC", path)
    if "%" in plain and _hides_traversal(plain):
        return "the path hides a separator or a way out in percent signs"
    return None


def no_symlink_on_the_way(root: Path, relative: str) -> str | None:
    """Returns why a file under a root may not be opened, or None where no symlink is on the way.

    Every part below the root is looked at without being followed, also a dangling last one. The root
    itself may be reached through symlinks: pass the worktree, not a folder that the repository can
    replace. Best effort: the file must still be opened without following links.

    Args:
        root: an existing directory that the person controls.
        relative: path below it, separated by `/`, as `check_path` allows.
    """
    current = root
    for segment in relative.split("/"):
        current = current / segment
        try:
            mode = os.lstat(current).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as problem:
            return f"{str(current)!a} cannot be looked at: {problem}"
        if stat.S_ISLNK(mode):
            return f"{str(current)!a} is a symbolic link"
    return None


def colliding(paths: Iterable[str]) -> tuple[str, str] | None:
    """Returns two paths of one tree that read as the same one, since Unicode writes some letters twice.

    Those that differ in case alone are left to the file system: two people may well have named two memories
    so, and nobody takes one for the other.

    Args:
        paths: of one tree; folders on the way are looked at, too.
    """
    seen: dict[str, str] = {}
    folders: set[str] = set()
    for path in paths:
        whole = path
        while whole:
            known = seen.setdefault(whole.lower() if whole.isascii() else collision_key(whole), whole)
            if known != whole and known.lower() != whole.lower():
                return known, whole
            whole = whole.rpartition("/")[0]
            if whole in folders:
                break
            folders.add(whole)
    return None


def linked(anchor: Path, path: Path) -> bool:
    """Whether a symbolic link stands between a trusted folder and a path inside it, or at the path.

    Args:
        anchor: a folder that the person controls; it may be reached through links itself.
        path: below it, or the anchor.
    """
    try:
        below = path.relative_to(anchor)
    except ValueError:
        return True
    return str(below) != "." and no_symlink_on_the_way(anchor, below.as_posix()) is not None


def _hides_traversal(path: str) -> bool:
    decoded = path
    for _ in range(_DECODE_ROUNDS):
        further = unquote(decoded, errors="replace")
        if further == decoded:
            return False
        if further.count("/") != path.count("/") or "\\" in further or "\0" in further:
            return True
        if any(segment in ("", ".", "..") for segment in further.split("/")):
            return True
        decoded = further
    return True
