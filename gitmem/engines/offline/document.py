"""Writes plain renames into a living document, exactly where the old name stands, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gitmem.core.text import counted, one_line, printable
from gitmem.engines.engine import Document, DocumentInput, Stale
from gitmem.engines.prompts import stale_line

_WIDTH = 300
_BEFORE = r"(?:(?<![\w./@~$+-])|(?<=(?<![\w./])\./))"
_AFTER = {
    "file": r"(?![\w/-]|\.\w)",
    "link": r"(?![\w/-]|\.\w)",
    "folder": r"(?![\w-]|\.\w|/[\w.@+-])",
    "symbol": r"(?![\w-]|[./:#]\w|::)",
    "command": r"(?![\w/-]|[.:]\w)",
    "flag": r"(?![\w-])",
}
# What no name in a document holds: it would end the code span, the link or the line.
_UNFIT = re.compile(r"[`\n<>|\[\]()]")
_CALL = "()"


def document(given: DocumentInput) -> Document:
    """Replaces each stale name that plainly became another, in its own line and as a whole name.

    Args:
        given: the document; `Stale.became` is what stands for a name today.

    Returns:
        the document with all other lines as they were, and notes on what is left for a person.
    """
    lines = given.text.split("\n")
    reasons: list[str] = []
    notes: list[str] = []
    for number in sorted({one.line for one in given.stale}):
        here = list(dict.fromkeys(one for one in given.stale if one.line == number))
        plain = [one for one in here if not _unfit(one, here) and number > given.head]
        line = lines[number - 1] if 0 < number <= len(lines) else ""
        changed, done = _renamed(line, plain)
        if done:
            lines[number - 1] = changed
        for one in here:
            if one.name in done:
                reasons.append(_reason(one, done[one.name]))
            else:
                notes.append(one_line(_left(one, here, number <= given.head), _WIDTH))
    return Document("\n".join(lines), tuple(reasons), tuple(notes))


def _renamed(line: str, plain: Iterable[Stale]) -> tuple[str, dict[str, int]]:
    """The line with all names replaced, and how often each was; at once, so that none is replaced twice."""
    became = {one.name: one for one in sorted(plain, key=lambda one: -len(one.name))}
    if not became:
        return line, {}
    whole = "|".join(
        f"(?P<n{at}>{re.escape(name)}){_AFTER[one.kind]}" for at, (name, one) in enumerate(became.items())
    )
    counts: dict[str, int] = {}

    def new(match: re.Match[str]) -> str:
        name = list(became)[int(str(match.lastgroup)[1:])]
        counts[name] = counts.get(name, 0) + 1
        return became[name].became

    return re.sub(_BEFORE + f"(?:{whole})", new, line), counts


def _unfit(one: Stale, here: Iterable[Stale]) -> str:
    """Why a name is not replaced; empty where it can be."""
    if not one.became or not one.name.strip():
        return "what stands for it today is not sure"
    if one.became == one.name:
        return "it is called the same"
    if len({other.became for other in here if other.name == one.name and other.became}) > 1:
        return "more than one thing could stand for it"
    bare = one.became.removesuffix(_CALL)
    if _UNFIT.search(bare) or printable(bare) != bare or bare != bare.strip():
        return "its new name does not fit into the line as it is"
    if one.kind != "command" and re.search(r"\s", bare):
        return "its new name holds blanks"
    return ""


def _left(one: Stale, here: list[Stale], fixed: bool) -> str:
    why = _unfit(one, here)
    if one.became and not why:
        why = "that line is the person's own" if fixed else "it does not stand there as a name of its own"
    return stale_line(one) + (f" ({why})" if one.became and why else "")


def _reason(one: Stale, count: int) -> str:
    times = f", {counted(count, 'time')}" if count > 1 else ""
    return one_line(f"line {one.line}: `{one.name}` is `{one.became}`{times}: {one.evidence}", _WIDTH)
