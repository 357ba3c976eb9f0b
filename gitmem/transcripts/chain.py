"""Which records of a Claude Code transcript still count, by their `uuid` and `parentUuid`.

What was *said* is what extraction reads: everything in file order except what a person rewound. What stands
before a compaction was said all the same, and is said only once: the summary that replaces it is not the
person's. A rewind takes back a prompt and all that followed from it, so its memories would be false ones.

A record off its tree's chain, from the last leaf to the root, is not necessarily rewound: parallel tool
calls hang their results beside the chain, and a refusal with a reason can be among them. A record is
rewound when the way up from it meets a prompt that is off the chain before it meets the chain; a compaction
whose own past was rewound goes with it (`logicalParentUuid`, followed for nothing else).

So a *stretch*, a prompt with all that follows up to the next prompts, counts or goes as a whole. A tree of
stretches is small, and of the records before only two numbers each have to be kept for reading on.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from gitmem.transcripts.reader import NONE, key


class Link(NamedTuple):
    """What the tree needs of one record.

    Attributes:
        uuid: the record's id.
        parent: its `parentUuid`; empty for a root.
        logical: a compaction boundary's `logicalParentUuid`; empty otherwise.
        leaf: a user or assistant record, neither sidechain nor meta: the conversation can end here.
        prompt: a person's own prompt, where a rewind can begin.
    """

    uuid: str
    parent: str = ""
    logical: str = ""
    leaf: bool = False
    prompt: bool = False


@dataclass(slots=True)
class _Stretch:
    """Records that count or go together.

    Attributes:
        parent: stretch that it follows from; NONE for a root.
        logical: stretch that a compaction at its head continues; NONE otherwise.
        last: number of its last leaf in file order; NONE where it has none.
        prompt: begins with a person's prompt.
        awaits_parent, awaits_logical: key of a record that is named and not there (yet); 0 for none.
    """

    parent: int = NONE
    logical: int = NONE
    last: int = NONE
    prompt: bool = False
    awaits_parent: int = 0
    awaits_logical: int = 0


_Run = tuple["array[int]", "array[int]"]


class Tree:
    """A transcript's records as they come, in file order, and which of them were rewound."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self._runs: list[_Run] = []
        self._new: dict[int, int] = {}
        self._count = 0
        self._last = "", 0
        self._children: dict[int, list[int]] = {}
        self._successors: dict[int, list[int]] = {}

    def add(self, link: Link) -> int:
        """Takes one more record.

        Returns:
            The number of its stretch; NONE where a record with its uuid is there already.
        """
        own = key(link.uuid)
        if self._find(own) != NONE:
            return NONE
        parent = 0
        if link.parent:
            # Nearly always the record before.
            parent = self._last[1] if link.parent == self._last[0] else key(link.parent)
        self._last = link.uuid, own
        above = self._find(parent) if parent else NONE
        if link.prompt or above == NONE:
            number = len(self._stretches)
            stretch = _Stretch(above, prompt=link.prompt)
            self._stretches.append(stretch)
            if above == NONE and parent and parent != own:
                stretch.awaits_parent = parent
                self._children.setdefault(parent, []).append(number)
            if above == NONE and link.logical:
                past = key(link.logical)
                stretch.logical = self._find(past)
                if stretch.logical == NONE:
                    stretch.awaits_logical = past
                    self._successors.setdefault(past, []).append(number)
        else:
            number = above
        self._new[own] = number
        if link.leaf:
            self._stretches[number].last = self._count
        self._count += 1
        for child in self._children.pop(own, ()):
            self._stretches[child].parent, self._stretches[child].awaits_parent = number, 0
        for successor in self._successors.pop(own, ()):
            self._stretches[successor].logical, self._stretches[successor].awaits_logical = number, 0
        return number

    def rewound(self) -> frozenset[int]:
        """Numbers of the stretches that a person took back."""
        roots = self._roots()
        ends: dict[int, int] = {}
        for number, root in enumerate(roots):
            if self._stretches[number].last > (self._stretches[ends[root]].last if root in ends else NONE):
                ends[root] = number
        chain = {number for end in ends.values() for number in self._way(end)}
        gone = {number for number in range(len(roots)) if self._is_off(number, chain)}
        fallen: dict[int, bool] = {}
        for root in set(roots):
            self._fall(root, roots, gone, fallen)
        return frozenset(gone | {number for number, root in enumerate(roots) if fallen.get(root)})

    def dump(self) -> list[array[int]]:
        """Everything needed to go on, as arrays."""
        if self._new:
            self._runs.append(_run(self._new.items()))
            self._new = {}
        # Each run is more than twice as long as the next: few to search, and seldom a long one to merge.
        while len(self._runs) > 1 and len(self._runs[-2][0]) <= 2 * len(self._runs[-1][0]):
            pairs = [pair for run in self._runs[-2:] for pair in zip(*run, strict=True)]
            self._runs[-2:] = [_run(pairs)]
        table = array("q")
        awaited = array("Q")
        for one in self._stretches:
            table.extend((one.parent, one.logical, one.last, one.prompt))
            awaited.extend((one.awaits_parent, one.awaits_logical))
        return [
            array("Q", [self._count]),
            table,
            awaited,
            *(column for run in self._runs for column in run),
        ]

    @classmethod
    def load(cls, arrays: list[array[int]]) -> Tree:
        """The tree that `dump` told of.

        Raises:
            ValueError, IndexError: they are not of one tree.
        """
        tree = cls()
        (tree._count,), table, awaited = arrays[0], arrays[1], arrays[2]
        if len(table) != 2 * len(awaited) or len(table) % 4 or len(arrays) % 2 == 0:
            raise ValueError("not a tree")
        count = len(table) // 4
        for at in range(count):
            parent, logical, last, prompt = table[4 * at : 4 * at + 4]
            stretch = _Stretch(parent, logical, last, bool(prompt), *awaited[2 * at : 2 * at + 2])
            if not (NONE <= parent < count and NONE <= logical < count):
                raise ValueError("not a tree")
            tree._stretches.append(stretch)
            if stretch.awaits_parent:
                tree._children.setdefault(stretch.awaits_parent, []).append(at)
            if stretch.awaits_logical:
                tree._successors.setdefault(stretch.awaits_logical, []).append(at)
        for keys, numbers in zip(arrays[3::2], arrays[4::2], strict=True):
            if len(keys) != len(numbers) or (numbers and max(numbers) >= count):
                raise ValueError("not a tree")
            tree._runs.append((keys, numbers))
        return tree

    def _find(self, wanted: int) -> int:
        found = self._new.get(wanted)
        if found is not None:
            return found
        for keys, numbers in self._runs:
            at = bisect_left(keys, wanted)
            if at < len(keys) and keys[at] == wanted:
                return numbers[at]
        return NONE

    def _way(self, number: int) -> dict[int, None]:
        """From a stretch up to its root; a cycle of parents is left where it closes."""
        way: dict[int, None] = {}
        while number != NONE and number not in way:
            way[number] = None
            number = self._stretches[number].parent
        return way

    def _roots(self) -> list[int]:
        """The root of each stretch; of a cycle, the stretch at which it closes."""
        roots = [NONE] * len(self._stretches)
        for number in range(len(roots)):
            way: dict[int, None] = {}
            above, last = number, number
            while above != NONE and above not in way and roots[above] == NONE:
                way[above] = None
                above, last = self._stretches[above].parent, above
            root = roots[above] if above != NONE and above not in way else last
            for one in way:
                roots[one] = root
        return roots

    def _is_off(self, number: int, chain: set[int]) -> bool:
        seen: set[int] = set()
        while number != NONE and number not in chain and number not in seen:
            if self._stretches[number].prompt:
                return True
            seen.add(number)
            number = self._stretches[number].parent
        return False

    def _fall(self, root: int, roots: list[int], gone: set[int], fallen: dict[int, bool]) -> None:
        """Whole trees that continue a rewound one, and the trees that continue those."""
        way: list[int] = []
        verdict = False
        while root not in fallen and root not in way:
            way.append(root)
            stretch = self._stretches[root]
            past = stretch.logical if stretch.parent == NONE else NONE
            if past == NONE:
                break
            if past in gone:
                verdict = True
                break
            root = roots[past]
        verdict = verdict or fallen.get(root, False)
        fallen.update(dict.fromkeys(way, verdict))


def _run(pairs: Iterable[tuple[int, int]]) -> _Run:
    """Keys in order, and the stretch of each."""
    ordered = sorted(pairs)
    return array("Q", [own for own, _ in ordered]), array("I", [number for _, number in ordered])


def rewound(links: Iterable[Link]) -> frozenset[str]:
    """Finds what a person took back.

    Args:
        links: all records of one file, in file order.

    Returns:
        uuids of the records that do not count as said.
    """
    tree = Tree()
    places: dict[str, int] = {}
    for link in links:
        places.setdefault(link.uuid, tree.add(link))
    gone = tree.rewound()
    return frozenset(uuid for uuid, number in places.items() if number in gone)
