"""What a command is doing, on a terminal alone, and only where it takes a while."""

from __future__ import annotations

import os
import sys
import threading
from shutil import get_terminal_size
from types import TracebackType

from gitmem.core.text import cells
from gitmem.flows.exit import line

NARROWEST = 20
"""Columns that a terminal has at least."""

PATIENCE = 1.0
"""Seconds after which somebody who watches wants to know."""

DOING = {
    "init": "setting up, and taking in what agents wrote before",
    "status": "looking where memory stands",
    "recall": "searching memory and the code's history",
    "log": "reading history",
    "review": "looking what waits",
    "undo": "taking the change back",
    "list": "reading memories",
    "diff": "comparing claims",
    "blame": "following claims through history",
    "save": "looking what was edited",
    "restore": "reading what was known then",
    "checkout": "laying memory out",
    "promote": "making a rule",
    "demote": "making a memory again",
    "share": "looking what would leave this machine",
    "check": "judging what a request would bring",
    "backup": "copying private memory",
    "snapshot": "comparing snapshots with memory",
    "docs": "holding documents against the code",
    "doctor": "looking at refs, objects and hooks",
    "engine": "asking the engine",
    "purge": "looking through all history",
    "uninstall": "taking hooks and settings out",
    "session": "reading recorded sessions",
    "extract": "reading the session",
    "bench": "measuring",
}
"""What a verb does while it says nothing; those that tell their own steps are not here."""


class Progress:
    """One line on stderr that tells the present step, gone when the work is done."""

    def __init__(self, *, quiet: bool = False) -> None:
        dumb = os.environ.get("TERM") == "dumb"
        self._on = sys.stderr.isatty() and not quiet and not dumb
        self._timer: threading.Timer | None = None
        self._shown = 0
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
        settle()
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
                sys.stderr.write(self._wiped())
                sys.stderr.flush()
                self._shown = 0

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
            self._timer = None

    def _show(self, step: str) -> None:
        with self._lock:
            # A line that is broken would not go away again.
            columns = max(NARROWEST, get_terminal_size().columns)
            text = f"{line(step, columns - 4)} …"
            sys.stderr.write(self._wiped() + text)
            sys.stderr.flush()
            self._shown = cells(text)

    def _wiped(self) -> str:
        """Takes away what stands in the line, without a sequence that only some terminals know."""
        return f"\r{' ' * self._shown}\r" if self._shown else ""


_begun: list[Progress] = []


def begin(verb: str, *, quiet: bool) -> None:
    """Tells what a verb is doing until it says something by itself."""
    settle()
    if verb in DOING:
        _begun.append(Progress(quiet=quiet))
        _begun[0](DOING[verb])


def settle() -> None:
    """Takes away what `begin` shows: something else is said now, or the verb is at its end."""
    while _begun:
        _begun.pop().clear()
