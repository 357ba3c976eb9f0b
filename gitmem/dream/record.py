"""What dreams of a scope keep of one another, best effort, so that the next one does not do it again.

What was compared: the next dream compares what is new. And which pairs of claims an engine said to be two
things, as keys (`account.reject_keys`) that hold none of their words: it is not asked again. Claims in
other words are others, and another engine is asked anew; a person's own answer is a tombstone in memory.
And on what a dream found nothing to propose: while all of that is as it was, no file is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gitmem.core.account import is_memory
from gitmem.engines.engine import Compared
from gitmem.git.repository import MissingObject, Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.state import Space, of_folder
from gitmem.ledger.workspace import Scope

_COMPARED = Space("dream compared", 100, ("dream/*/compared.json",), of_folder)
"""By memory ref; one of 100,000 pairs is 16 MB, and most have a few dozen."""

RULES = 4
"""Raised when the engine finds other pairs than before: what an older one noted is compared anew."""

MOST_PAIRS = 100_000
"""Of one note; a longer one is not written."""


_NOTHING = Space("dream nothing", 100)
"""By memory ref, what the last dream that proposed nothing looked at, and what it told a person."""

WEEK = 7 * 86_400.0
"""Seconds for which that holds: what dreams may give up, and what logs tell of a day, changes with time."""


def read_nothing(scope: Scope, looked_at: Mapping[str, str], now: float) -> tuple[str, ...] | None:
    """What a dream told that proposed nothing of the same; None where something is other than it was.

    Args:
        looked_at: all that decides what is proposed: names of trees and commits, and the like.
        now: epoch seconds.
    """
    note = _NOTHING.get(scope.state, scope.ref)
    try:
        same = note["rules"] == RULES and note["looked at"] == dict(looked_at)
        return tuple(map(str, note["notes"])) if same and 0 <= now - float(note["time"]) < WEEK else None
    except (ValueError, KeyError, TypeError, OverflowError):
        return None


def note_nothing(scope: Scope, looked_at: Mapping[str, str], now: float, notes: Iterable[str]) -> None:
    """Notes that nothing was proposed of this. Best effort: without the note the next dream looks again."""
    note = {"rules": RULES, "looked at": dict(looked_at), "time": now, "notes": [*notes]}
    _NOTHING.put(scope.state, scope.ref, note)


def read_compared(scope: Scope, tree: str) -> Compared | None:
    """What need not be compared again, with what changed since then as to be compared.

    Args:
        tree: of the memory ref now.

    Returns:
        None where there is no note, other rules wrote it, or its tree is gone.
    """
    note = _COMPARED.get(scope.state, scope.ref)
    try:
        if note["rules"] != RULES:
            return None
        pairs = tuple((str(one), str(other), float(share)) for one, other, share in note["pairs"])
        changed = frozenset(map(str, note["changed"])) | _since(scope.repo, str(note["tree"]), tree)
    except (ValueError, KeyError, TypeError, OverflowError, MissingObject):
        return None
    return Compared(changed, pairs)


def note_compared(scope: Scope, tree: str, compared: Compared) -> None:
    """Notes what a dream of all agents compared. Best effort: without the note the next one takes longer.

    Args:
        tree: of the memory ref that it started from.
    """
    if len(compared.pairs) <= MOST_PAIRS:
        note = {"rules": RULES, "tree": tree, "changed": sorted(compared.changed), "pairs": compared.pairs}
        _COMPARED.put(scope.state, scope.ref, note)


def _since(repo: Repository, before: str, now: str) -> frozenset[str]:
    return frozenset(filter(is_memory, changed_files(repo, before, now)))


_APART = Space("dream apart", 50, ("dream-apart.json",))

KEPT = 5_000
"""Keys of one scope and engine, the newest: 20 a dream last for most of a year of nights."""


def known_apart(scope: Scope, engine: str) -> frozenset[str]:
    """The keys of pairs that an engine need not be asked about."""
    return frozenset(_keys(_APART.get(scope.state, _name(scope, engine))))


def keep_apart(scope: Scope, engine: str, keys: Iterable[str]) -> None:
    """Remembers pairs as two things. Best effort: what is lost is asked once more."""
    if fresh := list(keys):
        _APART.update(
            scope.state,
            _name(scope, engine),
            lambda known: list(dict.fromkeys([*_keys(known), *fresh]))[-KEPT:],
        )


def _keys(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _name(scope: Scope, engine: str) -> str:
    return f"{scope.name} {engine}"
