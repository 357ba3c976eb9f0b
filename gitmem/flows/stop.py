"""Ends a long piece of work at a signal: only inside it, so that what is begun around it is also finished.

Python raises what a signal handler raises between any two steps of the program. Outside `work` a signal is
therefore only noted, and the next `check` tells of it.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP") if hasattr(signal, name))
AGAIN_SECONDS = 3.0
"""After this long a further signal is obeyed like the first: what a handler raises can get lost in a
callback, and before that whatever is being cleaned up is left alone."""


class Stopped(KeyboardInterrupt):
    """A person or the system ended the work; no `except Exception` on its way holds it up."""


class Stop:
    """Takes over the signals that end a process; use it as a context.

    Best effort: outside the main thread signals cannot be taken over, and end the process as ever.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._asked = False
        self._working = False
        self._raised: float | None = None

    def __enter__(self) -> Stop:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                before = signal.getsignal(number)
                # Whoever had them ignored (`nohup`, a shell's background) has them ignored.
                if before not in (signal.SIG_IGN, None):
                    self._before[number] = before
                    signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self._before.clear()

    @property
    def asked(self) -> bool:
        """Whether a signal came."""
        return self._asked

    def check(self) -> None:
        """Raises `Stopped` where a signal came."""
        if self._asked:
            raise Stopped

    @contextmanager
    def work(self) -> Iterator[None]:
        """The part that a signal ends.

        Raises:
            Stopped: a signal comes, or came before.
        """
        self._working = True
        try:
            self.check()
            yield
            self.check()
        finally:
            self._working = False

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._asked = True
        now = time.monotonic()
        if self._working and (self._raised is None or now - self._raised >= AGAIN_SECONDS):
            self._raised = now
            raise Stopped
