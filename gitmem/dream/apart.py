"""Which pairs of claims a model said to be two things: the next dream does not ask it again.

Kept by scope and engine, as keys of pairs (`account.reject_keys`), which hold the ids of the claims and
none of their words. A claim in other words is another one, and another engine is asked anew. A person's
own answer is a tombstone in memory, not this.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.ledger.state import Space
from gitmem.ledger.workspace import Scope

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
