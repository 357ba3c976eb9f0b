"""What one command of a line works with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from gitmem.engines.sandbox.bash_options import Given
from gitmem.engines.sandbox.bash_parse import Word
from gitmem.engines.sandbox.budget import Problem, Refusal
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
