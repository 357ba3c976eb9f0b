"""Three-way merge of ordered lists of keyed units: the shape that bodies and indexes share.

Which units survive is set arithmetic, so the order of merges cannot change it; where they stand follows
the base, and ties are broken by the units themselves, so swapping the sides changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

ALIKE = 0.4
"""Share of common words from which an added unit counts as the edit of a deleted one beside it."""


@dataclass(frozen=True)
class Order:
    """Result of a merge.

    Attributes:
        keys: surviving keys, in order.
        edits: for each side (ours, theirs), base key to the key that replaced it there.
    """

    keys: tuple[str, ...]
    edits: tuple[Mapping[str, str], Mapping[str, str]]


def merge_keys(lists: Sequence[Sequence[str]], words: Callable[[str], frozenset[str]]) -> Order:
    """Merges three lists of distinct keys.

    Args:
        lists: the keys of base, ours and theirs, in order; no key twice in one list.
        words: what a unit says, to tell an edit from an unrelated addition.

    Returns:
        Keys that both sides kept or either added, in a fixed order; and who replaced what.
    """
    base, ours, theirs = lists
    sets = [frozenset(side) for side in lists]
    alive = (sets[1] & sets[2]) | (sets[1] - sets[0]) | (sets[2] - sets[0])
    edits = (pair_edits(base, ours, words), pair_edits(base, theirs, words))
    skeleton = _base_order(base, ours, theirs)
    slot = {key: number for number, key in enumerate(skeleton, start=1)}
    place: dict[str, tuple[int, int]] = {}
    for side, edited in zip((ours, theirs), edits, strict=True):
        replaced = {new: old for old, new in edited.items()}
        at = 0
        for key in side:
            if key in slot:
                at = slot[key]
            elif key in replaced:
                at = slot[replaced[key]]
                place[key] = min(place.get(key, (at, 0)), (at, 0))
            else:
                place[key] = min(place.get(key, (at, 1)), (at, 1))
    for key, number in slot.items():
        place[key] = (number, -1)
    added: dict[tuple[int, int], list[list[str]]] = {}
    for side in (ours, theirs):
        runs: dict[tuple[int, int], list[str]] = {}
        for key in side:
            if key not in sets[0]:
                runs.setdefault(place[key], []).append(key)
        for where, run in runs.items():
            added.setdefault(where, []).append(run)
    ordered: list[str] = []
    for where in sorted({*added, *((number, -1) for number in slot.values())}):
        if where[1] == -1:
            ordered.append(skeleton[where[0] - 1])
        for run in sorted(added.get(where, [])):
            ordered += [key for key in run if key not in ordered]
    return Order(tuple(key for key in ordered if key in alive), edits)


def pair_edits(
    base: Sequence[str], side: Sequence[str], words: Callable[[str], frozenset[str]]
) -> dict[str, str]:
    """Which unit of a side is the edit of which base unit.

    Between two units that stayed, deleted and added ones are paired in order where there are as many of
    each, else by their words.
    """
    here = frozenset(side)
    before = frozenset(base)
    pairs: dict[str, str] = {}
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, base, side, autojunk=False).get_opcodes():
        if tag != "replace":
            continue
        gone = [key for key in base[i1:i2] if key not in here]
        new = [key for key in side[j1:j2] if key not in before]
        if len(gone) == len(new):
            pairs.update(zip(gone, new, strict=True))
            continue
        for old in gone:
            scored = [(_alike(words(old), words(key)), key) for key in new]
            best = max(scored, default=(0.0, ""), key=lambda pair: (pair[0], pair[1]))
            if best[0] >= ALIKE:
                pairs[old] = best[1]
                new.remove(best[1])
    return pairs


def _base_order(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The base's keys in the order of the one side that moved them, if only one did."""
    moved = [order for order in (_reordered(base, ours), _reordered(base, theirs)) if order != list(base)]
    if not moved:
        return list(base)
    return min(moved) if len(moved) == 2 and moved[0] != moved[1] else moved[0]


def _reordered(base: Sequence[str], side: Sequence[str]) -> list[str]:
    """The base with those keys that the side still has put in the side's order."""
    known = frozenset(base)
    order = iter([key for key in side if key in known])
    kept = frozenset(side)
    return [next(order) if key in kept else key for key in base]


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0
