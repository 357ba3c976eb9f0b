"""Holds what documents say against the code: no git, no files; who knows the code is asked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from gitmem.core.references import day, plain_path
from gitmem.docs.document import Doc
from gitmem.docs.statements import Statement
from gitmem.engines.engine import Stale
from gitmem.values import dataclass

OutcomeKind = Literal["there", "moved", "gone", "never", "unknown"]


@dataclass(frozen=True)
class Outcome:
    """What became of what one statement names.

    Attributes:
        kind: `there`; `moved`, to `now`; `gone`, from code that had it when the document said so; `never`,
            which is not in the code and was not when the document said so; `unknown`.
        now: where it is or what it is called now, as a person would look for it; empty where it is gone.
        became: the same as the document would write it; empty where that is not sure.
        out_of: of a symbol the file that had it, which the document names with it; empty elsewhere.
        commit, time: the commit that took it away, and its committer time; empty and 0 where unknown.
    """

    kind: OutcomeKind
    now: str = ""
    became: str = ""
    commit: str = ""
    time: int = 0
    out_of: str = ""


THERE = Outcome("there")
NEVER = Outcome("never")
UNKNOWN = Outcome("unknown")


class Code(Protocol):
    """Who knows the code as it is, and as it was."""

    def look(self, asked: Sequence[tuple[Doc, Statement]]) -> Sequence[Outcome]:
        """One outcome for each statement, in its order."""


@dataclass(frozen=True)
class Judged:
    """A document held against the code.

    Attributes:
        stale: what no longer holds, in the order of lines.
        untold: what is not in the code, and as far as is known never was.
        unknown: how many of `untold` may have been there, in a history that is not at hand.
    """

    doc: Doc
    stale: tuple[Stale, ...] = ()
    untold: tuple[Stale, ...] = ()
    unknown: int = 0


def check(docs: Sequence[Doc], code: Code) -> tuple[Judged, ...]:
    """Holds documents against the code.

    Returns:
        One for each of `docs`, in its order. What a line names twice is told once.
    """
    asked = [(doc, statement) for doc in docs for statement in doc.statements]
    outcomes = iter(zip(asked, code.look(asked), strict=True))
    found = []
    for doc in docs:
        rows = [next(outcomes) for _ in doc.statements]
        stale = [_stale(one, how) for (_, one), how in rows if how.kind in ("moved", "gone")]
        untold = [_stale(one, how) for (_, one), how in rows if how.kind in ("never", "unknown")]
        unknown = {(one.line, one.name) for (_, one), how in rows if how.kind == "unknown"}
        found.append(Judged(doc, tuple(dict.fromkeys(stale)), tuple(dict.fromkeys(untold)), len(unknown)))
    return tuple(found)


def _stale(statement: Statement, outcome: Outcome) -> Stale:
    return Stale(
        statement.line, statement.name, statement.kind, outcome.became, _evidence(statement, outcome)
    )


def _evidence(statement: Statement, outcome: Outcome) -> str:
    name = f"`{statement.name}`"
    when = f"{outcome.commit[:9]}, {day(outcome.time)}" if outcome.commit else ""
    if outcome.kind in ("never", "unknown"):
        return f"{name} is not in the code"
    if outcome.out_of:
        now = f", but in `{plain_path(outcome.now)}`" if outcome.now else ""
        return f"{name} is no longer in `{plain_path(outcome.out_of)}`{now}"
    if outcome.kind == "moved":
        apart = " " if statement.kind == "command" else "#"
        colon = ":" if statement.kind == "command" else "\n"
        words = (colon.join(map(plain_path, word.split(colon))) for word in outcome.now.split(apart))
        now = apart.join(words)
        return f"{name} became `{now}`{f' in {when}' if when else ''}"
    if outcome.now:
        return f"{name} became `{plain_path(outcome.now)}`, gone{f' since {when}' if when else ''}"
    return f"{name} is gone since {when}" if when else f"{name} is no longer in the code"
