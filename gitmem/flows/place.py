"""Where a hook finds its repository and starts the worker, without git or any library."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitmem.ledger.files import read_regular

DISABLE = "GITMEM_DISABLE"

SAID = "say"
"""Folder of what a person is to be told (`saying`), looked for before that is loaded."""


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Copies an environment without what git told a hook about the command under way (`GIT_DIR`, the author
    of the commit in hand, …): none of it may reach another git."""
    from gitmem.git.command import SAFE_VARIABLES

    return {
        key: value for key, value in environ.items() if not key.startswith("GIT_") or key in SAFE_VARIABLES
    }


def is_disabled(environ: Mapping[str, str]) -> bool:
    """Whether all of gitmem is switched off by `GITMEM_DISABLE`."""
    return is_on(environ.get(DISABLE))


def is_on(value: str | None) -> bool:
    """Whether a switch in the environment is set: anything but empty, `0`, `false`, `no` and `off`."""
    return (value or "").strip().lower() not in ("", "0", "false", "no", "off")


def default_argv(executable: str = sys.executable) -> tuple[str, ...]:
    """The words that start gitmem from anywhere.

    `-P` keeps Python from importing a package called gitmem out of the directory that it is started in.
    """
    return (executable, "-E", "-P", "-m", "gitmem")


def find_repository(start: Path) -> tuple[Path, Path] | None:
    """Finds the repository around a directory.

    Args:
        start: an absolute path; it need not exist any more.

    Returns:
        The worktree's top as it was reached, and the real path of the common git directory; None outside
        any repository. Bare repositories are not looked for.
    """
    for folder in (start, *start.parents):
        git = folder / ".git"
        common = None
        if git.is_dir():
            common = _common_of(git)
        elif git.is_file():
            linked = _first_line(git)
            if linked.startswith("gitdir:"):
                common = _common_of(folder / linked.removeprefix("gitdir:").strip())
        if common:
            return folder, common
    return None


def find_initialised(start: Path) -> tuple[Path, Path] | None:
    """Like `find_repository`, but None too where gitmem was not initialised."""
    found = find_repository(start)
    return found if found and (found[1] / "gitmem").is_dir() else None


def start_worker(common_dir: Path, environ: Mapping[str, str], argv: Sequence[str] | None = None) -> None:
    """Starts the worker of a repository in a session of its own and does not wait for it.

    Args:
        argv: the words that start gitmem; this very interpreter's where None.

    Raises:
        OSError: it cannot be started.
    """
    import subprocess

    subprocess.Popen(
        [*(argv or default_argv()), "worker", "--git-dir", str(common_dir)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        cwd=common_dir,
        env=dict(environ),
    )


def _common_of(git_dir: Path) -> Path | None:
    named = _first_line(git_dir / "commondir")
    common = (git_dir / named).resolve()
    return common if (common / "HEAD").is_file() else None


def _first_line(path: Path) -> str:
    try:
        found = read_regular(path, 8192)
    except OSError:
        return ""
    return os.fsdecode(found[0].partition(b"\n")[0]).strip() if found else ""
