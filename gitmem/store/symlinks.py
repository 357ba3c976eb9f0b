"""Symbolic links between a folder that a person controls and a file below it: never followed."""

from __future__ import annotations

import os
import stat
from pathlib import Path


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
