"""What dreams of a scope keep of one another, best effort, so that the next one does not do it again.

What was compared: the next dream compares what is new. And which pairs of claims an engine said to be two
things, as keys (`account.reject_keys`) that hold none of their words: it is not asked again. Claims in
other words are others, and another engine is asked anew; a person's own answer is a tombstone in memory.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.core.account import is_memory
from gitmem.engines.engine import Compared
from gitmem.git.repository import MissingObject, Repository
from gitmem.git.trees import changed_files
from gitmem.ledger.state import Space, of_folder
from gitmem.ledger.workspace import Scope

_COMPARED = Space("dream compared", 100, ("dream/*/compared.json",), of_folder)
"""By memory ref; one of 100,000 pairs is 16 MB, and most have a few dozen."""

RULES = 2
"""Raised when the engine finds other pairs than before: what an older one noted is compared anew."""

MOST_PAIRS = 100_000
"""Of one note; a longer one is not written."""


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
