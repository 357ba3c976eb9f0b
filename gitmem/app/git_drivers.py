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

from gitmem.core.attributes import CLONE
from gitmem.core.errors import RepositoryError
from gitmem.git.command import Configuration, GitCommand, read_configuration
from gitmem.git.config import config_set, config_unset
from gitmem.ledger.files import read_theirs, replace_file

BEGIN, END = b"# >>> gitmem >>>\n", b"# <<< gitmem <<<\n"
MADE = b"# (gitmem made this file)\n"
"""Stands in the fence where there was no file before, so that leaving takes it away again."""

LARGEST = 1024 * 1024
MODE = 0o644

# `merge.gitmem.recursive` stays unset: git then asks the driver for the ancestor of a criss-cross, too.
# `diff.gitmem.cachetextconv` stays unset: its notes would keep texts that a purge takes out of memory.
DRIVER_KEY, TEXT_KEY = "merge.gitmem.driver", "diff.gitmem.textconv"
_OURS: Mapping[str, tuple[str, ...]] = {
    # Only taken out: an older gitmem set what git calls its driver.
    "merge.gitmem.name": ("gitmem: no claim is lost",),
    DRIVER_KEY: ("gitmem merge-driver ",),
    TEXT_KEY: ("gitmem textconv ",),
}


@dataclass(frozen=True)
class MergeSetup:
    """What is to change in a clone so that git merges and shows memory by claim, or no longer does.

    Attributes:
        config: the clone's configuration file.
        set: key to value; None removes it.
        attributes: `info/attributes` of the clone.
        before, after: its bytes; None for no file.
        foreign: keys that the person has set otherwise, which are left alone.
        by_hand: why the attributes cannot be changed; empty where they can.
    """

    config: Path
    set: Mapping[str, str | None]
    attributes: Path
    before: bytes | None
    after: bytes | None
    foreign: tuple[str, ...] = ()
    by_hand: str = ""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.set) or self.before != self.after

    def __str__(self) -> str:
        leaving = self.after is None or BEGIN not in self.after
        where = "merge.gitmem and diff.gitmem in .git/config, a block in .git/info/attributes"
        if leaving and not any(self.set.values()):
            return f"let git merge and show memory as text again ({where})"
        return f"let git merge and show memory claim by claim ({where})"


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
    found: dict[str, str | None] = {}
    foreign = []
    for key, value in wanted.items():
        values = config.all(key)
        if any(not _is_ours(key, one) for one in values):
            foreign.append(key)
        elif values != (value,):
            found[key] = value
    path = common_dir / "info" / "attributes"
    before, trouble = _read(path)
    block = b"".join([BEGIN, *([MADE] if _is_made(before) else []), *_lines(), END])
    # In front, each line of the person's own that follows wins over ours, and their bytes stay as they are.
    after = before if trouble else block + _without_fence(before or b"")
    return MergeSetup(common_dir / "config", found, path, before, after, tuple(foreign), trouble)


def plan_merge_removal(git: GitCommand, common_dir: Path) -> MergeSetup:
    """Finds what gitmem set here, and nothing else."""
    found: dict[str, str | None] = {}
    config = read_configuration(git, git_dir=common_dir)
    for key in _OURS:
        values = config.all(key, "local")
        if values and all(_is_ours(key, value) for value in values):
            found[key] = None
    path = common_dir / "info" / "attributes"
    before, trouble = _read(path)
    after = before
    if before is not None and BEGIN in before:
        rest = _without_fence(before)
        after = None if _is_made(before) and not rest else rest
    return MergeSetup(common_dir / "config", found, path, before, after, by_hand=trouble)


def apply_merge_setup(plan: MergeSetup, git: GitCommand) -> None:
    """Carries a plan out.

    Raises:
        RepositoryError: the attributes are no longer as the plan saw them, or something cannot be written.
    """
    if plan.before != plan.after:
        if _read(plan.attributes)[0] != plan.before:
            raise RepositoryError(f"{plan.attributes} changed meanwhile", "Run the command again.")
        try:
            if plan.after is None:
                plan.attributes.unlink(missing_ok=True)
            else:
                plan.attributes.parent.mkdir(exist_ok=True)
                there = plan.before is not None
                mode = plan.attributes.stat().st_mode & 0o777 if there else MODE
                replace_file(plan.attributes, plan.after, mode)
        except OSError as error:
            raise RepositoryError(
                f"{plan.attributes}: {error.strerror or error}", "Make it writable, then run it again."
            ) from error
    for key, value in plan.set.items():
        if value is None:
            config_unset(git, None, key, git_dir=plan.config.parent)
        else:
            config_set(git, None, key, value, git_dir=plan.config.parent)


def _is_ours(key: str, value: str) -> bool:
    return any(mark in value for mark in _OURS[key])


def _lines() -> list[bytes]:
    return [f"{line}\n".encode() for line in CLONE]


def _is_made(data: bytes | None) -> bool:
    return data is None or MADE in data


def _without_fence(data: bytes) -> bytes:
    start = data.find(BEGIN)
    end = data.find(END, start)
    if start < 0 or end < 0:
        return data
    return data[:start] + data[end + len(END) :]


def _read(path: Path) -> tuple[bytes | None, str]:
    """The file's bytes, and why it cannot be changed."""
    found = read_theirs(path, LARGEST)
    if found is None:
        return None, f"{path} is no regular file" if os.path.lexists(path) else ""
    half = (BEGIN in found) != (END in found)
    return found, f"{path} holds half a gitmem block: take its mark line out by hand" if half else ""
