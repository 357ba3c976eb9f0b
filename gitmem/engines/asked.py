"""What a person plainly asked to remember: no model decides that, and none may leave it out."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.change import Change
from gitmem.engines.engine import ExtractInput
from gitmem.engines.offline import OfflineEngine
from gitmem.engines.offline.likeness import gist

COVERED = 0.5
"""Share of a statement's words that a change must hold to be about it."""


def asked_in(given: ExtractInput) -> tuple[Change, ...]:
    """What the offline engine finds plainly asked for in the new messages."""
    return tuple(change for change in OfflineEngine().extract(given).changes if change.asked)


def uuids(asked: tuple[Change, ...]) -> frozenset[str]:
    """The messages in which it was asked for."""
    return frozenset(uuid for change in asked for uuid in (change.origin.first, change.origin.last) if uuid)


def with_asked(changes: tuple[Change, ...], asked: tuple[Change, ...]) -> tuple[Change, ...]:
    """A model's changes, and what was asked for and none of them says.

    A model's word that something is known already counts for nothing here: the flow finds out by itself.
    """
    said = [gist(f"{one.description}\n{one.body}") for one in changes if one.op in ("add", "update")]
    missed = []
    for one in asked:
        if one.op == "delete":
            if not any(made.file == one.file and made.op in ("update", "delete") for made in changes):
                missed.append(replace(one, reason=f"{one.reason} (the model left it out)"))
            continue
        wanted = gist(one.body)
        needed = COVERED * len(wanted.words)
        if not any(
            len(wanted.words & known.words) >= needed and wanted.numbers <= known.numbers for known in said
        ):
            missed.append(replace(one, reason=f"{one.reason} (the model left it out)"))
    return (*changes, *missed)
