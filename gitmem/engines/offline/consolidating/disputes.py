"""Disputes that a merge left: settled where one side says all that the other says, else told of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from gitmem.core.account import reference
from gitmem.core.claim import with_dispute
from gitmem.core.memory import Memory
from gitmem.core.merge import agent_folder
from gitmem.core.trailers import Fate
from gitmem.engines.engine import Observation
from gitmem.engines.offline.consolidating.edit import reworded, without
from gitmem.engines.offline.consolidating.place import movable, quoted
from gitmem.engines.offline.consolidating.same import holds
from gitmem.engines.offline.consolidating.work import Work, ages


def settle_disputes(
    work: Work, path: str, said_at: Mapping[str, datetime], observed: Sequence[Observation]
) -> None:
    """Merges disputed claims of a memory that others of the same dispute hold; a note for what is left.

    Args:
        said_at: claim to when it was first said.
        observed: what is told already.
    """
    while _settle(work, path):
        pass
    memory = work.memories[path]
    sides = _sides(memory)
    told = {one.claims for one in observed if one.kind == "dispute"}
    for mark, numbers in sides.items():
        claims = [memory.parsed.claims[number] for number in numbers]
        names = tuple(reference(path, claim) for claim in claims)
        if names in told:
            continue
        text = " against ".join(map(quoted, claims))
        work.notes.append(f"dispute: {memory.name} says {text} (disputed {mark}): {ages(names, said_at)}")


def _sides(memory: Memory) -> dict[str, list[int]]:
    """Mark of each dispute to the places of its claims."""
    sides: dict[str, list[int]] = {}
    if "*(disputed " in memory.body:
        for number, claim in enumerate(memory.parsed.claims):
            if claim.dispute:
                sides.setdefault(claim.dispute, []).append(number)
    return sides


def _settle(work: Work, path: str) -> bool:
    """Takes out one side of a dispute that another one holds, and the mark of one that is left alone."""
    memory = work.memories[path]
    for numbers in _sides(memory).values():
        for number in numbers:
            for other in work.lookup(path).near(memory.parsed.claims[number]):
                if other != number and other in numbers and _settled(work, path, numbers, number, other):
                    return True
    return False


def _settled(work: Work, path: str, numbers: Sequence[int], number: int, at: int) -> bool:
    memory = work.memories[path]
    claim, other = memory.parsed.claims[number], memory.parsed.claims[at]
    if not holds(other, claim) or (other.key == claim.key and other.ordinal > claim.ordinal):
        return False
    left = reworded(memory, {at: with_dispute(other.text, "")}) if len(numbers) == 2 else memory
    changed = without(left, [number]) if left and movable(memory.parsed.claims, number) else None
    fate = Fate("merged", reference(path, claim), reference(path, other), "the other side says all of it")
    if changed is None or work.is_settled(agent_folder(path), (fate,)):
        return False
    subject = f"Settle a dispute in {memory.name}"
    return work.propose("dispute", {path: changed}, (fate,), subject, f"Both say it: {quoted(claim)}")
