"""Looks for lines in files: what the Grep tool and the grep command share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gitmem.engines.sandbox.budget import Budget, Exhausted, Problem, Refusal
from gitmem.engines.sandbox.matcher import Matcher
from gitmem.engines.sandbox.view import View

LINE_CHARS = 2_000
"""Characters of a line that are looked at and shown."""


@dataclass(frozen=True)
class Wanted:
    """What is looked for and how it is shown.

    Attributes:
        invert: lines that do not match.
        show: lines, the matching parts of lines, names of files with or without one, or a count a file.
        numbered, named: whether the number of the line, and the file, stand before it.
        before, after: lines around a find.
        most: finds in one file, at most.
    """

    matcher: Matcher
    invert: bool = False
    show: Literal["lines", "parts", "with", "without", "count"] = "lines"
    numbered: bool = False
    named: bool = False
    before: int = 0
    after: int = 0
    most: int | None = None


def search_files(
    view: View, files: Iterator[str], wanted: Wanted, labels: Mapping[str, str], tell: Callable[[str], None]
) -> Iterator[str]:
    """Yields lines of output; files that may not be read are left out and counted.

    Args:
        files: plain paths.
        labels: plain path to how it is shown, where that is another.
        tell: is told how many were left out.

    Raises:
        Exhausted: that was too much for one call.
    """
    left_out = 0
    for path in files:
        try:
            raw = view.raw(path)
            # Credentials are looked for only in what is shown; what is shown is found in the redacted text.
            seen = wanted.invert or (wanted.matcher.may_match(raw) and _has(raw, wanted, view.budget))
            text = view.text(path) if seen else ""
        except Exhausted:
            raise
        except Refusal:
            left_out += 1
            continue
        except Problem:
            continue
        label = labels.get(path, path)
        yield from search_text(text, wanted, view.budget, label)
    if left_out:
        tell(f"files that were not read, for they are credentials, binary, links or large: {left_out}")


def search_text(text: str, wanted: Wanted, budget: Budget, label: str) -> Iterator[str]:
    """Yields lines of output for one text."""
    lines = lines_of(text)
    hits = list(_matching(lines, wanted, budget))
    if wanted.show in ("with", "without"):
        if bool(hits) == (wanted.show == "with"):
            yield label
        return
    if wanted.show == "count":
        yield f"{label}:{len(hits)}" if wanted.named else str(len(hits))
        return
    if wanted.show == "parts":
        for number in hits:
            for start, end in _spans(lines[number], wanted, budget):
                yield _prefix(label, number, ":", wanted) + lines[number][start:end]
        return
    yield from _around(lines, hits, wanted, label)


def lines_of(text: str) -> list[str]:
    """Lines without their ends, long ones cut."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return [line[:LINE_CHARS] for line in lines]


def _has(raw: str, wanted: Wanted, budget: Budget) -> bool:
    return any(wanted.matcher.matches(line, budget) for line in lines_of(raw))


def _matching(lines: list[str], wanted: Wanted, budget: Budget) -> Iterator[int]:
    found = 0
    for number, line in enumerate(lines):
        if wanted.most is not None and found >= wanted.most:
            return
        if wanted.matcher.matches(line, budget) != wanted.invert:
            found += 1
            yield number


def _spans(line: str, wanted: Wanted, budget: Budget) -> Iterator[tuple[int, int]]:
    at = 0
    while not wanted.invert and (span := wanted.matcher.span(line, at, budget)) is not None:
        yield span
        at = span[1]


def _around(lines: list[str], hits: list[int], wanted: Wanted, label: str) -> Iterator[str]:
    shown = -1
    found = set(hits)
    for hit in hits:
        start = max(hit - wanted.before, shown + 1)
        if (wanted.before or wanted.after) and 0 <= shown < start - 1:
            yield "--"
        for number in range(start, min(hit + wanted.after + 1, len(lines))):
            yield _prefix(label, number, ":" if number in found else "-", wanted) + lines[number]
            shown = number


def _prefix(label: str, number: int, sign: str, wanted: Wanted) -> str:
    name = f"{label}{sign}" if wanted.named else ""
    return f"{name}{number + 1}{sign}" if wanted.numbered else name
