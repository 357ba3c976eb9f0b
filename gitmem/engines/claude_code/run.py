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

from gitmem.core.errors import EngineError

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
    line: Callable[[bytes], str | None],
    what: str,
    talks: bool = False,
) -> tuple[int, str]:
    """Runs the client to its end.

    Args:
        words: program and arguments; no shell is used.
        given: its standard input.
        folder: where its errors are kept meanwhile.
        timeout: seconds until it counts as hanging.
        line: is given each line of its output as it comes; what it raises ends the client there. With
            `talks` it returns what to put into the standard input next, empty text to close that.
        what: names the run in errors.
        talks: leave the standard input open; else it ends with `given`.

    Returns:
        exit code, and the end of what it printed as errors.

    Raises:
        EngineError: it cannot be started, hangs, or prints without end.
    """
    errors = folder / "errors"
    with errors.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                words,
                cwd=cwd,
                env=dict(environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                bufsize=0,
                start_new_session=True,
            )
        except OSError as error:
            raise EngineError(
                f"{words[0]} cannot be started: {error.strerror}", "Install Claude Code, or mend PATH."
            ) from error
        try:
            _Talk(process, given, line, talks).follow(time.monotonic() + timeout, timeout, what)
            _await_end(process.pid)
        finally:
            # What it started and left behind goes with it. It is not waited for before: until then its id,
            # which names the group, is nobody else's.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
            for pipe in filter(None, (process.stdin, process.stdout)):
                with suppress(OSError):
                    pipe.close()
    return code, errors.read_bytes()[-_STDERR:].decode("utf-8", "replace").strip()


def _await_end(pid: int) -> None:
    """Waits until a child has ended, and leaves it to be waited for; gives up after a while."""
    import psutil

    end = time.monotonic() + _END
    with suppress(psutil.Error):
        child = psutil.Process(pid)
        while child.status() != psutil.STATUS_ZOMBIE and time.monotonic() < end:
            time.sleep(0.01)


class _Talk:
    """What goes in and comes out, without ever waiting for the one while the other is due."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        given: str,
        line: Callable[[bytes], str | None],
        talks: bool,
    ) -> None:
        if process.stdin is None or process.stdout is None:
            raise EngineError("the client has no input or output")
        self._stdin, self._stdout = process.stdin, process.stdout
        self._line, self._closing = line, not talks
        self._due = given.encode("utf-8", "replace")
        self._selector = selectors.DefaultSelector()

    def follow(self, end: float, timeout: float, what: str) -> None:
        """Returns at the end of the output."""
        rest, total = b"", 0
        os.set_blocking(self._stdin.fileno(), False)
        with self._selector:
            self._selector.register(self._stdout, selectors.EVENT_READ)
            self._selector.register(self._stdin, selectors.EVENT_WRITE)
            while True:
                left = end - time.monotonic()
                ready = self._selector.select(left) if left > 0 else []
                if not ready:
                    raise EngineError(
                        f"{what} did not end within {timeout:g} seconds", "It is tried again later."
                    )
                if any(key.fileobj is self._stdin for key, _ in ready):
                    self._write()
                if not any(key.fileobj is self._stdout for key, _ in ready):
                    continue
                chunk = os.read(self._stdout.fileno(), 1 << 16)
                total += len(chunk)
                if total > LARGEST:
                    raise EngineError(f"{what} prints without end", "Try again.")
                *lines, rest = (rest + chunk).split(b"\n")
                for one in (*lines, rest) if not chunk else lines:
                    if one:
                        self._put(self._line(one))
                if not chunk:
                    return

    def _put(self, text: str | None) -> None:
        """Takes what is to go in next; empty text closes the input behind it."""
        if text is None or self._stdin.closed:
            return
        self._closing = self._closing or not text
        self._due += text.encode("utf-8", "replace")
        if self._stdin not in self._selector.get_map():
            self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def _write(self) -> None:
        try:
            self._due = self._due[os.write(self._stdin.fileno(), self._due[: 1 << 16]) :]
        except BlockingIOError:
            return
        except OSError:
            # It ended, or reads no more; its output says why.
            self._due, self._closing = b"", True
        if not self._due:
            self._selector.unregister(self._stdin)
            if self._closing:
                self._stdin.close()
