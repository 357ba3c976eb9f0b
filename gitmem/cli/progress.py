"""What a command is doing, on a terminal alone, and only where it takes a while."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

from gitmem.cli.output import Output
from gitmem.flows.exit import shown

PATIENCE = 1.0
"""Seconds after which somebody who watches wants to know."""

_CLEAR = "\r\x1b[K"


class Progress:
    """One line on stderr that tells the present step, gone when the work is done."""

    def __init__(self, out: Output) -> None:
        self._on = sys.stderr.isatty() and not out.quiet and not out.as_json
        self._out = out
        self._timer: threading.Timer | None = None
        self._shown = False
        self._lock = threading.Lock()

    def __call__(self, step: str) -> None:
        """Says what is being done from now on; nothing where `step` is empty."""
        if not self._on:
            return
        self._stop()
        if self._shown and step:
            self._show(step)
        elif step:
            self._timer = threading.Timer(PATIENCE, self._show, [step])
            self._timer.daemon = True
            self._timer.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Takes the line away, before something else is said."""
        self._stop()
        with self._lock:
            if self._shown:
                sys.stderr.write(_CLEAR)
                sys.stderr.flush()
                self._shown = False

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None

    def _show(self, step: str) -> None:
        with self._lock:
            sys.stderr.write(f"{_CLEAR}{shown(step)} …")
            sys.stderr.flush()
            self._shown = True
