"""Asks an engine to consolidate, and takes nothing on trust: not that it ends well, nor what it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_args

from gitmem.core.errors import EngineError, GitmemError
from gitmem.core.text import one_line
from gitmem.core.trailers import Fate, FateKind, Usage
from gitmem.engines.engine import ConsolidateInput, Consolidation, DreamChange, Engine, Step, Tell

MOST_CHANGES = 1_000
"""Changes of one dream; the engines here stop long before. Nobody reviews more."""

_KINDS = frozenset(get_args(FateKind))
_HINT = "Nothing was changed. Try again, or with another engine: git mem dream --engine offline"
_SAID = 200


def ask(engine: Engine, given: ConsolidateInput, tell: Tell) -> Consolidation:
    """Has an engine work on a copy of what is given.

    Args:
        tell: as for `plan_dream`; what it raises is raised as it is.

    Raises:
        EngineError: the engine failed, or what it gave is no proposal.
    """
    stopped: list[Exception] = []

    def told(step: Step) -> None:
        try:
            tell(step)
        except Exception as error:
            stopped.append(error)
            raise

    # What its work is judged by stays out of its hands.
    copy = replace(given, files=dict(given.files), said=dict(given.said), lines=dict(given.lines))
    try:
        made = engine.consolidate(copy, told)
    except GitmemError:
        raise
    except Exception as error:
        if error in stopped:
            raise
        what = one_line(f"{type(error).__name__}: {error}", _SAID)
        raise EngineError(f"The engine {engine.name} failed: {what}", _HINT) from error
    problem = _problem(made)
    if problem:
        raise EngineError(f"The engine {engine.name} gave no proposals that can be read: {problem}", _HINT)
    return replace(
        made,
        changes=tuple(replace(one, edits=dict(one.edits), fates=tuple(one.fates)) for one in made.changes),
        notes=tuple(made.notes),
        log=tuple(made.log),
        apart=tuple(made.apart),
    )


def _problem(made: Any) -> str:
    """What is wrong with the form of an answer; empty where it is as it should be."""
    if not isinstance(made, Consolidation):
        return f"it is {_kind(made)}"
    if not isinstance(made.changes, tuple | list):
        return f"its changes are {_kind(made.changes)}"
    if len(made.changes) > MOST_CHANGES:
        return f"{len(made.changes):,} changes, and {MOST_CHANGES:,} are the most"
    for name, lines in (("notes", made.notes), ("log", made.log), ("apart", made.apart)):
        if not isinstance(lines, tuple | list) or not all(isinstance(line, str) for line in lines):
            return f"its {name} are no lines"
    if made.usage is not None and not isinstance(made.usage, Usage):
        return f"its usage is {_kind(made.usage)}"
    for number, change in enumerate(made.changes, 1):
        why = _no_change(change)
        if why:
            return f"change {number}: {why}"
    return ""


def _no_change(change: Any) -> str:
    if not isinstance(change, DreamChange):
        return f"it is {_kind(change)}"
    if not all(isinstance(text, str) for text in (change.kind, change.reason, change.subject)):
        return "what it says of itself is no text"
    if not isinstance(change.edits, Mapping):
        return f"its edits are {_kind(change.edits)}"
    for path, data in change.edits.items():
        if not isinstance(path, str) or not isinstance(data, bytes | None):
            return f"an edit of {_kind(path)} to {_kind(data)}"
    if not isinstance(change.fates, tuple | list):
        return f"its account is {_kind(change.fates)}"
    return "" if all(map(_is_fate, change.fates)) else "its account holds what is none"


def _is_fate(fate: Any) -> bool:
    return (
        isinstance(fate, Fate)
        and fate.kind in _KINDS
        and all(isinstance(text, str) for text in (fate.source, fate.target, fate.reason))
    )


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
