"""Reads a regular expression into a tree. What a matcher could not run in linear time is refused.

The syntax is the part that POSIX basic and extended expressions, and those of common tools, have in common:
`. [] * + ? {m,n} | () ^ $ \\b \\< \\> \\w \\d \\s`; no back references and no looking around.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from gitmem.engines.sandbox.budget import Refusal

Syntax = Literal["basic", "extended", "perl", "fixed"]

PATTERN_CHARS = 1_000
NESTING = 30
STACKED = 3
REPEATS = 200
"""Most repeats that `{m,n}` may name; each is a copy of what it repeats."""

_CLASSES: dict[str, Callable[[str], bool]] = {
    "alpha": str.isalpha,
    "digit": str.isdigit,
    "alnum": str.isalnum,
    "upper": str.isupper,
    "lower": str.islower,
    "space": str.isspace,
    "blank": lambda char: char in " \t",
    "punct": lambda char: char.isprintable() and not char.isalnum() and not char.isspace(),
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
    "word": lambda char: char.isalnum() or char == "_",
}
_ESCAPES = {"w": "word", "d": "digit", "s": "space"}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}
_INTERVAL = re.compile(r"(\d{1,4})(?:(,)(\d{1,4})?)?|,(\d{1,4})")


@dataclass(frozen=True)
class Chars:
    """One character: any that one of the parts takes, or that none takes.

    Attributes:
        singles: characters themselves.
        ranges: first and last.
        classes: names of `_CLASSES`, with `!` in front for all others.
    """

    singles: str = ""
    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    negated: bool = False

    def takes(self, char: str) -> bool:
        """Whether it takes this character."""
        found = (
            char in self.singles
            or any(first <= char <= last for first, last in self.ranges)
            or any(
                not _CLASSES[name[1:]](char) if name[0] == "!" else _CLASSES[name](char)
                for name in self.classes
            )
        )
        return found != self.negated


@dataclass(frozen=True)
class At:
    """A place between characters: `^`, `$`, `b`, `B`, `<` or `>`."""

    kind: str


@dataclass(frozen=True)
class Run:
    """One after the other; nothing for none."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Either:
    """One of them."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """The same several times; `most` None has no end."""

    node: Node
    least: int
    most: int | None


Node = Chars | At | Run | Either | Repeat
ANY = Chars(negated=True)


def read(pattern: str, syntax: Syntax) -> Node:
    """Reads one expression.

    Raises:
        Refusal: it is none, or it cannot be run in linear time.
    """
    if len(pattern) > PATTERN_CHARS:
        raise Refusal(f"the expression is longer than {PATTERN_CHARS:,} characters")
    if syntax == "fixed":
        return Run(tuple(map(Chars, pattern)))
    return _Reader(pattern, syntax).whole()


class _Reader:
    def __init__(self, pattern: str, syntax: Syntax) -> None:
        self._text = pattern
        self._basic = syntax == "basic"
        self._perl = syntax == "perl"
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._either()
        if self._at < len(self._text):
            raise self._wrong("a closing parenthesis has no opening one")
        return node

    def _either(self) -> Node:
        parts = [self._run()]
        while self._sign("|"):
            parts.append(self._run())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _run(self) -> Node:
        parts: list[Node] = []
        while self._at < len(self._text) and not self._next_is("|") and not self._next_is(")"):
            parts.append(self._repeated(self._single(not parts)))
        return Run(tuple(parts))

    def _repeated(self, node: Node) -> Node:
        stacked = 0
        while (times := self._times()) is not None:
            stacked += 1
            if isinstance(node, At) or stacked > STACKED:
                raise self._wrong("an anchor, or a repeat of repeats, cannot be repeated")
            node = Repeat(node, *times)
            if self._perl:
                # Whether it is greedy makes no difference to whether a line matches.
                self._sign("?")
                if self._next_is("*") or self._next_is("+"):
                    raise self._wrong("a repeat of a repeat needs parentheses")
        return node

    def _times(self) -> tuple[int, int | None] | None:
        for sign, times in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._sign(sign):
                return times
        if not self._next_is("{"):
            return None
        close = self._text.find("\\}" if self._basic else "}", self._at)
        opening = 2 if self._basic else 1
        found = _INTERVAL.fullmatch(self._text[self._at + opening : close]) if close > 0 else None
        if found is None:
            if self._basic:
                raise self._wrong("the repeat in braces is not of the form m,n")
            return None
        self._at = close + opening
        least = int(found[1] or 0)
        most = int(found[3] or found[4]) if found[3] or found[4] else (None if found[2] else least)
        if max(least, most or 0) > REPEATS or (most is not None and most < least):
            raise self._wrong(f"a repeat in braces is in order and at most {REPEATS}")
        return least, most

    def _single(self, first: bool) -> Node:
        if self._sign("("):
            return self._group()
        char = self._text[self._at]
        self._at += 1
        if char == "[":
            return self._bracket()
        if char == ".":
            return ANY
        if char == "^" and (first or not self._basic):
            return At("^")
        if char == "$" and (not self._basic or self._closes()):
            return At("$")
        if (char == "*" and not (first and self._basic)) or (char in "+?" and not self._basic):
            raise self._wrong(f"nothing stands before {char}")
        return self._escape() if char == "\\" else Chars(char)

    def _closes(self) -> bool:
        return self._at == len(self._text) or self._next_is(")") or self._next_is("|")

    def _group(self) -> Node:
        self._depth += 1
        if self._depth > NESTING:
            raise self._wrong(f"parentheses are nested deeper than {NESTING}")
        if not self._basic and self._text.startswith("?", self._at):
            if not self._text.startswith("?:", self._at):
                raise self._wrong("groups that look around, name or switch something are not supported")
            self._at += 2
        node = self._either()
        if not self._sign(")"):
            raise self._wrong("a parenthesis is not closed")
        self._depth -= 1
        return node

    def _escape(self) -> Node:
        if self._at == len(self._text):
            raise self._wrong("it ends with a backslash")
        char = self._text[self._at]
        self._at += 1
        if char in "bB<>":
            return At(char)
        if char.lower() in _ESCAPES:
            name = _ESCAPES[char.lower()]
            return Chars(classes=(name if char.islower() else f"!{name}",))
        if char in _CONTROLS:
            return Chars(_CONTROLS[char])
        if char.isalnum():
            raise self._wrong(f"\\{char} is not supported: no back references, no named characters")
        return Chars(char)

    def _bracket(self) -> Node:
        singles, ranges, classes = "", [], []
        negated = self._text.startswith("^", self._at)
        self._at += negated
        opening = True
        while opening or not self._text.startswith("]", self._at):
            opening = False
            char, name = self._member()
            if name:
                classes.append(name)
            elif self._text.startswith("-", self._at) and self._text[self._at + 1 : self._at + 2] not in (
                "",
                "]",
            ):
                self._at += 1
                last, name = self._member()
                if name or last < char:
                    raise self._wrong("a range in brackets is out of order")
                ranges.append((char, last))
            else:
                singles += char
        self._at += 1
        return Chars(singles, tuple(ranges), tuple(classes), negated)

    def _member(self) -> tuple[str, str]:
        """One character of a bracket, or the name of a class."""
        if self._text.startswith("[:", self._at):
            name, _, rest = self._text[self._at + 2 :].partition(":]")
            if name not in _CLASSES:
                raise self._wrong(f"there is no class {name[:20]!a}")
            self._at = len(self._text) - len(rest)
            return "", name
        char = self._text[self._at : self._at + 1]
        self._at += 1
        if char == "\\" and self._at < len(self._text):
            node = self._escape()
            if isinstance(node, Chars) and node.classes:
                return "", node.classes[0]
            char = node.singles if isinstance(node, Chars) else self._text[self._at - 1]
        if not char or self._text.startswith(("[.", "[="), self._at - 1):
            raise self._wrong("a bracket is not closed, or holds what is not supported")
        return char, ""

    def _next_is(self, sign: str) -> bool:
        """Whether an operator comes next; basic expressions spell all but `*` with a backslash."""
        spelt = f"\\{sign}" if self._basic and sign != "*" else sign
        return self._text.startswith(spelt, self._at)

    def _sign(self, sign: str) -> bool:
        if not self._next_is(sign):
            return False
        self._at += 2 if self._basic and sign != "*" else 1
        return True

    def _wrong(self, why: str) -> Refusal:
        return Refusal(f"the expression {self._text[:80]!a} cannot be used: {why}")
