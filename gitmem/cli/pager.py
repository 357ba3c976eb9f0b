"""The pager of a reading command: what git would start, where git would start one."""

from __future__ import annotations

import atexit
import os
import shutil
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

    from gitmem.flows.context import Edges

IN_USE = "GIT_PAGER_IN_USE"
"""Set by git, too (`git -p mem log`): standard output is a pipe, behind which a person reads."""

CHOSEN = ("GIT_PAGER", "PAGER")
LESS = "FRX"
"""Git's own: leave at once where all fits, keep colours, keep the screen."""


def on_terminal() -> bool:
    """Whether a person reads standard output, by themselves or through a pager."""
    return sys.stdout.isatty() or os.environ.get(IN_USE) == "true"


def start_pager(edges: Edges) -> None:
    """Sends what is printed from now on through the pager of git's settings, until the process ends.

    Nothing is done where standard output is no terminal, and where git has none (`cat`, or an empty
    setting). As git does, it hands what a person configured to `sh`, since that may hold options.
    """
    if not sys.stdout.isatty():
        return
    import subprocess  # a recall that an agent waits for has no terminal

    from gitmem.git.command import SAFE_VARIABLES, GitCommand

    git = GitCommand(edges.environ)
    wanted = {name: edges.environ[name] for name in CHOSEN if edges.environ.get(name) is not None}
    pager = git.run(["var", "GIT_PAGER"], cwd=edges.cwd, env=wanted, check=False).text.strip()
    if pager in ("", "cat"):
        return
    clean = {
        name: text
        for name, text in edges.environ.items()
        if not name.startswith("GIT_") or name in SAFE_VARIABLES
    }
    columns = shutil.get_terminal_size().columns
    try:
        process = subprocess.Popen(
            ["sh", "-c", pager], stdin=subprocess.PIPE, env={"LESS": LESS, "LV": "-c", **clean}
        )
    except OSError:
        return  # It is read all the same.
    if process.stdin is None:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    both = sys.stderr.isatty()
    os.dup2(process.stdin.fileno(), 1)
    if both:
        os.dup2(process.stdin.fileno(), 2)
    process.stdin.close()
    os.environ[IN_USE] = "true"
    os.environ.setdefault("COLUMNS", str(columns))
    atexit.register(_wait, process, both)


def _wait(process: subprocess.Popen[bytes], both: bool) -> None:
    """Closes the pager's input and waits for the person; Ctrl-C is the pager's now."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream, number in ((sys.stdout, 1), *(((sys.stderr, 2),) if both else ())):
        with suppress(OSError, ValueError):
            stream.flush()
        os.dup2(nowhere, number)
    process.wait()
