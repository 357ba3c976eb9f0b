"""Reads the options of a command as GNU's tools do, and takes none that is not listed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gitmem.engines.sandbox.bash_parse import Word
from gitmem.engines.sandbox.budget import Refusal

MOST = 10_000_000
"""Largest number that an option takes."""


@dataclass(frozen=True)
class Spec:
    """What a command takes.

    Attributes:
        flags: letters of options without a value.
        valued: letters of options with one.
        long: long name to the letter it stands for.
        digits: letter that a bare number stands for: `-5` for `-n 5`; empty for none.
    """

    flags: str = ""
    valued: str = ""
    long: dict[str, str] = field(default_factory=dict)
    digits: str = ""


@dataclass(frozen=True)
class Given:
    """What a command was given.

    Attributes:
        options: letter to its values in order; those of a flag are empty.
        operands: all other words, in order.
    """

    options: dict[str, list[str]]
    operands: tuple[Word, ...]

    def has(self, letters: str) -> bool:
        """Whether one of some options is there."""
        return any(letter in self.options for letter in letters)

    def last(self, letter: str) -> str | None:
        """The last value of an option."""
        return self.options[letter][-1] if letter in self.options else None


def read_options(command: str, spec: Spec, words: Sequence[Word]) -> Given:
    """Sorts words into options and operands; options may stand behind operands, `--` ends them.

    Raises:
        Refusal: an option is not listed, or lacks its value.
    """
    options: dict[str, list[str]] = {}
    operands: list[Word] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        text = word.text
        if text == "--":
            operands += rest
            break
        if text.startswith("--"):
            name, given, value = text[2:].partition("=")
            letter = spec.long.get(name)
            if letter is None or (given and letter not in spec.valued):
                raise _unknown(command, text, spec)
            if letter in spec.valued and not given:
                value = _value(command, text, rest)
            options.setdefault(letter, []).append(value)
        elif spec.digits and re.fullmatch(r"-\d{1,9}", text):
            options.setdefault(spec.digits, []).append(text[1:])
        elif len(text) > 1 and text[0] == "-":
            _letters(command, text, spec, rest, options)
        else:
            operands.append(word)
    return Given(options, tuple(operands))


def number(command: str, text: str, signs: str = "") -> int:
    """Reads a number that an option was given.

    Args:
        signs: signs that may stand before it.

    Raises:
        Refusal: it is none, or out of bounds.
    """
    digits = text[1:] if text[:1] and text[0] in signs else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 8 or int(digits) > MOST:
        raise Refusal(f"{command}: {text[:20]!a} is no number up to {MOST:,}")
    return int(digits)


def _letters(command: str, text: str, spec: Spec, rest: list[Word], options: dict[str, list[str]]) -> None:
    for at, letter in enumerate(text[1:], start=1):
        if letter in spec.valued:
            value = text[at + 1 :] or _value(command, f"-{letter}", rest)
            options.setdefault(letter, []).append(value)
            return
        if letter not in spec.flags:
            raise _unknown(command, f"-{letter}", spec)
        options.setdefault(letter, []).append("")


def _value(command: str, option: str, rest: list[Word]) -> str:
    if not rest:
        raise Refusal(f"{command}: {option} needs a value")
    return rest.pop(0).text


def _unknown(command: str, option: str, spec: Spec) -> Refusal:
    letters = "".join(
        letter for letter in spec.flags + spec.valued if letter.isascii() and letter.isalpha()
    )
    long = " ".join(f"--{name}" for name in spec.long)
    return Refusal(
        f"{command}: the option {option[:40]!a} is not allowed; allowed: -{letters} {long}".rstrip()
    )
