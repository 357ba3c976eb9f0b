"""Everything a person reads goes through one object: data on stdout, talk on stderr, by the one exit."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import Any

from gitmem.core.errors import CheckFailed
from gitmem.integrations.exit import row, value
from gitmem.values import dataclass

COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

# Stands for a colour until the text around it was judged; nobody's text can hold it.
_MARK = f"\0{os.urandom(8).hex()}:"
_STYLED = re.compile(rf"{_MARK}(\d+);")


@dataclass(frozen=True)
class Output:
    """Where a command speaks.

    Attributes:
        as_json: print one JSON value instead of lines.
        quiet: no talk; data still comes.
        colour: `auto`, `always` or `never`.
        yes: every question is answered with yes.
    """

    as_json: bool = False
    quiet: bool = False
    colour: str = "auto"
    yes: bool = False

    def data(self, line: str = "") -> None:
        """One line of data; control characters are shown, not obeyed."""
        sys.stdout.write(_shown(line) + "\n")

    def json(self, given: Any) -> None:
        """One JSON value, keys in the order given."""
        sys.stdout.write(json.dumps(value(given), indent=2, ensure_ascii=False) + "\n")

    def say(self, line: str) -> None:
        """One line of talk."""
        if not self.quiet:
            # Where both go to one file or pipe, as they do for an agent, they stay in order.
            with suppress(OSError):
                sys.stdout.flush()
            sys.stderr.write(_shown(line) + "\n")

    def warn(self, line: str) -> None:
        """One line that is shown even when quiet."""
        sys.stderr.write(f"gitmem: {_shown(line)}\n")

    def paint(self, text: str, style: str) -> str:
        """Text in a colour, where colour is wanted."""
        return f"{_MARK}{COLOURS[style]};{text}{_MARK}0;" if self._coloured() else text

    def ask(self, question: str) -> None:
        """Asks for consent.

        Raises:
            CheckFailed: the answer was no, or nobody can answer.
        """
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise CheckFailed(f"Nobody can answer here: {question}", "Say yes beforehand with -y.")
        sys.stderr.write(f"{_shown(question)} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CheckFailed("Nothing was done")

    def answer(self, question: str) -> str:
        """What the person answers to an open question; empty where they say nothing."""
        sys.stderr.write(_shown(question))
        sys.stderr.flush()
        return sys.stdin.readline().strip()

    def _coloured(self) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return not plain and sys.stdout.isatty()


def _shown(line: str) -> str:
    """Judges each stretch of a line between two colours, and puts the colours in."""
    if _MARK not in line:
        return row(line)
    parts = _STYLED.split(line)
    return "".join(f"\x1b[{part}m" if at % 2 else row(part) for at, part in enumerate(parts))
