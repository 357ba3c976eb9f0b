"""What a dream says that it made of lines of daily logs: each must be there, and be told truly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from gitmem.core.account import line_fates, path_of, references
from gitmem.core.claim import Claim
from gitmem.core.daily_log import LogLine, is_log, statements
from gitmem.core.facts import akin, lacking
from gitmem.core.trailers import Fate
from gitmem.dream.proof.claims import agent_of, line_of, quoted
from gitmem.dream.proof.failure import Failure
from gitmem.dream.proof.ground import Step

MOST_LINES = 1_000
"""Lines that one change may be made of: ten times as many as a dream is given, so that it can be judged."""


def crowd(step: Step) -> tuple[Failure, ...]:
    """Says that a change is made of more lines than anyone can judge."""
    sources = dict.fromkeys(fate.source for fate in step.fates if is_log(path_of(fate.source)))
    if len(sources) <= MOST_LINES:
        return ()
    what = f"it is one of {len(sources):,} lines that one change is made of: {MOST_LINES:,} are the most"
    first = next(iter(sources))
    return (Failure(path_of(first), "account", what, first),)


def misheard(step: Step) -> Iterator[Failure]:
    """Finds the accounts of log lines that are not true.

    A line stands in a log of the tree; the claims of its agent that it is merged into hold all its facts,
    together where there are several. What another claim overtook is told with a reason.
    """
    there = references(step.after)
    for source, fates in line_fates(step.fates, there).items():
        line = step.lines.get(source)
        if line is None:
            what = "a claim is said to come from it, and it is no fact of a log there"
            yield Failure(path_of(source), "account", what, source)
        else:
            yield from _untrue(step, source, line, fates, there)
    for fate in step.fates:
        if is_log(path_of(fate.source)) and fate.kind not in ("merged", "superseded"):
            what = f"a line of a log stays where it is: it cannot be {fate.kind}"
            yield Failure(path_of(fate.source), "account", what, fate.source)


def _untrue(
    step: Step, source: str, line: LogLine, fates: tuple[Fate, ...], there: Mapping[str, Claim]
) -> Iterator[Failure]:
    agent = agent_of(path_of(source))
    merged: list[str] = []
    for fate in fates:
        # What somebody took out by hand afterwards went with a reason of its own.
        if fate.kind == "dropped":
            continue
        path = path_of(fate.target)
        if fate.target not in there:
            what = f"it is said to have become {fate.target or 'nothing'}, which is not there"
            yield Failure(path_of(source), "account", what, source)
        elif agent_of(path) != agent:
            what = f"it is said to come from {source}, a log of another agent"
            yield _at(step, "account", what, fate.target, there)
        elif fate.kind == "merged":
            merged.append(fate.target)
        elif not fate.reason.strip():
            what = f"it is said to supersede {source}, and nothing says why"
            yield _at(step, "account", what, fate.target, there)
    if not merged:
        return
    held = "\n\n".join(there[ref].key for ref in merged)
    missing = lacking(line.text, held)
    if missing or not all(akin(part, held) for part in statements(line.text)):
        what = f"which lacks {', '.join(missing)}" if missing else "which says something else"
        said = f"{source} is said to be merged into it, {what}: {quoted(line.text)}"
        yield _at(step, "invented", said, merged[0], there)


def _at(
    step: Step, rule: Literal["account", "invented"], what: str, target: str, there: Mapping[str, Claim]
) -> Failure:
    path = path_of(target)
    line = line_of(step.after, path, there[target])
    # It is about what was written, which a person may put right.
    return Failure(path, rule, what, target, line)
