"""Who owns a repository, where git is too old to ask that itself: its configuration may start programs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from gitmem.core.errors import RepositoryError

ASKS = (2, 35, 2)
"""The first git that refuses a repository of somebody else's."""


def refuse_foreign(git_dir: Path, environ: Mapping[str, str], version: Callable[[], str]) -> None:
    """Refuses what is another user's; who is root for a person (sudo) may use that person's.

    Args:
        version: asks git for its own.

    Raises:
        RepositoryError: it is, and git is too old to refuse it itself.
    """
    try:
        owner = git_dir.stat().st_uid
    except OSError:
        return
    mine = {os.geteuid()}
    if os.geteuid() == 0 and (behind := environ.get("SUDO_UID", "")).isdigit():
        mine.add(int(behind))
    if owner in mine or (found := numbers(version())) >= ASKS:
        return
    raise RepositoryError(
        f"{git_dir} is another user's, and git {'.'.join(map(str, found)) or '?'} would run what it says",
        f"Install git {'.'.join(map(str, ASKS))} or later, which asks, or make the repository yours.",
    )


def numbers(version: str) -> tuple[int, ...]:
    """What git says of its version, as far as it is made of numbers."""
    found = re.search(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()
