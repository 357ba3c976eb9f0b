"""Sessions that an engine fails at because of what is in them, and when it is asked again.

A model that declines a session, or is cut off in its answer, costs as much as one that works, and would be
asked again at every prompt. One file, `<common git dir>/gitmem/stuck.json`, that can be deleted at no loss.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gitmem.ledger.files import read_json, write_atomically

FILE = "stuck.json"
FIRST_WAIT, LONGEST_WAIT = 3_600.0, 86_400.0
"""Seconds until the engine is asked for the third time; each later wait is twice as long, to a day."""
KEPT = 500

_BYTES = 1024 * 1024


@dataclass(frozen=True)
class Stuck:
    """One session.

    Attributes:
        engine: who failed; another may do better at once.
        tries: how often in a row.
        until: epoch seconds; it is left alone until then.
    """

    engine: str
    tries: int = 0
    until: float = 0.0


def held(state: Path, session: str, engine: str, now: float) -> Stuck | None:
    """Says whether a session is to be left alone.

    Args:
        state: `<common git dir>/gitmem`.
        session: name of its cursor.
        now: epoch seconds.
    """
    one = _read(state).get(session)
    return one if one is not None and one.engine == engine and now < one.until else None


def failed(state: Path, session: str, engine: str, now: float) -> None:
    """Notes a failure. Best effort: without the note the engine is asked at the next job."""
    known = _read(state)
    one = known.pop(session, Stuck(engine))
    tries = one.tries + 1 if one.engine == engine else 1
    wait = min(FIRST_WAIT * 2 ** (min(tries, 20) - 2), LONGEST_WAIT) if tries > 1 else 0.0
    _write(state, {**known, session: replace(one, engine=engine, tries=tries, until=now + wait)})


def worked(state: Path, session: str) -> None:
    """Notes that it went well."""
    known = _read(state)
    if known.pop(session, None) is not None:
        _write(state, known)


def _read(state: Path) -> dict[str, Stuck]:
    value = read_json(state / FILE, _BYTES)
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return {
            str(name): Stuck(str(one["engine"]), int(one["tries"]), float(one["until"]))
            for name, one in value.items()
        }
    return {}


def _write(state: Path, known: dict[str, Stuck]) -> None:
    kept = dict(list(known.items())[-KEPT:])
    with suppress(OSError):
        write_atomically(
            state / FILE, json.dumps({name: asdict(one) for name, one in kept.items()}).encode()
        )
