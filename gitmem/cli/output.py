"""What a command prints: data on stdout, talk and progress on stderr, by the one exit and git's pager."""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import CheckFailed, Declined
from gitmem.core.text import cells, iso
from gitmem.flows.json_values import aside_hint, place_value, sound
from gitmem.flows.redaction import line, redact, row, value
from gitmem.values import dataclass

if TYPE_CHECKING:
    import subprocess

    from gitmem.flows.context import Edges


COLOURS = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

NARROW, WIDE = 40, 100
"""Columns between which lines are wrapped: a terminal may be narrower, and prose wider than this tires."""

HANGING = 4
"""Columns by which the rest of a line stands further in than its beginning."""

# Stands for a colour until the text around it was judged; nobody's text can hold it.
_MARK = f"\0{os.urandom(8).hex()}:"
_HEADING = re.compile(r"\d+\. ")
_STYLED = re.compile(rf"{_MARK}(\d+);")
_COLOUR = re.compile("\x1b\\[[0-9]+m")


__all__ = ["DAY", "age", "aside_hint", "day", "iso", "place_value", "sound"]

DAY = 86_400

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

_begun: list[Progress] = []

IN_USE = "GIT_PAGER_IN_USE"
"""Set by git, too (`git -p mem log`): standard output is a pipe, behind which a person reads."""

CHOSEN = ("GIT_PAGER", "PAGER")

LESS = "FRX"
"""Git's own: leave at once where all fits, keep colours, keep the screen."""


