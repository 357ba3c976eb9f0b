"""`grep` over the view."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from gitmem.engines.sandbox.bash_command import Run
from gitmem.engines.sandbox.bash_options import Given, Spec, number, read_options
from gitmem.engines.sandbox.bash_parse import Word
from gitmem.engines.sandbox.budget import Budget, Problem, Refusal
from gitmem.engines.sandbox.expression import Syntax
from gitmem.engines.sandbox.matcher import Matcher
from gitmem.engines.sandbox.search import Wanted, search_files, search_text
from gitmem.engines.sandbox.wildcards import name_matches

_SPEC = Spec(
    "EFGPicvlLnorRwxhHsqI",
    "eABCm123",
    {
        "extended-regexp": "E",
        "fixed-strings": "F",
        "basic-regexp": "G",
        "perl-regexp": "P",
        "ignore-case": "i",
        "count": "c",
        "invert-match": "v",
        "files-with-matches": "l",
        "files-without-match": "L",
        "line-number": "n",
        "only-matching": "o",
        "recursive": "r",
        "word-regexp": "w",
        "line-regexp": "x",
        "no-filename": "h",
        "with-filename": "H",
        "regexp": "e",
        "after-context": "A",
        "before-context": "B",
        "context": "C",
        "max-count": "m",
        "include": "1",
        "exclude": "2",
        "exclude-dir": "3",
    },
    "C",
)
_SYNTAX: dict[str, Syntax] = {"E": "extended", "F": "fixed", "P": "perl", "G": "basic"}
CONTEXT = 1_000
"""Lines around a find, at most."""


def grep(run: Run, words: tuple[Word, ...]) -> str:
    """Looks for lines that match."""
    given = read_options(run.name, _SPEC, words)
    if any(letter in given.options and "-" + letter in {w.text[:2] for w in words} for letter in "123"):
        raise Refusal("grep: -1, -2 and -3 are not allowed; use -C")
    operands = list(given.operands)
    patterns = list(given.options.get("e", ()))
    if not patterns:
        if not operands:
            raise Refusal("grep: an expression is missing")
        patterns = [operands.pop(0).text]
    named = tuple(run.operands(tuple(operands)))
    recursive = given.has("rR")
    if not named:
        named = (".",) if recursive and run.input is None else ("-",)
    many = recursive or len(named) > 1
    wanted = _wanted(given, patterns, named=given.has("H") or (many and not given.has("h")))
    lines: list[str] = []
    size = 0
    for path in named:
        try:
            for line in _searched(run, path, wanted, given, recursive=recursive):
                lines.append(line)
                size += len(line) + 1
                if size > run.room:
                    run.complaints.append("grep: stopped after so much output: narrow the search")
                    return "".join(f"{line}\n" for line in lines)
        except Problem as problem:
            if isinstance(problem, Refusal) or not given.has("s"):
                run.complain(problem)
    return "" if given.has("q") else "".join(f"{line}\n" for line in lines)


def _wanted(given: Given, patterns: list[str], *, named: bool) -> Wanted:
    syntax: Syntax = next((_SYNTAX[letter] for letter in given.options if letter in _SYNTAX), "basic")
    matcher = Matcher(
        [part for pattern in patterns for part in pattern.split("\n")],
        syntax,
        ignore_case=given.has("i"),
        word=given.has("w"),
        line=given.has("x"),
    )

    def around(letter: str) -> int:
        text = given.last(letter) or given.last("C")
        return min(number("grep", text), CONTEXT) if text else 0

    show: Literal["lines", "parts", "with", "without", "count"] = "lines"
    for letter, kind in (("o", "parts"), ("c", "count"), ("l", "with"), ("L", "without")):
        if given.has(letter):
            show = kind  # type: ignore[assignment]
    most = given.last("m")
    return Wanted(
        matcher,
        given.has("v"),
        show,
        given.has("n"),
        named,
        around("B"),
        around("A"),
        number("grep", most) if most is not None else None,
    )


def _searched(run: Run, path: str, wanted: Wanted, given: Given, *, recursive: bool) -> Iterator[str]:
    if path == "-":
        yield from search_text(run.piped(), wanted, run.view.budget, "(standard input)")
        return
    plain = run.view.resolve(path)
    if not run.view.is_folder(plain):
        # One that was named is refused aloud; one that was only met is left out.
        run.view.raw(plain)
        yield from search_files(run.view, iter([plain]), wanted, {plain: path}, run.complaints.append)
        return
    if not recursive:
        raise Problem(f"{path}: is a folder (use -r)")
    lead = path.rstrip("/") + "/" if given.operands and path != "." else ""
    labels = {}
    files = []
    for found in run.view.walk(plain):
        below = found[len(plain) :].lstrip("/")
        if run.view.is_file(found) and _chosen(below, given, run.view.budget):
            files.append(found)
            labels[found] = lead + below
    yield from search_files(run.view, iter(files), wanted, labels, run.complaints.append)


def _chosen(below: str, given: Given, budget: Budget) -> bool:
    *folders, name = below.split("/")
    included, excluded = given.options.get("1"), given.options.get("2", ())
    if included and not any(name_matches(name, pattern, budget) for pattern in included):
        return False
    if any(name_matches(name, pattern, budget) for pattern in excluded):
        return False
    left = given.options.get("3", ())
    return not any(
        name_matches(folder, pattern.rstrip("/"), budget) for folder in folders for pattern in left
    )
