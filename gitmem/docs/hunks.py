"""What a patch made of a name: read from its hunks, where one line became another but for that name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from difflib import SequenceMatcher

from gitmem.values import dataclass

MARK = "\x01"
"""Begins the line of a commit: its name and its time."""

MOST_LINES = 200
"""Lines of a hunk that are compared: beyond them it is no rename of one thing."""

LONGEST_LINE = 2_000
"""Characters of a line of code that may define something."""

ALIKE = 0.6
"""Share of the lines around a definition that have to stay, but for the name: git's for files is half."""

TOKEN = re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*|[^\W\d]\w*|\d+|[^\w\s]")
_HEADER = re.compile(r"([0-9a-f]{40,64}) (\d{1,15})")
_INTRODUCES = (
    r"(?:def|class|func|fn|function|struct|enum|trait|interface|type|const|let|var|val|static|module|namespace|"
    r"union|macro_rules!|\#define|object|record|sub|proc|table|view)"
)


@dataclass(frozen=True)
class Hunk:
    """A run of lines that became others.

    Attributes:
        commit, time: the commit, and its committer time; empty and 0 for what is not committed.
    """

    commit: str
    time: int
    removed: tuple[str, ...]
    added: tuple[str, ...]


@dataclass(frozen=True)
class WordFate:
    """What became of a word.

    Attributes:
        commit, time: the newest commit that took it out of a line.
        now: what it was renamed to; empty where that is not plain.
    """

    commit: str
    time: int
    now: str = ""


def hunks(patch: str) -> Iterator[Hunk]:
    """Reads `git log -p -U0`, whose commits begin with a line of `MARK`, their names and times."""
    commit, moment = "", 0
    removed: list[str] = []
    added: list[str] = []
    inside = False
    for line in patch.split("\n"):
        if inside and line.startswith("-"):
            removed.append(line[1:])
            continue
        if inside and line.startswith("+"):
            added.append(line[1:])
            continue
        if inside and line.startswith("\\"):
            continue
        if removed or added:
            yield Hunk(commit, moment, tuple(removed), tuple(added))
            removed, added = [], []
        inside = line.startswith("@@ ")
        if line.startswith(MARK) and (header := _HEADER.fullmatch(line[1:])):
            commit, moment = header[1], int(header[2])
    if removed or added:
        yield Hunk(commit, moment, tuple(removed), tuple(added))


def word_fates(
    patch: Collection[Hunk], words: Collection[str], *, given: bool = False
) -> dict[str, WordFate]:
    """What became of words that are no longer in the code.

    Args:
        patch: hunks, newest commit first.
        words: identifiers and flags.
        given: they are words that a program is given: elsewhere the code may have them still, so that only
            lines count that define them.
    """
    last: dict[str, Hunk] = {}
    votes: dict[str, dict[str, Counter[str]]] = {}
    for hunk in patch:
        here = {token for line in hunk.removed for token in TOKEN.findall(line)} & set(words)
        if given:
            here = {word for word in here if any(gives(line, word) for line in hunk.removed)}
        for word in here:
            last.setdefault(word, hunk)
            if len(hunk.removed) <= MOST_LINES and len(hunk.added) <= MOST_LINES:
                votes.setdefault(word, {}).setdefault(hunk.commit, Counter()).update(
                    _renamed(hunk, word, given)
                )
    found = {}
    for word, hunk in last.items():
        # The newest commit that plainly renamed a definition counts.
        new = next((names for names in votes.get(word, {}).values() if names), Counter())
        found[word] = WordFate(hunk.commit, hunk.time, next(iter(new)) if len(new) == 1 else "")
    return found


def defines(line: str, word: str) -> bool:
    """Whether a line of code brings a name into being."""
    if word.startswith("--"):
        return True
    if len(line) > LONGEST_LINE:  # made by a program, or to take long
        return False
    name = re.escape(word)
    patterns = (
        rf"(?<!\w){_INTRODUCES}\s+(?:\([^)]*\)\s*|self\.)?{name}\b",
        rf"^(?:\s*(?:export\s+|public\s+|private\s+|self\.)+)?{name}\s*(?::[^=\n]+)?=(?!=)",
        # Further in, `name=` is what a function is given, and its word; `NAME=` is a shell's.
        rf"^\s+{name}(?:\s*:[^=\n]+|\s+){'?' if word.isupper() else ''}=(?!=)",
        rf"^\s*{name}\s*:",
        rf"\b{name}\s*\([^;]*\{{\s*$",
        rf"^[A-Za-z_][\w*&<>:, ]*[\s*&]{name}\s*\([^;]*\{{?\s*$",
        rf"^\s*[\"']{name}[\"']\s*[:,]",
    )
    return any(re.search(pattern, line) for pattern in patterns)


def gives(line: str, word: str) -> bool:
    """Whether a line of code gives a word to a program: in quotes, or as a function of its own."""
    return f'"{word}"' in line or f"'{word}'" in line or defines(line, word)


def _renamed(hunk: Hunk, word: str, given: bool) -> Iterator[str]:
    """What definitions of a word in a hunk are called behind it."""
    defining = [line for line in hunk.removed if word in line and (gives if given else defines)(line, word)]
    for line in defining:
        before = TOKEN.findall(line)
        new = {name for other in hunk.added if (name := _put_for(word, before, TOKEN.findall(other)))}
        for name in new:
            if (gives if given else defines)(line.replace(word, name), name) and _stays(hunk, word, name):
                yield name


def _put_for(word: str, before: list[str], after: list[str]) -> str:
    """The one token that stands for a word in a line that else is the same."""
    if len(before) != len(after):
        return ""
    new = {other for one, other in zip(before, after, strict=True) if one == word}
    same = all(one == other for one, other in zip(before, after, strict=True) if one != word)
    name = new.pop() if len(new) == 1 else ""
    return name if same and name != word and name.startswith("--") == word.startswith("--") else ""


def _stays(hunk: Hunk, word: str, name: str) -> bool:
    """Whether the lines are the same but for a name: else one thing went and another came in its place."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(word)}(?!\w)")
    expected = [pattern.sub(name, line).split() for line in hunk.removed]
    given = [line.split() for line in hunk.added]
    expected_lines = [" ".join(line) for line in expected if line]
    given_lines = [" ".join(line) for line in given if line]
    return SequenceMatcher(None, expected_lines, given_lines, autojunk=False).ratio() >= ALIKE
