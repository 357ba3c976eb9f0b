"""Three-way merge of ordered lists of keyed units: the shape that bodies and indexes share.

Which units survive is arithmetic on how often each stands, so the order of merges cannot change it; where
they stand follows the base, and ties are broken by the units themselves, so swapping the sides changes
nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from gitmem.values import dataclass

K = TypeVar("K", bound=Hashable)

Repeat = tuple[Hashable, int]
"""What a unit says, and how many of the same say it before: no number is left out."""

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


def surviving(
    base: Collection[K], ours: Collection[K], theirs: Collection[K], repeat: Callable[[K], Repeat]
) -> frozenset[K]:
    """The units that a merge keeps: what either side added stays, what one of them took out goes.

    What stands several times counts as often as on the side that has it most, if that has it more often
    than the base, else as on the side that has it least. Numbering repeats and merging the numbers would
    drop the first and keep the second, which then is the first and goes with the next merge.
    """
    counts = [Counter(repeat(key)[0] for key in side) for side in (base, ours, theirs)]

    def stands(key: K) -> bool:
        text, number = repeat(key)
        before, one, other = (count[text] for count in counts)
        return number < (max(one, other) if max(one, other) > before else min(one, other))

    return frozenset(key for side in (ours, theirs) for key in side if stands(key))


def merge_keys(
    lists: Sequence[Sequence[str]],
    words: Callable[[str], frozenset[str]],
    repeat: Callable[[str], Repeat] = lambda key: (key, 0),
    subject: Callable[[str], str] = lambda _: "",
) -> Order:
    """Merges three lists of distinct keys.

    Args:
        lists: the keys of base, ours and theirs, in order; no key twice in one list.
        words: what a unit says, to tell an edit from an unrelated addition.
        repeat: which keys stand for the same unit (`surviving`); each is another one unless given.
        subject: what a unit is about, where that alone tells an edit; empty where it does not.

    Returns:
        Keys that both sides kept or either added, in a fixed order; and who replaced what.
    """
    base, ours, theirs = lists
    sets = [frozenset(side) for side in lists]
    alive = surviving(base, ours, theirs, repeat)
    edits = (pair_edits(base, ours, words, subject), pair_edits(base, theirs, words, subject))
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
    ordered: dict[str, None] = {}
    for where in sorted({*added, *((number, -1) for number in slot.values())}):
        if where[1] == -1:
            ordered[skeleton[where[0] - 1]] = None
        for run in sorted(added.get(where, [])):
            ordered.update(dict.fromkeys(run))
    return Order(tuple(key for key in ordered if key in alive), edits)


def contests(order: Order, kept: Collection[str]) -> dict[str, str]:
    """Keys that stand twice because both sides changed one base unit differently, to the base's key."""
    found: dict[str, str] = {}
    alive = frozenset(kept)
    ours, theirs = order.edits
    for old in sorted(ours.keys() & theirs.keys()):
        pair = {ours[old], theirs[old]}
        if len(pair) == 2 and pair <= alive:
            found.update(dict.fromkeys(pair, old))
    return found


def pair_edits(
    base: Sequence[str],
    side: Sequence[str],
    words: Callable[[str], frozenset[str]],
    subject: Callable[[str], str] = lambda _: "",
) -> dict[str, str]:
    """Which unit of a side is the edit of which base unit.

    Those about one subject are paired in order, wherever they stand. Of what has no subject, deleted and
    added ones between two units that stayed are paired in order where there are as many of each, else by
    their words.
    """
    here = frozenset(side)
    before = frozenset(base)
    pairs = _pair_by_subject(
        [key for key in base if key not in here], [key for key in side if key not in before], subject
    )
    for i1, i2, j1, j2 in _gaps(base, side):
        gone = [key for key in base[i1:i2] if key not in here and not subject(key)]
        new = [key for key in side[j1:j2] if key not in before and not subject(key)]
        if len(gone) == len(new):
            pairs.update(zip(gone, new, strict=True))
        else:
            pairs |= _pair_by_words(gone, new, words)
    return pairs


def _gaps(base: Sequence[str], side: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Ranges of base and side between the units of their longest common subsequence.

    Keys are distinct, so it is the longest rising run of positions: n log n, where a general difference
    is quadratic.
    """
    at = {key: number for number, key in enumerate(base)}
    ends: list[int] = []  # the least base position that a rising run of each length ends with
    tails: list[int] = []  # where in `side` that end stands
    before: dict[int, int] = {}
    for number, key in enumerate(side):
        position = at.get(key)
        if position is None:
            continue
        length = bisect_left(ends, position)
        before[number] = tails[length - 1] if length else -1
        ends[length : length + 1] = [position]
        tails[length : length + 1] = [number]
    run: list[int] = []
    number = tails[-1] if tails else -1
    while number >= 0:
        run.append(number)
        number = before[number]
    i = j = 0
    for number in [*reversed(run), len(side)]:
        stop = at[side[number]] if number < len(side) else len(base)
        yield i, stop, j, number
        i, j = stop + 1, number + 1


def _pair_by_subject(
    gone: Sequence[str], new: Sequence[str], subject: Callable[[str], str]
) -> dict[str, str]:
    waiting: dict[str, list[str]] = {}
    for key in reversed(new):
        if about := subject(key):
            waiting.setdefault(about, []).append(key)
    return {old: waiting[about].pop() for old in gone if waiting.get(about := subject(old))}


def _pair_by_words(
    gone: Sequence[str], new: Sequence[str], words: Callable[[str], frozenset[str]]
) -> dict[str, str]:
    said = {key: words(key) for key in new}
    holders: dict[str, list[str]] = {}
    for key, saying in said.items():
        for word in saying:
            holders.setdefault(word, []).append(key)
    pairs: dict[str, str] = {}
    for old in gone:
        lost = words(old)
        shared = Counter(key for word in lost for key in holders.get(word, ()) if key in said)
        scored = [(2 * count / (len(lost) + len(said[key])), key) for key, count in shared.items()]
        score, best = max(scored, default=(0.0, ""))
        if score >= ALIKE:
            pairs[old] = best
            del said[best]
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
