"""Cuts a command line into commands and words, as a shell would; refuses whatever only a shell could do."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitmem.engines.sandbox.budget import Refusal

COMMAND_CHARS = 4_000
STAGES = 8
WORDS = 200

_BLANK = " \t"
_SPECIAL_IN_PATTERN = "*?["
_QUIET = re.compile(r"2>(?:[ \t]*/dev/null|&1)(?=[ \t|]|$)")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_REASONS = {
    ";": "one command line at a time: `;` is not allowed",
    "&": "`&` and `&&` are not allowed: one command line at a time",
    "`": "command substitution is not allowed",
    "(": "subshells and functions are not allowed; quote parentheses",
    ")": "subshells and functions are not allowed; quote parentheses",
    "<": "input cannot be redirected: name the file",
    ">": "output cannot be redirected; files are written with Edit and Write, in memory/ alone",
    "{": "braces are not expanded: name each path, or quote them",
    "}": "braces are not expanded: name each path, or quote them",
    "#": "comments are not allowed; quote `#`",
}


@dataclass(frozen=True)
class Word:
    """One word.

    Attributes:
        text: what it is once quotes are gone.
        pattern: the same with what was quoted made literal, where it has a wildcard outside of quotes.
    """

    text: str
    pattern: str | None = None


@dataclass(frozen=True)
class Stage:
    """One command of a pipe.

    Attributes:
        words: the command's name first.
        quiet: its complaints are thrown away, `2>/dev/null`.
    """

    words: tuple[Word, ...]
    quiet: bool = False


def parse(line: str) -> tuple[Stage, ...]:
    """Cuts a command line.

    Raises:
        Refusal: it asks for more than commands joined by pipes.
    """
    if len(line) > COMMAND_CHARS:
        raise Refusal(f"the command is longer than {COMMAND_CHARS:,} characters")
    line = line.strip()
    if "\n" in line or "\r" in line:
        raise Refusal("one command line at a time: line breaks are not allowed")
    if not all(char.isprintable() or char == "\t" for char in line):
        raise Refusal("the command holds control, invisible or undecodable characters")
    stages = _Cutter(line).stages()
    for stage in stages:
        if not stage.words:
            raise Refusal("a command is missing" if len(stages) > 1 else "the command is empty")
        if _ASSIGNMENT.match(stage.words[0].text):
            raise Refusal("variables cannot be set")
    return stages


class _Cutter:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0

    def stages(self) -> tuple[Stage, ...]:
        stages: list[Stage] = []
        words: list[Word] = []
        quiet = False
        while self._at < len(self._line):
            char = self._line[self._at]
            found = _QUIET.match(self._line, self._at)
            if char in _BLANK:
                self._at += 1
            elif found:
                # Complaints and output go to the same place, so 2>&1 changes nothing.
                quiet = quiet or "null" in found[0]
                self._at = found.end()
            elif char == "|":
                if self._line[self._at + 1 : self._at + 2] in ("|", "&"):
                    raise Refusal("`||` and `|&` are not allowed: one command line at a time")
                stages.append(Stage(tuple(words), quiet))
                words, quiet = [], False
                self._at += 1
            else:
                words.append(self._word())
            if len(words) > WORDS or len(stages) >= STAGES:
                raise Refusal(f"a command has at most {WORDS} words, a pipe at most {STAGES} commands")
        return (*stages, Stage(tuple(words), quiet))

    def _word(self) -> Word:
        text: list[str] = []
        pattern: list[str] = []
        wild = False
        if self._line[self._at] == "~":
            raise Refusal("there is no home folder here: paths start at the top of the repository")
        if self._line[self._at] == "#":
            raise Refusal(_REASONS["#"])
        while self._at < len(self._line):
            char = self._line[self._at]
            if char in _BLANK or char == "|":
                break
            self._at += 1
            if char in "'\"":
                for quoted in self._quoted(char):
                    text.append(quoted)
                    pattern.append(_literal(quoted))
                continue
            if char == "\\":
                if self._at == len(self._line):
                    raise Refusal("the command ends with a backslash")
                char = self._line[self._at]
                self._at += 1
                text.append(char)
                pattern.append(_literal(char))
                continue
            if char == "$":
                self._no_variable(in_quotes=False)
            if char in _REASONS and char != "#":
                raise Refusal(_REASONS[char])
            wild = wild or char in _SPECIAL_IN_PATTERN
            text.append(char)
            pattern.append(char)
        return Word("".join(text), "".join(pattern) if wild else None)

    def _quoted(self, quote: str) -> str:
        found: list[str] = []
        while self._at < len(self._line):
            char = self._line[self._at]
            self._at += 1
            if char == quote:
                return "".join(found)
            if quote == '"':
                if char == "`":
                    raise Refusal(_REASONS["`"])
                if char == "$":
                    self._no_variable(in_quotes=True)
                if char == "\\" and self._line[self._at : self._at + 1] in ("$", "`", '"', "\\"):
                    char = self._line[self._at]
                    self._at += 1
            found.append(char)
        raise Refusal("a quotation is not closed")

    def _no_variable(self, *, in_quotes: bool) -> None:
        """Lets a `$` stand where a shell would: at the end of a word or before what names nothing."""
        after = self._line[self._at : self._at + 1]
        ends = (
            ("", " ", "\t", "|", "/", ".", ",", ")")
            if not in_quotes
            else ("", " ", '"', "|", ")", "/", "\\")
        )
        if after not in ends:
            raise Refusal("variables and substitutions are not allowed; put `$` in single quotes")


def _literal(char: str) -> str:
    return f"[{char}]" if char in _SPECIAL_IN_PATTERN else char
