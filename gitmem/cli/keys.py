"""One key at a time from a terminal, which is left as it was found while nobody is waited for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from gitmem.core.errors import UsageError

Keys = Callable[[], str]
"""Waits for a key; returns its character, or `EOF` where no more will come."""

EOF = "\x04"
"""What a terminal sends for Ctrl-D; stands for one that is gone, too."""

_ESCAPE = b"\x1b"
_LONGEST = 32
"""Bytes of the longest sequence that is taken for one key."""

_PATIENCE = 0.05
"""Seconds in which the rest of what an arrow key sends arrives."""


def terminal_keys(instead: str) -> Keys:
    """The keys of the terminal that this process runs in.

    Args:
        instead: what to do where there is none.

    Raises:
        UsageError: input or output is no terminal.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("This needs a terminal: one key decides each item", instead)
    return _one_key


def _one_key() -> str:
    import termios
    import tty

    sys.stdout.flush()
    sys.stderr.flush()
    terminal = sys.stdin.fileno()
    try:
        before = termios.tcgetattr(terminal)
        # What was typed ahead counts, and Ctrl-C still interrupts.
        tty.setcbreak(terminal, termios.TCSADRAIN)
        try:
            return _read(terminal)
        finally:
            termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    except (OSError, termios.error):
        return EOF


def _read(terminal: int) -> str:
    first = os.read(terminal, 1)
    if not first:
        return EOF
    if first == _ESCAPE:
        _pass_over(terminal)
        return "\x1b"
    for _ in range(3):
        try:
            return first.decode()
        except UnicodeDecodeError:
            first += os.read(terminal, 1)
    return first.decode("utf-8", "replace")


def _pass_over(terminal: int) -> None:
    """Reads the rest of an arrow or function key: none of its characters is meant by itself."""
    import select

    for number in range(_LONGEST):
        if not select.select([terminal], [], [], _PATIENCE)[0]:
            return
        byte = os.read(terminal, 1)
        # ESC [ or ESC O, then parameters, up to the first letter or the like (ECMA-48, section 5.4).
        if not byte or (number == 0 and byte not in b"[O") or (number and b"@" <= byte <= b"~"):
            return
