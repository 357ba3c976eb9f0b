"""Which pairs of claims a model said to be two things: the next dream does not ask it again.

`dream-apart.json` in the state of the scope's repository: scope and engine to the keys of pairs
(`account.reject_keys`), which hold the ids of the claims and none of their words. A claim in other words is
another one, and another engine is asked anew. A person's own answer is a tombstone in memory, not this.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress

from gitmem.ledger.files import read_json, replace_file
from gitmem.ledger.workspace import Scope

FILE = "dream-apart.json"

KEPT = 5_000
"""Keys of one scope and engine, the newest: 20 a dream last for most of a year of nights."""

_BYTES = 4 * 1024 * 1024


def known_apart(scope: Scope, engine: str) -> frozenset[str]:
    """The keys of pairs that an engine need not be asked about."""
    return frozenset(_keys(_read(scope).get(_name(scope, engine))))


def keep_apart(scope: Scope, engine: str, keys: Iterable[str]) -> None:
    """Remembers pairs as two things. Best effort: what is lost is asked once more."""
    fresh = list(keys)
    if not fresh:
        return
    told = _read(scope)
    name = _name(scope, engine)
    told[name] = list(dict.fromkeys([*_keys(told.get(name)), *fresh]))[-KEPT:]
    with suppress(OSError):
        replace_file(scope.state / FILE, json.dumps(told).encode(), 0o600)


def _read(scope: Scope) -> dict[str, object]:
    known = read_json(scope.state / FILE, _BYTES)
    return known if isinstance(known, dict) else {}


def _keys(found: object) -> list[str]:
    return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []


def _name(scope: Scope, engine: str) -> str:
    return f"{scope.name} {engine}"
