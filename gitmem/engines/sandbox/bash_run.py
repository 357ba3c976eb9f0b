"""Carries out a command line over the view. No shell and no process is started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gitmem.engines.sandbox.bash_options import Given
from gitmem.engines.sandbox.bash_parse import Word, parse
from gitmem.engines.sandbox.budget import Problem, Refusal
from gitmem.engines.sandbox.tools import TEXT_CHARS
from gitmem.engines.sandbox.view import View
from gitmem.engines.sandbox.wildcards import expand

PIPE_CHARS = 2_000_000
"""Characters that one command hands to the next, at most; the rest is cut, and said to be."""


@dataclass
class Run:
    """What one command works with.

    Attributes:
        view: what exists.
        name: the command.
        input: what the command before it wrote; None for the first.
        complaints: what would go to standard error.
        seen: is told the plain path of each file that is shown.
        room: characters of output that are of use.
        failed: something that was asked for could not be done.
    """

    view: View
    name: str
    input: str | None = None
    complaints: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    room: int = PIPE_CHARS
    failed: bool = False

    def complain(self, problem: Problem) -> None:
        """Notes what cannot be done, and lets the command go on.

        Raises:
            Refusal: it was not allowed; that ends the whole line.
        """
        if isinstance(problem, Refusal):
            raise problem
        self.complaints.append(f"{self.name}: {problem}")
        self.failed = True

    def operands(self, words: tuple[Word, ...]) -> Iterator[str]:
        """Yields paths as written, wildcards expanded; what they match nothing for stays, as in a shell."""
        for word in words:
            found = expand(self.view, word.pattern) if word.pattern is not None else ()
            yield from found or (word.text,)

    def files(self, given: Given) -> Iterator[tuple[str, str]]:
        """Yields (as written, text) of each file named, or of the input where none is or `-` is.

        Raises:
            Refusal: a file may not be read.
        """
        named = tuple(self.operands(given.operands))
        for path in named or ("-",):
            if path == "-":
                yield "-", self.piped()
                continue
            try:
                plain = self.view.resolve(path)
                text = self.view.text(plain)
            except Problem as problem:
                self.complain(problem)
                continue
            self.seen.add(plain)
            yield path, text

    def piped(self) -> str:
        """What the command before wrote.

        Raises:
            Refusal: there is none.
        """
        if self.input is None:
            raise Refusal(f"{self.name}: name a file; there is no input to read")
        return self.input


Command = Callable[[Run, tuple[Word, ...]], str]


def run(view: View, line: str, seen: set[str]) -> str:
    """Carries out one command line.

    Args:
        line: commands joined by pipes.
        seen: is told the plain path of each file that is shown.

    Returns:
        output of the last command, then complaints of all, one a line.

    Raises:
        Problem: there is no output, but complaints.
        Refusal: something in it is not allowed; nothing of it is shown then.
    """
    from gitmem.engines.sandbox.commands import COMMANDS

    stages = parse(line)
    for stage in stages:
        if stage.words[0].text not in COMMANDS or stage.words[0].pattern is not None:
            known = ", ".join(sorted(COMMANDS))
            raise Refusal(
                f"{stage.words[0].text[:40]!a} is not available; only {known} and pipes of them are"
            )
    output: str | None = None
    complaints: list[str] = []
    failed = False
    for at, stage in enumerate(stages, start=1):
        room = TEXT_CHARS if at == len(stages) else PIPE_CHARS
        here = Run(view, stage.words[0].text, output, seen=seen, room=room)
        output = COMMANDS[here.name](here, stage.words[1:])
        view.budget.spend(len(output) // 10)
        if len(output) > PIPE_CHARS:
            output = output[:PIPE_CHARS]
            complaints.append(f"{here.name}: cut after {PIPE_CHARS:,} characters")
        failed = failed or here.failed
        if not stage.quiet:
            complaints += here.complaints
    if failed and complaints and not output:
        raise Problem("\n".join(complaints))
    return (output or "") + "".join(f"{line}\n" for line in complaints)
