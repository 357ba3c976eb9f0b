"""Histories that were fetched in part: memory needs all of its own, and none of the code's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitmem.store.git import GitCommand

DEEP = 2_000_000_000
"""Commits to go back. `--unshallow` would do the same to the code; git caps what it is given here."""


def cut_short(git: GitCommand, git_dir: Path, refs: str, without: str) -> bool:
    """Whether the history of some refs ends where a shallow clone cut it off.

    Args:
        git_dir: the common git directory.
        refs: beginning of their names, with a slash at the end.
        without: one of them that does not count.
    """
    try:
        cut = frozenset((git_dir / "shallow").read_text("ascii").split())
    except (OSError, ValueError):
        return False
    if not cut:
        return False
    done = git.run(
        ["rev-list", "--max-parents=0", f"--exclude={without}", f"--glob={refs}*"],
        git_dir=git_dir,
        check=False,
    )
    return not cut.isdisjoint(done.text.split())


def deepening() -> Sequence[str]:
    """Options of `git fetch` that bring the rest of what it is told to fetch."""
    return (f"--depth={DEEP}",)
