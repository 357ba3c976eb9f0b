"""Everything a person reads goes through one object: data on stdout, talk on stderr, by the one exit."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from gitmem.core.errors import CheckFailed
from gitmem.core.text import wrapped
from gitmem.flows.exit import row, shown, value
from gitmem.values import dataclass

COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

NARROW, WIDE = 40, 100
"""Columns between which lines are wrapped: a terminal may be narrower, and prose wider than this tires."""

# Stands for a colour until the text around it was judged; nobody's text can hold it.
_MARK = f"\0{os.urandom(8).hex()}:"
_HEADING = re.compile(r"\d+\. ")
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

    def claims(self, lines: Iterable[str]) -> list[str]:
        """Lines of a card as pieces that fit the terminal, what goes (`   - `) red, what comes green.

        Each is judged whole, since half of a secret is none; where no terminal shows them, none is broken.
        """
        width = self.width
        return [
            self.paint(piece, style) if style else piece
            for line in lines
            for style in (_style(line),)
            for piece in (_pieces(line, width) if width else [line])
        ]

    @property
    def width(self) -> int:
        """Columns that a line may take: the terminal's, but no more than prose can; 0 for any number.

        As everywhere, COLUMNS says it where it is set.
        """
        if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
            return 0
        return max(NARROW, min(shutil.get_terminal_size().columns, WIDE)) - 1

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

    def prompt(self, question: str) -> None:
        """A question on a line that the answer goes on."""
        with suppress(OSError):
            sys.stdout.flush()
        sys.stderr.write(_shown(question))
        sys.stderr.flush()

    def answer(self, question: str) -> str:
        """What the person answers to an open question; empty where they say nothing."""
        self.prompt(question)
        return sys.stdin.readline().strip()

    def _coloured(self) -> bool:
        if self.colour != "auto":
            return self.colour == "always"
        plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
        return not plain and sys.stdout.isatty()


def _style(line: str) -> str:
    """The colour of a card's line, by its mark."""
    mark = line[3:5] if line.startswith("   ") else ""
    found = {"- ": "red", "+ ": "green", "  ": "dim"}.get(mark, "")
    return found or ("bold" if _HEADING.match(line) else "")


def _pieces(line: str, width: int) -> Iterator[str]:
    marked = line[:5].strip() in ("-", "+", "=")
    indent = " " * (5 if marked else 3 if _HEADING.match(line) else len(line) - len(line.lstrip()))
    for part in shown(line).split("\n"):
        yield from wrapped(part, width, indent)


def _shown(line: str) -> str:
    """Judges each stretch of a line between two colours, and puts the colours in."""
    if _MARK not in line:
        return row(line)
    parts = _STYLED.split(line)
    return "".join(f"\x1b[{part}m" if at % 2 else row(part) for at, part in enumerate(parts))
