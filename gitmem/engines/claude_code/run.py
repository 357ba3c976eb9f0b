"""Runs the client in a process group of its own, and ends the whole group whatever happens."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from gitmem.errors import EngineError

LARGEST = 256 * 1024 * 1024
"""Bytes of output; files that the fork reads are in it."""
_STDERR = 4_000
_END = 10.0
"""Seconds the client gets to end after its output has."""


def run(
    words: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    given: str,
    folder: Path,
    timeout: float,
    line: Callable[[bytes], None],
) -> tuple[int, str]:
    """Runs the client to its end.

    Args:
        words: program and arguments; no shell is used.
        given: its standard input.
        folder: where input and errors are kept meanwhile.
        timeout: seconds until it counts as hanging.
        line: is given each line of its output as it comes; what it raises ends the client there.

    Returns:
        exit code, and the end of what it printed as errors.

    Raises:
        EngineError: it cannot be started, hangs, or prints without end.
    """
    task, errors = folder / "task", folder / "errors"
    task.write_text(given, encoding="utf-8", errors="replace")
    with task.open("rb") as stdin, errors.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env=dict(environ),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(
                f"{words[0]} cannot be started: {error.strerror}", "Install Claude Code, or mend PATH."
            ) from error
        try:
            _follow(process, time.monotonic() + timeout, timeout, line)
            _await_end(process.pid)
        finally:
            # What it started and left behind goes with it. It is not waited for before: until then its id,
            # which names the group, is nobody else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            if process.stdout is not None:
                process.stdout.close()
    return code, errors.read_bytes()[-_STDERR:].decode("utf-8", "replace").strip()


def _await_end(pid: int) -> None:
    """Waits until a child has ended, and leaves it to be waited for; gives up after a while."""
    import psutil

    end = time.monotonic() + _END
    with suppress(psutil.Error):
        child = psutil.Process(pid)
        while child.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.01)


def _follow(
    process: subprocess.Popen[bytes], end: float, timeout: float, line: Callable[[bytes], None]
) -> None:
    if process.stdout is None:
        raise EngineError("the client has no output")
    rest, total = b"", 0
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = end - time.monotonic()
            if left <= 0 or not selector.select(left):
                raise EngineError(
                    f"The fork of the session did not end within {timeout:g} seconds",
                    "It is tried again later.",
                )
            chunk = os.read(process.stdout.fileno(), 1 << 16)
            if not chunk:
                break
            total += len(chunk)
            if total > LARGEST:
                raise EngineError("The fork of the session prints without end", "Try again.")
            *lines, rest = (rest + chunk).split(b"\n")
            for one in lines:
                line(one)
    if rest:
        line(rest)
