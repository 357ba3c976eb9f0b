"""How a clone's git merges and shows memory: drivers in its configuration, a fence in `info/attributes`.

Git runs both drivers through `sh`. Where gitmem is gone, or gives up, they do what git does by itself:
merge as text with both sides marked, and show the file as it is. Nothing is set in place of a person's own
value, wherever that stands.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.app.file_edits import ConfigEdit, Edit, FileEdit, blocks, fenced, has_fence, read, without_fence
from gitmem.core.attributes import CLONE
from gitmem.git.command import Configuration, GitCommand, read_configuration

MADE = b"# (gitmem made this file)"
"""Stands in the fence where there was no file before, so that leaving takes it away again."""

# `merge.gitmem.recursive` stays unset: git then asks the driver for the ancestor of a criss-cross, too.
# `diff.gitmem.cachetextconv` stays unset: its notes would keep texts that a purge takes out of memory.
DRIVER_KEY, TEXT_KEY = "merge.gitmem.driver", "diff.gitmem.textconv"
_OURS: Mapping[str, tuple[str, ...]] = {
    DRIVER_KEY: ("gitmem merge-driver ",),
    TEXT_KEY: ("gitmem textconv ",),
}


@dataclass(frozen=True)
class MergeSetup:
    """What is to change in a clone so that git merges and shows memory by claim, or no longer does.

    Attributes:
        edits: of `info/attributes`, and of the clone's configuration.
        leaving: whether git is to merge memory as text again.
        foreign: keys that the person has set otherwise, which are left alone.
        by_hand: why the attributes cannot be changed; empty where they can.
    """

    edits: tuple[Edit, ...]
    leaving: bool = False
    foreign: tuple[str, ...] = ()
    by_hand: str = ""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.edits)

    def __str__(self) -> str:
        where = "merge.gitmem and diff.gitmem in .git/config, a block in .git/info/attributes"
        how = "as text again" if self.leaving else "claim by claim"
        return f"let git merge and show memory {how} ({where})"


def merge_command(argv: Sequence[str]) -> str:
    """The value of `merge.gitmem.driver`.

    Args:
        argv: the words that start gitmem from anywhere.
    """
    # git fills in `%P` quoted. Were nothing merged, the file would hold our side alone, unmarked.
    text = "git merge-file $union -L ours -L base -L theirs %A %O %B || exit 1"
    lists = "*MEMORY.md | *.tombstones | */logs/*) union=--union ;;"
    words = shlex.join(argv).replace("%", "%%")
    return f"{words} merge-driver %O %A %B %P || {{ union=; case %P in {lists} esac; {text}; }}"


def text_command(argv: Sequence[str]) -> str:
    """The value of `diff.gitmem.textconv`, to which git adds the file as `"$@"`."""
    return f'shown() {{ {shlex.join(argv)} textconv "$1" 2>/dev/null || cat "$1"; }}; shown'


def plan_merge_setup(
    git: GitCommand, common_dir: Path, argv: Sequence[str], config: Configuration | None = None
) -> MergeSetup:
    """Finds what is missing or of an older gitmem; nothing is written.

    Args:
        common_dir: the common git directory, absolute.
        argv: the words that start gitmem from anywhere, e.g. `Launcher.argv`.
        config: the clone's configuration, where it was read already.

    Raises:
        RepositoryError: the configuration or the file cannot be read.
    """
    config = config or read_configuration(git, git_dir=common_dir)
    wanted = {DRIVER_KEY: merge_command(argv), TEXT_KEY: text_command(argv)}
    found: list[Edit] = []
    foreign = []
    for key, value in wanted.items():
        values = config.all(key)
        if any(not _is_ours(key, one) for one in values):
            foreign.append(key)
        elif values != (value,):
            found.append(ConfigEdit(common_dir, key, value))
    path = common_dir / "info" / "attributes"
    before, trouble = _read(path)
    block = fenced(*([MADE] if _is_made(before) else []), *(line.encode() for line in CLONE))
    # In front, each line of the person's own that follows wins over ours, and their bytes stay as they are.
    after = before if trouble else block + without_fence(before or b"")
    return MergeSetup((*_edit(path, before, after), *found), False, tuple(foreign), trouble)


def plan_merge_removal(git: GitCommand, common_dir: Path) -> MergeSetup:
    """Finds what gitmem set here, and nothing else."""
    found: list[Edit] = []
    config = read_configuration(git, git_dir=common_dir)
    for key in _OURS:
        values = config.all(key, "local")
        if values and all(_is_ours(key, value) for value in values):
            found.append(ConfigEdit(common_dir, key))
    path = common_dir / "info" / "attributes"
    before, trouble = _read(path)
    after = before
    if before is not None and not trouble:
        rest = without_fence(before)
        after = None if MADE in before and not rest else rest
    return MergeSetup((*_edit(path, before, after), *found), True, by_hand=trouble)


def _edit(path: Path, before: bytes | None, after: bytes | None) -> list[FileEdit]:
    return [FileEdit(path, before, after)] if before != after else []


def _is_ours(key: str, value: str) -> bool:
    return any(mark in value for mark in _OURS[key])


def _is_made(data: bytes | None) -> bool:
    return data is None or MADE in data


def _read(path: Path) -> tuple[bytes | None, str]:
    """The file's bytes, and why it cannot be changed."""
    found = read(path)
    if found is None:
        return None, f"{path} is no regular file, or too long" if os.path.lexists(path) else ""
    half = has_fence(found) and not blocks(found)
    return found, f"{path} holds half a gitmem block: take its mark line out by hand" if half else ""