@dataclass(frozen=True)
class Output:
    """Where a command speaks.

    Attributes:
        as_json: print one JSON value instead of lines.
        quiet: no talk; data still comes.
        colour: `auto`, `always` or `never`.
        yes: every question is answered with yes.
        pages: a reading command may send what it prints through a pager.
    """

    as_json: bool = False
    quiet: bool = False
    colour: str = "auto"
    yes: bool = False
    pages: bool = True

    @property
    def silent(self) -> bool:
        """Whether nothing but data is wanted, so that no progress is told."""
        return self.quiet or self.as_json

    def data(self, line: str = "") -> None:
        """One line of data; control characters are shown, not obeyed, and a terminal's width is kept."""
        settle()
        sys.stdout.write(_fitted(_shown(line), on_terminal()) + "\n")

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
        if not (on_terminal() or os.environ.get("COLUMNS")):
            return 0
        return max(NARROW, min(shutil.get_terminal_size().columns, WIDE)) - 1

    def json(self, given: Any) -> None:
        """One JSON value, keys in the order given."""
        sys.stdout.write(json.dumps(value(given), indent=2, ensure_ascii=False) + "\n")

    def say(self, line: str) -> None:
        """One line of talk."""
        settle()
        if not self.quiet:
            # Where both go to one file or pipe, as they do for an agent, they stay in order.
            with suppress(OSError):
                sys.stdout.flush()
            sys.stderr.write(fitted_talk(_shown(line)) + "\n")

    def warn(self, line: str) -> None:
        """One line that is shown even when quiet."""
        settle()
        sys.stderr.write(fitted_talk(f"gitmem: {_shown(line)}") + "\n")

    def paint(self, text: str, style: str) -> str:
        """Text in a colour, where colour is wanted."""
        return f"{_MARK}{COLOURS[style]};{text}{_MARK}0;" if self._coloured() else text

    def ask(self, question: str) -> None:
        """Asks for consent.

        Raises:
            Declined: the answer was no.
            CheckFailed: nobody can answer.
        """
        if self.yes:
            return
        if not sys.stdin.isatty():
            raise CheckFailed(
                f"There is no terminal to ask at: {question}", "To answer yes, run it again with -y."
            )
        settle()
        sys.stderr.write(f"{_shown(question)} [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Declined("Nothing was done")

    def agrees(self, leaves: Iterable[object], question: str) -> bool:
        """Names what leaves for the first time, and asks for it; a no, or nobody to answer, is False."""
        for one in leaves:
            self.say(f"  leaves for the first time: {one}")
        try:
            self.ask(question)
        except CheckFailed:
            return False
        return True

    def prompt(self, question: str) -> None:
        """A question on a line that the answer goes on."""
        settle()
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
        return not plain and on_terminal()


def _style(line: str) -> str:
    """The colour of a card's line, by its mark."""
    mark = line[3:5] if line.startswith("   ") else ""
    found = {"- ": "red", "+ ": "green", "  ": "dim"}.get(mark, "")
    return found or ("bold" if _HEADING.match(line) else "")


def _pieces(line: str, width: int) -> Iterator[str]:
    marked = line[:5].strip() in ("-", "+", "=")
    own = min(len(line) - len(line.lstrip()), width // 2)
    indent = " " * (5 if marked else 3 if _HEADING.match(line) else own)
    for part in redact(line).expandtabs(4).split("\n"):
        yield from folded(part, width, indent, whole=False)


def _talks() -> bool:
    return sys.stderr.isatty() or (on_terminal() and not sys.stdout.isatty())


def fitted(text: str, columns: int) -> str:
    """Lines that a terminal of so many columns shows without breaking a word.

    What goes on in the next line stands further in. A word that is longer than the line is left to the
    terminal: an address or a command can be copied whole.

    Args:
        text: of one line or several; colours take no room.
    """
    found: list[str] = []
    for part in text.split("\n"):
        indent = min(len(part) - len(part.lstrip(" ")) + HANGING, columns // 2)
        found += folded(part, columns, " " * indent)
    return "\n".join(found)


def folded(line: str, columns: int, indent: str, *, whole: bool = True) -> Iterator[str]:
    """A line as lines of at most so many terminal cells, broken at spaces.

    Args:
        columns: cells, more than the indent takes; colours take none.
        indent: stands before each line but the first.
        whole: whether a word that is longer than the line stays whole.
    """
    if cells(_COLOUR.sub("", line)) <= columns:
        yield line
        return
    part, room = "", columns
    for piece in re.findall(r" *[^ ]+", line):
        wide = cells(_COLOUR.sub("", piece))
        if part.strip() and wide > room:
            yield part
            piece = indent + piece.lstrip(" ")
            part, room, wide = "", columns, cells(_COLOUR.sub("", piece))
        if wide > columns and not whole:
            *lines, piece = _cut(piece, columns, indent)
            yield from lines
            wide = cells(piece)
        part, room = part + piece, room - wide
    yield part


def _cut(word: str, columns: int, indent: str) -> list[str]:
    """A word as pieces of at most so many cells, in one walk: a memory may hold one of 100 KB."""
    pieces, room = [""], columns
    for char in word:
        wide = cells(char)
        if wide > room and pieces[-1] != indent:
            pieces.append(indent)
            room = columns - len(indent)
        pieces[-1] += char
        room -= wide
    return pieces


def fitted_talk(text: str) -> str:
    """Talk as the terminal that shows it has room for it."""
    return _fitted(text, _talks())


def _fitted(text: str, watched: bool) -> str:
    return fitted(text, max(NARROW, shutil.get_terminal_size().columns)) if watched else text


def _shown(line: str) -> str:
    """Judges each stretch of a line between two colours, and puts the colours in."""
    if _MARK not in line:
        return row(line)
    parts = _STYLED.split(line)
    return "".join(f"\x1b[{part}m" if at % 2 else row(part) for at, part in enumerate(parts))


def day(time: float) -> str:
    """A moment for a person: date and minute in their time zone."""
    return datetime.fromtimestamp(time, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def age(time: float, now: float) -> str:
    """How long ago, in one word or two.

    Args:
        time, now: seconds since the epoch; a `time` of 0 is unknown.
    """
    if not time:
        return "unknown"
    days = int(max(0, now - time) // DAY)
    if days == 0:
        return "today"
    for count, unit in ((days // 365, "year"), (days // 30, "month"), (days, "day")):
        if count >= (2 if unit != "day" else 1):
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{days} days"


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
            columns = max(NARROWEST, shutil.get_terminal_size().columns)
            text = f"{line(step, columns - 4)} …"
            sys.stderr.write(self._wiped() + text)
            sys.stderr.flush()
            self._shown = cells(text)

    def _wiped(self) -> str:
        """Takes away what stands in the line, without a sequence that only some terminals know."""
        return f"\r{' ' * self._shown}\r" if self._shown else ""


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
