"""A look through git that never fetches, and ends in time: for who is waited for."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from gitmem.core.errors import RepositoryError
from gitmem.store.git import NO_FETCHING, GitCommand

CHUNK = 65_536

PIPE = 32_768
"""Bytes that a pipe takes in one go wherever this runs. With more, git would wait for its answer to be read
while its question is still being written."""


@dataclass(frozen=True)
class Glimpse:
    """What a git command said within its limits.

    Attributes:
        returncode: None where it was ended before its own end.
    """

    stdout: bytes
    returncode: int | None

    @property
    def text(self) -> str:
        """Output as text (odd bytes as surrogates)."""
        return self.stdout.decode("utf-8", "surrogateescape")


def peek(
    git: GitCommand,
    words: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    size: int,
    input: bytes = b"",
    enough: Callable[[bytes], bool] | None = None,
) -> Glimpse:
    """Runs a reading git command until its end or a limit: then it is ended.

    Args:
        words: after `git`.
        seconds: time that it has; without any nothing is started.
        size: bytes of output, about.
        input: bytes for its standard input.
        enough: whether the output so far answers what was asked.

    Raises:
        RepositoryError: it cannot be started.
    """
    until = time.monotonic() + seconds
    if seconds <= 0:
        return Glimpse(b"", None)
    given = _file(input) if len(input) > PIPE else None
    try:
        process = subprocess.Popen(
            [git.executable, *words],
            cwd=cwd,
            env=git.environment(NO_FETCHING),
            stdin=given or (subprocess.PIPE if input else subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise RepositoryError(f"git cannot be run: {error}") from error
    finally:
        if given is not None:
            given.close()
    output = bytearray()
    with process:
        try:
            assert process.stdout is not None  # noqa: S101 - it was asked for
            if process.stdin is not None:
                with suppress(OSError):
                    process.stdin.write(input)
                    process.stdin.close()
            while len(output) < size and not (enough is not None and output and enough(bytes(output))):
                if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                    break
                chunk = os.read(process.stdout.fileno(), CHUNK)
                if not chunk:
                    with suppress(subprocess.TimeoutExpired):
                        return Glimpse(bytes(output), process.wait(max(0.0, until - time.monotonic())))
                    break
                output += chunk
        finally:
            # With all that it started, which may outlive it and hold the pipe open. Until somebody waits
            # for it its number is nobody else's.
            if process.returncode is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
    return Glimpse(bytes(output), None)


def _file(data: bytes) -> IO[bytes]:
    import tempfile  # hardly ever is so much asked

    file = tempfile.TemporaryFile()  # noqa: SIM115 - whoever starts git closes it
    file.write(data)
    file.seek(0)
    return file
