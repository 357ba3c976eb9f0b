"""Facts of daily logs as dreams make memories of them: how they are named, and what lasts.

A line stays in its log whatever becomes of it: an account names it as a source, and takes nothing away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from gitmem.memory.account import path_of, reference
from gitmem.memory.daily import LogLine, facts, is_log, statements
from gitmem.memory.merge import agent_folder
from gitmem.memory.trailers import Fate

_OF_THE_DAY = re.compile(
    r"\b(?:(?:just |only )?for today|today only|right now|at the moment|until (?:tonight|tomorrow))\b"
    r"|\b(?:is|are|isn['’]t|aren['’]t)\b[^.;]*\b(?:today|tonight|this (?:morning|afternoon|evening))\b",
    re.IGNORECASE,
)
_HAPPENED = re.compile(r"\b(?:was|were|has|have|had|since|\w{3,}ed)\b", re.IGNORECASE)


def passing(line: LogLine) -> bool:
    """Whether a fact only mattered on the day on which it was told, as far as its words show.

    What happened on a day lasts, and a Why or a How to apply is given for what does.
    """
    if len(statements(line.text)) != 1 or line.type not in ("project", "reference"):
        return False
    return _OF_THE_DAY.search(line.text) is not None and _HAPPENED.search(line.text) is None


@lru_cache(maxsize=256)
def lines_at(path: str, data: bytes) -> Mapping[str, LogLine]:
    """The facts of a log of a memory tree by reference, in the order of the file; not to be changed."""
    return {reference(path, claim): line for claim, line in facts(path, data)}


def line_mark(reference: str) -> tuple[str, str, str]:
    """A line wherever its log stands, among the hot days or in the archive: agent, day, and 12 digits."""
    path = path_of(reference)
    return agent_folder(path), path.rpartition("/")[2], reference.rpartition("#")[2]


def lines_named(fates: Iterable[Fate], read: Callable[[str], bytes | None]) -> dict[str, LogLine]:
    """The facts of logs that fates name as where a claim comes from.

    Args:
        read: gives the content of a path of the tree; None where there is no such log.
    """
    asked: dict[str, set[str]] = {}
    for fate in fates:
        path = path_of(fate.source)
        if is_log(path):
            asked.setdefault(path, set()).add(fate.source)
    found: dict[str, LogLine] = {}
    for path, refs in sorted(asked.items()):
        data = read(path)
        if data is not None:
            here = lines_at(path, data)
            found |= {ref: here[ref] for ref in sorted(refs & here.keys())}
    return found


def by_target(
    lines: Mapping[str, LogLine], ends: Mapping[str, Iterable[Fate]]
) -> dict[str, dict[str, LogLine]]:
    """The lines that went into each claim.

    Args:
        lines: by reference.
        ends: what became of each, as `account.line_fates` tells it.
    """
    found: dict[str, dict[str, LogLine]] = {}
    for source, fates in ends.items():
        for fate in fates:
            if fate.kind == "merged" and source in lines:
                found.setdefault(fate.target, {})[source] = lines[source]
    return found
